"""Model files: found, read, their parameters and fields set, and made into scenarios."""
