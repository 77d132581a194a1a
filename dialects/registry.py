"""Which dialects there are: a name, and a function that imports the dialect when it is needed.

Start-up time is import time, so nothing here imports a dialect before somebody asks for it.
Dialects that we own or extend stand in for xDSL's of the same name.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Dialect


def _affine() -> Dialect:
    from .affine_extensions import ExtendedAffine

    return ExtendedAffine


def _arith() -> Dialect:
    from .arith_extensions import ExtendedArith

    return ExtendedArith


def _bufferization() -> Dialect:
    from .bufferization_extensions import ExtendedBufferization

    return ExtendedBufferization


def _flow() -> Dialect:
    from .flow import Flow

    return Flow


def _func() -> Dialect:
    from .func_extensions import ExtendedFunc

    return ExtendedFunc


def _hal() -> Dialect:
    from .hal import Hal

    return Hal


def _iree_cpu() -> Dialect:
    from .iree_cpu import IreeCpu

    return IreeCpu


def _iree_encoding() -> Dialect:
    from .iree_encoding import IreeEncoding

    return IreeEncoding


def _iree_gpu() -> Dialect:
    from .iree_gpu import IreeGpu

    return IreeGpu


def _iree_tensor_ext() -> Dialect:
    from .iree_tensor_ext import IreeTensorExt

    return IreeTensorExt


def _linalg() -> Dialect:
    from .linalg import Linalg

    return Linalg


def _math() -> Dialect:
    from .math_extensions import ExtendedMath

    return ExtendedMath


def _mesh() -> Dialect:
    from .mesh import Mesh

    return Mesh


def _scf() -> Dialect:
    from .scf_extensions import ExtendedScf

    return ExtendedScf


def _sdy() -> Dialect:
    from .sdy import Sdy

    return Sdy


def _shard() -> Dialect:
    from .shard import Shard

    return Shard


def _stream() -> Dialect:
    from .stream import Stream

    return Stream


def _tensor() -> Dialect:
    from .tensor_extensions import ExtendedTensor

    return ExtendedTensor


def _tosa() -> Dialect:
    from .tosa import Tosa

    return Tosa


def _util() -> Dialect:
    from .util import Util

    return Util


OWN_DIALECTS: dict[str, Callable[[], Dialect]] = {
    "affine": _affine,
    "arith": _arith,
    "bufferization": _bufferization,
    "flow": _flow,
    "func": _func,
    "hal": _hal,
    "iree_cpu": _iree_cpu,
    "iree_encoding": _iree_encoding,
    "iree_gpu": _iree_gpu,
    "iree_tensor_ext": _iree_tensor_ext,
    "linalg": _linalg,
    "math": _math,
    "mesh": _mesh,
    "scf": _scf,
    "sdy": _sdy,
    "shard": _shard,
    "stream": _stream,
    "tensor": _tensor,
    "tosa": _tosa,
    "util": _util,
}
"""Our dialects by name. Keys are sorted."""


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect that our tools read: xDSL's, with ours in the place of its namesakes."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **OWN_DIALECTS}


def register_dialects(context: Context) -> None:
    """Register every dialect in a context that has none of them yet."""
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)
