"""The explorer: a web page over the simulator, and live figures for notebooks."""
