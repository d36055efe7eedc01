"""Teaching notebooks; `btflow lab` opens them."""
