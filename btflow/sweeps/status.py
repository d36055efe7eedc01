"""The status of a swarm in a sweep."""

PENDING, DONE, FAILED = 0, 1, 2
"""Not run yet, finished, failed for a reason that is kept."""
STATUSES = ("pending", "done", "failed")
"""Their names in tables."""
