"""The documentation, as it is written; the explorer shows the chapters that its lessons lead to."""
