"""The dialects and passes for plain `xdsl-opt`, via the entry point group `xdsl.universe`.

xDSL rejects two universes that define the same name. It has a partial `shard` dialect of its own.
All universes are loaded before that check, so this module replaces the entry in xDSL's table. Names
of other packages, such as the `stablehlo` of xdsl-jax, are left to those packages, since passes
here identify operations by name. Nothing slow may be imported here: every start of `xdsl-opt` loads
this module three times.
"""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from ..dialects.registry import OWN_DIALECTS
from ..passes.registry import OWN_PASSES
from .plugins import universes

for _name in OWN_DIALECTS.keys() & XDSL_UNIVERSE.all_dialects.keys():
    XDSL_UNIVERSE.all_dialects[_name] = OWN_DIALECTS[_name]
for _name in OWN_PASSES.keys() & XDSL_UNIVERSE.all_passes.keys():
    XDSL_UNIVERSE.all_passes[_name] = OWN_PASSES[_name]

_OTHERS = (XDSL_UNIVERSE, *universes())

MESH_UNIVERSE = Universe(
    all_dialects={
        name: factory
        for name, factory in OWN_DIALECTS.items()
        if not any(name in other.all_dialects for other in _OTHERS)
    },
    all_passes={
        name: factory
        for name, factory in OWN_PASSES.items()
        if not any(name in other.all_passes for other in _OTHERS)
    },
)
