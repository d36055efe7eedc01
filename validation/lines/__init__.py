"""Access links made in network namespaces, measured as people measure their own: the files that tests of `btflow.lines` read."""
