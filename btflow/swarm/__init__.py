"""Swarms, from scenario to Dataset: scenario, program, state, run, results, report, as in ``link``."""
