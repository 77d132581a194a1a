"""Dialects of other packages: found by name when a program uses one that we do not know.

A package lists its dialects under the entry point group `mesh_opt.dialects`, each under its own
name, and so brings its own targets and encoding solvers (`examples/third_party_solver`). Nothing
is looked up before an unknown name is met: looking costs as much as a small program.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

ENTRY_POINT_GROUP = "mesh_opt.dialects"


class PluginContext(Context):
    """A context that asks installed packages for dialects that it has not registered."""

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """An attribute class by name."""
        self._register_plugin_of(name)
        return super().get_optional_attr(name)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        """A type class by name."""
        self._register_plugin_of(name)
        return super().get_optional_type(name)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        known = super()._get_known_op(name)
        if known is None and self._register_plugin_of(name):
            return super()._get_known_op(name)
        return known

    def _register_plugin_of(self, name: str) -> bool:
        """Register the dialect of a name if a package has it. Whether it is new."""
        dialect = name.partition(".")[0]
        if dialect in self.registered_dialect_names or dialect in _without_plugin:
            return False
        from importlib.metadata import entry_points

        found = [entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name == dialect]
        if not found:
            _without_plugin.add(dialect)
            return False
        self.register_dialect(dialect, lambda: cast(Dialect, found[0].load()))
        return True


_without_plugin: set[str] = set()
"""Dialects that no package has: asked for once in a process."""
