"""Validation: published claims, each judged by running the swarms it is about, in one report.

``python -m validation`` runs what the claims need, judges each, and writes ``report.html``, ``report.json`` and
``summary.md``. Nothing here changes the simulator: a claim that it does not reproduce is reported as such.
"""
