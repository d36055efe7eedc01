"""Numba kernels: bare arrays, seconds, bytes and bytes per second; no units, no Python objects.

``swarm``, ``access`` and ``link`` mirror the rooms above (``btflow/swarm``, its ``access.py``, ``btflow/link``);
``flow`` and ``fluid`` are the engines of flow fidelity, for ``swarm/flow.py`` and ``link/fluid.py``.
"""
