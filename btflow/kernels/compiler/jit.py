"""The one way a kernel is compiled: all are optimised together, once, in the entries that Python calls.

No fastmath, since bit-identical results matter more than a few per cent; no reference counting, since a kernel
allocates nothing and only sees arrays its caller keeps alive; division by zero gives inf, not an exception.

Numba links into each function all that it calls, directly or not, optimises the whole and emits machine code for it:
kernels that call each other a dozen deep are optimised again in each of their callers, and theirs. But Python calls the
entries alone. So the library of a kernel keeps the code of that kernel as it was lowered, and that of an entry gets the
kernels it reaches, each once. There nobody else can call them, and LLVM inlines and passes arguments as it likes.

Insides: of `numba.core.codegen.JITCodeLibrary` `_final_module`, `_shared_module`, `_finalized`, `_linking_libraries`,
`_get_module_for_linking`, `_optimize_final_module`, `_optimize_functions`, `_codegen`, `_raise_if_finalized`; the
passes of `numba.core.compiler.DefaultPassBuilder`; the option `_nrt`. Beside test_insides.py, test_linking.py fails.
"""

import ctypes

import llvmlite.binding as llvm
import numba
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import LoweringPass, PassManager, _pass_registry, register_pass
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from btflow.kernels.compiler import cache

# What Python calls with a kernel, its arguments and its keywords: it raises a TypeError, since that is no callable.
_NO_CALL = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


class _NoMachineCode:
    """In the place of the code generator when Numba would tell the machine code where its globals are."""

    def set_env(self, name, env):
        """Do nothing: there is no machine code."""


class KernelLibrary(JITCodeLibrary):
    """One kernel as it was lowered, and the libraries of what it calls."""

    @property
    def codegen(self):
        """Numba's code generator, as far as it is asked for from outside."""
        return _NoMachineCode()

    def finalize(self):
        """Let nothing be added any more."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name):  # noqa: ARG002  # as llvmlite calls it
        """Return what Python would call."""
        return _NO_CALL

    def _optimize_functions(self, ll_module):
        """Leave it as it is: it is optimised in each entry that reaches it."""
        ll_module.data_layout = self._codegen._data_layout

    def _get_module_for_linking(self):
        """Return a module of this kernel and all that it reaches, whose functions may be in other modules as well."""
        if self._shared_module is None:
            kernels, others = _reached(self)
            self._shared_module = _shareable(kernels)
            for library in others:
                self._shared_module.link_in(library._get_module_for_linking(), preserve=True)
        return self._shared_module


class EntryLibrary(JITCodeLibrary):
    """An entry and all kernels that it reaches."""

    def finalize(self):
        """Link what the entry reaches, each once: Numba links each callee with all that this reaches in turn."""
        kernels, self._linking_libraries = _reached(self)
        if kernels:
            self._final_module.link_in(_shareable(kernels))
        super().finalize()

    def _optimize_final_module(self):
        """Make the kernels internal, so that one with a single caller is inlined and the others pass what is used."""
        _relink(self._final_module, llvm.Linkage.linkonce_odr, llvm.Linkage.internal)
        super()._optimize_final_module()


def _reached(library):
    """Return the kernels' libraries among that of a function and of all it calls, directly or not, and the others."""
    found = {library: None}  # a set that keeps its order: the machine code shall not depend on addresses
    todo = [library]
    while todo:
        for callee in todo.pop()._linking_libraries:
            if callee not in found:
                found[callee] = None
                if isinstance(callee, KernelLibrary):
                    todo.append(callee)
    kernels = [each for each in found if isinstance(each, KernelLibrary)]
    return kernels, [each for each in found if each is not library and not isinstance(each, KernelLibrary)]


def _shareable(kernels):
    """Return a module of kernels as they were lowered, whose functions may be in other modules as well."""
    module = _merged(kernels)
    _relink(module, llvm.Linkage.external, llvm.Linkage.linkonce_odr)
    return module


def _merged(kernels):
    """Return the modules of kernels in one; by halves, since LLVM goes over both modules whenever it links."""
    half = len(kernels) // 2
    if not half:
        return kernels[0]._final_module.clone()
    module = _merged(kernels[:half])
    module.link_in(_merged(kernels[half:]))
    return module


def _relink(module, before, after):
    """Change the linkage of a module's functions."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == before:
            function.linkage = after


class _Library(LoweringPass):
    """A pass that gives a function a library of the kind `library`."""

    def __init__(self):
        LoweringPass.__init__(self)

    def run_pass(self, state):
        """Make the library, which Numba otherwise makes when it lowers the function."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _ForKernel(_Library):
    _name, library = "library_of_kernel", KernelLibrary


@register_pass(mutates_CFG=False, analysis_only=False)
class _ForEntry(_Library):
    _name, library = "library_of_entry", EntryLibrary


class _Passes(PassManager):
    """Numba's passes, without what takes a fifth of the time and serves nobody here.

    That is a description of each pass in words for listeners (types of a state are kilobytes long), and the lives of
    all variables anew after each pass, which generators and lifted loops need. A pass that needs them asks by itself.
    """

    def _runPass(self, index, pss, internal_state):  # noqa: N802, ARG002  # as Numba calls it
        """Run a pass."""
        pss.analysis = self._analysis
        for step in (pss.run_initialization, pss.run_pass, pss.run_finalizer):
            step(internal_state)
        if _pass_registry.get(type(pss)).mutates_CFG:
            internal_state.func_ir.blocks = canonicalize_cfg(internal_state.func_ir.blocks)


_IDLE = (InlineClosureLikes, NopythonRewrites)
"""Passes for closures and expressions of whole arrays, of which kernels have none: an eighth of the time."""


class _Compiler(compiler.CompilerBase):
    def define_pipelines(self):
        """Numba's passes, and `library` before the lowering."""
        passes = _Passes("nopython")
        usual = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state).passes
        passes.passes = [each for each in usual if each[0] not in _IDLE]
        at = [step for step, _ in passes.passes].index(NativeLowering)
        passes.passes.insert(at, (self.library, "make the library"))
        passes.finalize()
        return [passes]


class KernelCompiler(_Compiler):
    """Numba's compiler for kernels."""

    library = _ForKernel


class EntryCompiler(_Compiler):
    """Numba's compiler for entries, which says how far it is."""

    library = _ForEntry

    def compile_extra(self, func):
        """Compile a function."""
        with cache.saying(func):
            return super().compile_extra(func)


# Called by other kernels alone: it has no code of its own.
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
    pipeline_class=EntryCompiler, cache=True, nogil=True, fastmath=False, error_model="numpy", no_cfunc_wrapper=True
)
