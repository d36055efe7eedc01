"""The one way a kernel is compiled.

Cached on disk; no fastmath, since bit-identical results matter more than a few per cent; no reference counting, since
a kernel allocates nothing and only sees arrays its caller keeps alive; division by zero gives inf, not an exception.
"""

import numba

kernel = numba.njit(cache=True, fastmath=False, error_model="numpy", _nrt=False)

# What Python calls: arguments are unpacked by Numba's ordinary, reference-counting wrapper.
entry = numba.njit(cache=True, fastmath=False, error_model="numpy")
