"""Sweeps: thousands of swarms of one model, declared, run, stored and resumed as one labelled dataset."""
