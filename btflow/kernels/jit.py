"""The one way a kernel is compiled.

No fastmath, since bit-identical results matter more than a few per cent; no reference counting, since a kernel
allocates nothing and only sees arrays its caller keeps alive; division by zero gives inf, not an exception.
"""

import numba

from btflow.kernels.linking import EntryCompiler, KernelCompiler

# Called by other kernels alone: it has no code of its own (linking.py).
kernel = numba.njit(
    pipeline_class=KernelCompiler,
    fastmath=False,
    error_model="numpy",
    _nrt=False,
    no_cfunc_wrapper=True,
    no_cpython_wrapper=True,
)

# What Python calls: arguments are unpacked by Numba's ordinary, reference-counting wrapper. Cached on disk. Others may
# run meanwhile: a swarm touches its own arrays alone.
entry = numba.njit(
    pipeline_class=EntryCompiler,
    cache=True,
    nogil=True,
    fastmath=False,
    error_model="numpy",
    no_cfunc_wrapper=True,
)
