"""The packet-level reference: ns-3 programs of our own, and the tables that they wrote (see README.md)."""
