"""`make bench`: what btflow costs, beside SimGrid and ns-3."""
