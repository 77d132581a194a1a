"""What plain `xdsl-opt` gets from us, through the entry point group `xdsl.universe`.

xDSL refuses two universes that define one name, and has a partial `shard` dialect of its own. All
universes are loaded before that check, so ours takes the place of xDSL's entry in xDSL's table and
lists only the names that xDSL does not have. Nothing heavy may be imported here: every
start of `xdsl-opt` loads this module three times.
"""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from ..dialects.registry import OWN_DIALECTS
from ..passes.registry import OWN_PASSES

for _name in OWN_DIALECTS.keys() & XDSL_UNIVERSE.all_dialects.keys():
    XDSL_UNIVERSE.all_dialects[_name] = OWN_DIALECTS[_name]
for _name in OWN_PASSES.keys() & XDSL_UNIVERSE.all_passes.keys():
    XDSL_UNIVERSE.all_passes[_name] = OWN_PASSES[_name]

MESH_UNIVERSE = Universe(
    all_dialects={
        name: factory
        for name, factory in OWN_DIALECTS.items()
        if name not in XDSL_UNIVERSE.all_dialects
    },
    all_passes={
        name: factory
        for name, factory in OWN_PASSES.items()
        if name not in XDSL_UNIVERSE.all_passes
    },
)
