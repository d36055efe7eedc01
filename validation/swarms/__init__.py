"""Swarms on congested access links: two published studies of uTP against TCP, and the packet level, checked."""
