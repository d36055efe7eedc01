"""Drivers of the clients; they run in the peers' namespaces, and import nothing of btflow."""
