"""Model files: published experiments (swarms), clients, transports, sockets and path matrices."""
