"""Programs for those who change btflow: documentation, measurements, files that are made."""
