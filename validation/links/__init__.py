"""Validation of link experiments: ours beside the frozen packet-level results, and the small papers' claims."""
