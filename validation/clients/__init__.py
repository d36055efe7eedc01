"""A test bed of real BitTorrent clients in network namespaces, and what the simulator says of the same swarms."""
