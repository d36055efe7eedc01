"""Access links made in network namespaces and measured as people measure theirs, for tests of `btflow.lines`."""
