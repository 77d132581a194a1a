"""The `acme` dialect. Importing this module registers everything the package adds to mesh-opt."""

from xdsl.ir import Dialect

from . import meaning, sharding
from .operations import AddPositionsOp, RowEnergyOp
from .target import AcmeLayoutAttr, AcmeSolverAttr

__all__ = ["Acme", "meaning", "sharding"]  # Importing the last two registers functions.

Acme = Dialect("acme", [AddPositionsOp, RowEnergyOp], [AcmeLayoutAttr, AcmeSolverAttr])
