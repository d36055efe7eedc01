"""Compiles every kernel that the explorer uses, or loads it from the cache: ``python -m btflow.explore.warm``."""

from __future__ import annotations

from importlib import import_module

_PAGE = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel"),
    *("btflow.explore.app", "btflow.explore.swarm", "btflow.explore.whatif_panel"),
)


def imports() -> None:
    """Import all that a visitor's page needs."""
    for name in _PAGE:
        import_module(name)


def warm() -> None:
    """Run a link, a swarm behind unlimited links and one on access links, each as small as they come."""
    from btflow.catalog import load
    from btflow.link.options import scenario_from
    from btflow.link.simulation import simulate_link
    from btflow.simulation import simulate

    simulate_link(scenario_from(flows=["cubic", "ledbat"], voip="g729", duration="1 s"))
    simulate(load("rao2010", leechers=2, file_size="1 MB"))
    simulate(load("flashcrowd", leechers=4, file_size="1 MB"))


if __name__ == "__main__":
    warm()
