"""`make bench`: what btflow costs, beside recorded runs of SimGrid and ns-3."""
