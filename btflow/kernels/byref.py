"""Pass the state by reference.

Numba passes a named tuple by value: every call would copy dozens of array descriptors and count a reference on each.
`by_ref(s)` puts the tuple on the caller's stack once and hands on a pointer; `ref.name` loads just that member, and a
nested tuple is again a reference. Without the JIT, `by_ref(s)` is `s` itself.
"""

import hashlib

from numba.core import cgutils, config, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

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


@infer_getattr
class _RefAttributes(AttributeTemplate):
    """Types of a reference's attributes: those of the tuple, nested tuples by reference."""

    key = Ref

    def generic_resolve(self, ref, name):
        if name not in ref.pointee.fields:
            return None
        member = ref.pointee.types[ref.pointee.fields.index(name)]
        return Ref(member) if isinstance(member, types.NamedTuple) else member


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
