"""Experiments on access links: a few flows, the queues they share, and what each gets."""
