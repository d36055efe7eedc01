"""Machine instructions that Numba does not offer by name: count trailing zeros, prefetch.

`line` asks the processor for what the next event will touch while the present one is handled. A large swarm lies in
main memory and its events are spread over it at random: without this, much of the time would pass waiting for one cache
line after the other. Prefetching changes no result.

Insides: `numba.core.cgutils`, of `numba.np.arrayobj` `make_array`. Beside test_insides.py, every test that runs a
kernel fails.
"""

from numba.core import cgutils, config, types
from numba.extending import intrinsic
from numba.np import arrayobj


@intrinsic
def _cttz(typingctx, mask):
    """Index of the lowest set bit of a non-zero unsigned integer."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), codegen


def _trailing_zeros(mask):
    """The same without the JIT."""
    bits = int(mask)
    return (bits & -bits).bit_length() - 1


trailing_zeros = _trailing_zeros if config.DISABLE_JIT else _cttz

ir = cgutils.ir  # llvmlite's, as Numba uses it


@intrinsic
def _line(typingctx, array, row, offset):
    """Prefetch the cache line `offset` bytes into row `row` of an array."""

    def codegen(context, builder, signature, args):
        plain = arrayobj.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, plain.strides)[0]
        i8, i32 = ir.IntType(8), ir.IntType(32)
        start = builder.ptrtoint(plain.data, stride.type)
        at = builder.add(builder.add(start, builder.mul(stride, args[1])), args[2])
        pointer = builder.inttoptr(at, i8.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [i8.as_pointer(), i32, i32, i32])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [pointer, i32(0), i32(3), i32(1)])  # to read, keep near, data
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp), codegen


def _nothing(array, row, offset):
    return None


line = _nothing if config.DISABLE_JIT else _line
