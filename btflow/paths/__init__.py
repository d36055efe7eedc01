"""Round-trip times and losses between the peers of a swarm, as on the Internet.

A swarm's scenario imports ``btflow.paths.model``: what is public here is imported when it is asked for (PEP 562).
"""
