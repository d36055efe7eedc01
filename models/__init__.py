"""Model files: published experiments (swarms), clients, transports and path matrices."""
