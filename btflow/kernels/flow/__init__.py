"""Swarms at flow fidelity: each peer's uploads advance in one go from one look at it to the next."""
