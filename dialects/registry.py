"""The registry of dialects: the name of each and where it is imported from when needed.

Start-up time is mostly import time, so no dialect is imported before it is used. Dialects defined
or extended by this project replace those of xDSL with the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.ir import Dialect

_DIALECTS = {
    "affine": ("affine", "ExtendedAffine"),
    "arith": ("arith.dialect", "ExtendedArith"),
    "bufferization": ("bufferization", "ExtendedBufferization"),
    "check": ("check", "Check"),
    "chlo": ("chlo.dialect", "Chlo"),
    "flow": ("flow.dialect", "Flow"),
    "func": ("func", "ExtendedFunc"),
    "hal": ("hal.dialect", "Hal"),
    "iree_codegen": ("iree_codegen", "IreeCodegen"),
    "iree_cpu": ("iree_cpu", "IreeCpu"),
    "iree_encoding": ("iree_encoding.dialect", "IreeEncoding"),
    "iree_gpu": ("iree_gpu", "IreeGpu"),
    "iree_linalg_ext": ("iree_linalg_ext", "IreeLinalgExt"),
    "iree_tensor_ext": ("iree_tensor_ext", "IreeTensorExt"),
    "index": ("index", "Index"),
    "io_parameters": ("hal.io_parameters", "IoParameters"),
    "interpreter": ("interpreter", "Interpreter"),
    "linalg": ("linalg.dialect", "Linalg"),
    "llvm": ("llvm", "ExtendedLlvm"),
    "math": ("math", "ExtendedMath"),
    "memref": ("memref", "ExtendedMemRef"),
    "mesh": ("mesh", "Mesh"),
    "ml_program": ("ml_program", "MlProgram"),
    "quant": ("quant", "Quant"),
    "scf": ("scf.dialect", "ExtendedScf"),
    "sdy": ("sdy.dialect", "Sdy"),
    "shard": ("shard.dialect", "Shard"),
    "stablehlo": ("stablehlo.dialect", "Stablehlo"),
    "stream": ("stream.dialect", "Stream"),
    "tensor": ("tensor.dialect", "ExtendedTensor"),
    "tm_tensor": ("tm_tensor", "TmTensor"),
    "tosa": ("tosa.dialect", "Tosa"),
    "util": ("util.dialect", "Util"),
}
"""The module in this package that defines a dialect, and the dialect's name there."""


def _loader(module: str, name: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(f".{module}", __package__), name)


OWN_DIALECTS: dict[str, Callable[[], Dialect]] = {
    name: _loader(module, attribute) for name, (module, attribute) in _DIALECTS.items()
}
"""The dialects of this project by name."""


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Return all dialects that the tools parse: xDSL's, replaced by those of this project."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **OWN_DIALECTS}


_CHECKS = ("arith.comparisons", "func", "scf.checks", "tensor.checks")
"""The modules that add checks to xDSL's ops."""


def register_dialects(context: Context) -> None:
    """Register all dialects in a context, except those that it already has.

    Afterwards `ir.verification.verify` checks xDSL's ops as MLIR does.
    """
    for module in _CHECKS:
        import_module(f".{module}", __package__)
    known = set(context.registered_dialect_names)
    for name, factory in all_dialects().items():
        if name not in known:
            context.register_dialect(name, factory)
