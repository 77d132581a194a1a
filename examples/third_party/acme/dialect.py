"""The `acme` dialect. Whoever loads it has all that the package tells mesh-opt."""

from xdsl.ir import Dialect

from . import meaning, sharding  # noqa: F401  # They register functions.
from .operations import AddPositionsOp, RowEnergyOp
from .target import AcmeLayoutAttr, AcmeSolverAttr

Acme = Dialect("acme", [AddPositionsOp, RowEnergyOp], [AcmeLayoutAttr, AcmeSolverAttr])
