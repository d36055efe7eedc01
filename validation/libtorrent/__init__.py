"""libtorrent itself in virtual time, beside the simulator: every decision can be logged. README.md says how."""
