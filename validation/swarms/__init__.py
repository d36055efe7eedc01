"""Swarms on access links beside two papers and the packet level."""
