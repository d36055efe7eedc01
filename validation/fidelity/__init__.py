"""Swarms at flow fidelity against the same at full, where they differ most, and the claims at flow."""
