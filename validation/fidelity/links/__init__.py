"""Swarms behind access links at flow fidelity against the same at full, and beside ns-3's packets."""
