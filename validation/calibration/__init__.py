"""Builds the path model ``iplane`` from measurements, and compares it with them point by point."""
