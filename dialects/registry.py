"""Which dialects there are: a name, and where the dialect is imported from when it is needed.

Start-up time is import time, so nothing here imports a dialect before somebody asks for it.
Dialects that we own or extend stand in for xDSL's of the same name.
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
    "iree_tensor_ext": ("iree_tensor_ext", "IreeTensorExt"),
    "io_parameters": ("hal.io_parameters", "IoParameters"),
    "interpreter": ("interpreter", "Interpreter"),
    "linalg": ("linalg.dialect", "Linalg"),
    "math": ("math", "ExtendedMath"),
    "memref": ("memref", "ExtendedMemRef"),
    "mesh": ("mesh", "Mesh"),
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
"""The file of this folder that holds a dialect, and its name there."""


def _loader(module: str, name: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(f".{module}", __package__), name)


OWN_DIALECTS: dict[str, Callable[[], Dialect]] = {
    name: _loader(*place) for name, place in _DIALECTS.items()
}
"""Our dialects by name."""


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect that our tools read: xDSL's, with ours in the place of its namesakes."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **OWN_DIALECTS}


_CHECKS = ("arith.comparisons", "func", "scf.checks", "tensor.checks")
"""The files that check xDSL's operations beyond their own verifiers."""


def register_dialects(context: Context) -> None:
    """Register every dialect in a context; those that it has already stay as they are.

    Afterwards `ir.verification.verify` checks xDSL's operations as MLIR does.
    """
    for module in _CHECKS:
        import_module(f".{module}", __package__)
    known = set(context.registered_dialect_names)
    for name, factory in all_dialects().items():
        if name not in known:
            context.register_dialect(name, factory)
