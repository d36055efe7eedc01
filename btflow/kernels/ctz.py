"""Count trailing zeros: one machine instruction that Numba does not offer by name."""

from numba.core import config, types
from numba.extending import intrinsic


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
