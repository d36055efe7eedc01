"""How kernels are compiled, called and kept.

All that rests on insides of Numba's and llvmlite's is here, and nowhere else in btflow. Each module says which; what
they gain is in docs/scale.md, "What the compiler's insides gain". pyproject.toml bounds Numba's version, and if one is
gone `tests/test_insides.py` names it.
"""
