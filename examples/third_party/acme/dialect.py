"""The `acme` dialect. Whoever loads it has all that the package tells mesh-opt."""

from xdsl.ir import Dialect

from . import meaning, sharding
from .operations import AddPositionsOp, RowEnergyOp
from .target import AcmeLayoutAttr, AcmeSolverAttr

__all__ = ["Acme", "meaning", "sharding"]  # The last two register functions.

Acme = Dialect("acme", [AddPositionsOp, RowEnergyOp], [AcmeLayoutAttr, AcmeSolverAttr])
