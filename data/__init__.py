"""Measured data sets, one folder each, with their provenance and licence."""
