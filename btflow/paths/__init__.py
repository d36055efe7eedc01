"""Round-trip times and losses between the peers of a swarm, as on the Internet."""
