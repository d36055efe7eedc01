"""What kernels use that Numba does not offer: their state by reference, the number of trailing zeros, prefetching.

Numba passes a named tuple by value: every call would copy dozens of array descriptors and count a reference on each.
`by_ref(s)` puts the tuple, the state of kernels, on the caller's stack once and hands on a pointer; `ref.name` loads
just that member, and a nested tuple is again a reference. Without the JIT, `by_ref(s)` is `s` itself.

Arrays read through a reference take no negative index: what counts from the end in Python is an error here, so that an
address is one addition and not also a comparison and a choice.

`line` asks the processor for what the next event will touch while the present one is handled. A large swarm lies in
main memory and its events are spread over it at random: without this, much of the time would pass waiting for one cache
line after the other. Prefetching changes no result.

Insides: `numba.core` (cgutils, imputils, the data models, templates of attributes) and of `numba.np.arrayobj`
`getitem_arraynd_intp`, `getitem_array_tuple`, `setitem_array`, called with indices that are unsigned, and `make_array`.
Beside test_insides.py, every test that runs a kernel fails.
"""

import hashlib
import operator

from numba.core import cgutils, config, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model
from numba.np import arrayobj

ir = cgutils.ir  # llvmlite's, as Numba uses it


class Ref(types.Type):
    """Pointer to a named tuple that lives on a caller's stack."""

    def __init__(self, pointee):
        self.pointee = pointee
        digest = hashlib.sha256(str(pointee).encode()).hexdigest()[:12]
        super().__init__(name=f"Ref{pointee.instance_class.__name__}{digest}")


@register_model(Ref)
class _RefModel(models.PrimitiveModel):
    """A bare pointer to the tuple's data representation."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.pointee).get_value_type().as_pointer())


class Unwrapped(types.Array):
    """An array whose indices are never negative."""

    def __init__(self, array):
        super().__init__(array.dtype, array.ndim, array.layout, readonly=not array.mutable, aligned=array.aligned)
        self.plain = array
        self.name = f"Unwrapped{array.name}"


register_model(Unwrapped)(models.ArrayModel)


def _as_unsigned(context, builder, signature, args):
    """The signature and arguments of an access to the plain array with unsigned indices, which are not wrapped."""
    array, index, *value = signature.args
    if isinstance(index, types.BaseTuple):
        wanted = types.UniTuple(types.uintp, len(index))
        parts = cgutils.unpack_tuple(builder, args[1], len(index))
        parts = [context.cast(builder, part, ty, types.intp) for part, ty in zip(parts, index, strict=True)]
        indices = context.make_tuple(builder, wanted, parts)
    else:
        wanted, indices = types.uintp, context.cast(builder, args[1], index, types.intp)
    return signature.return_type(array.plain, wanted, *value), (args[0], indices, *args[2:])


@lower_builtin(operator.getitem, Unwrapped, types.Integer)
def _get(context, builder, signature, args):
    """array[i]."""
    return arrayobj.getitem_arraynd_intp(context, builder, *_as_unsigned(context, builder, signature, args))


@lower_builtin(operator.getitem, Unwrapped, types.BaseTuple)
def _get_tuple(context, builder, signature, args):
    """array[i, j]."""
    return arrayobj.getitem_array_tuple(context, builder, *_as_unsigned(context, builder, signature, args))


@lower_builtin(operator.setitem, Unwrapped, types.Integer, types.Any)
@lower_builtin(operator.setitem, Unwrapped, types.BaseTuple, types.Any)
def _set(context, builder, signature, args):
    """array[i] = value, array[i, j] = value."""
    return arrayobj.setitem_array(context, builder, *_as_unsigned(context, builder, signature, args))


@infer_getattr
class _RefAttributes(AttributeTemplate):
    """Types of a reference's attributes: those of the tuple, nested tuples by reference."""

    key = Ref

    def generic_resolve(self, ref, name):
        if name not in ref.pointee.fields:
            return None
        member = ref.pointee.types[ref.pointee.fields.index(name)]
        if isinstance(member, types.NamedTuple):
            return Ref(member)
        return Unwrapped(member) if isinstance(member, types.Array) else member


def _load_invariant(builder, pointer):
    """Load a value, scalar by scalar, telling LLVM that it never changes: it then stays in a register across stores."""
    pointee = pointer.type.pointee
    if isinstance(pointee, ir.Aggregate):
        value = ir.Constant(pointee, ir.Undefined)
        for i in range(len(pointee.elements) if isinstance(pointee, ir.BaseStructType) else pointee.count):
            part = _load_invariant(builder, cgutils.gep_inbounds(builder, pointer, 0, i))
            value = builder.insert_value(value, part, i)
        return value
    load = builder.load(pointer)
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@lower_getattr_generic(Ref)
def _load_member(context, builder, ref, value, name):
    """Load one member; a nested tuple stays where it is. The tuple is never written after `by_ref`."""
    index = ref.pointee.fields.index(name)
    pointer = cgutils.gep_inbounds(builder, value, 0, index)
    if isinstance(ref.pointee.types[index], types.NamedTuple):
        return pointer
    return impl_ret_borrowed(context, builder, ref.pointee.types[index], _load_invariant(builder, pointer))


@intrinsic
def _reference(typingctx, value):
    """Put a named tuple on the stack of the calling kernel and point at it."""

    def codegen(context, builder, signature, args):
        return cgutils.alloca_once_value(builder, args[0])

    return Ref(value)(value), codegen


def _itself(value):
    return value


# An intrinsic and not an overload: the tuple must live on the stack of the kernel that calls it.
by_ref = _itself if config.DISABLE_JIT else _reference


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
