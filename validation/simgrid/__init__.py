"""The flash crowd of rao2010 on SimGrid, to compare the cost with: README.md."""
