"""The dialects and passes of the package, each loaded on first use."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _dialect() -> Dialect:
    from .dialect import Acme

    return Acme


def _lowering() -> type[ModulePass]:
    from .lowering import ConvertAcmeToLinalgPass

    return ConvertAcmeToLinalgPass


UNIVERSE = Universe(
    all_dialects={"acme": _dialect}, all_passes={"convert-acme-to-linalg": _lowering}
)
