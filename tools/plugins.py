"""Dialects and passes of other packages, found when a program or a command line names one.

A package lists its dialects under the entry point group `mesh_opt.dialects`, each under the
dialect's name. This can include its own targets and encoding solvers (`examples/third_party`).
Alternatively it lists everything that it has for xDSL under `xdsl.universe`, as for `xdsl-opt`.
Entry points are read only for an unknown name, because reading them takes as long as processing a
small program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.passes import ModulePass

from ..ir.foreign_code import OWN_PACKAGE, exception_text
from ..ir.usage_error import UsageError
from .command_line import values_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from xdsl.universe import Universe

ENTRY_POINT_GROUP = "mesh_opt.dialects"
UNIVERSES = "xdsl.universe"

Factory = Callable[[], type[ModulePass]]


class PluginContext(Context):
    """A context that looks up unregistered dialects in installed packages."""

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """Return an attribute class by name."""
        self._register_plugin_of(name)
        return super().get_optional_attr(name)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        """Return a type class by name."""
        self._register_plugin_of(name)
        return super().get_optional_type(name)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        known = super()._get_known_op(name)
        if known is None and self._register_plugin_of(name):
            return super()._get_known_op(name)
        return known

    def _register_plugin_of(self, name: str) -> bool:
        """Register the dialect of a name if a package has it; return whether it did."""
        dialect, dot, _ = name.partition(".")
        if not dot or dialect in self.registered_dialect_names or dialect in without_plugin:
            return False
        try:
            factory = _dialect_factory(dialect)
        except UsageError:
            if not self.allow_unregistered:
                raise
            factory = None
        if factory is None:
            without_plugin.add(dialect)
            return False
        self.register_dialect(dialect, factory)
        return True


def load_dialects(context: Context, names: Sequence[str]) -> None:
    """Load the dialects named `module:NAME`. Raises UsageError for a name that is not a dialect."""
    for name in names:
        dialect = _named(name, "--load-dialect-plugin")
        if not isinstance(dialect, Dialect):
            raise UsageError(f"--load-dialect-plugin: '{name}' is not a Dialect")
        if dialect.name in context.registered_dialect_names:
            raise UsageError(f"--load-dialect-plugin: there is a dialect '{dialect.name}' already")
        context.load_dialect(dialect)


def loaded_passes(arguments: Sequence[str]) -> dict[str, Factory]:
    """Return the passes that the arguments load, by name.

    Pass names must be known before the other arguments are parsed. Raises UsageError for a name
    that is not a pass.
    """
    option = "load-pass-plugin"
    found: dict[str, Factory] = {}
    for name in values_of(arguments, option):
        pass_type = _named(name, f"--{option}")
        if not isinstance(pass_type, type) or not issubclass(pass_type, ModulePass):
            raise UsageError(f"--{option}: '{name}' is not a subclass of ModulePass")
        found[pass_type.name] = lambda pass_type=pass_type: pass_type
    return found


def _named(name: str, option: str) -> Any:
    """Import `module:NAME`; modules in the current folder are found, too. Raises UsageError."""
    import sys
    from importlib import import_module

    module, colon, attribute = name.partition(":")
    if not colon:
        raise UsageError(f"{option}={name} is not of the form module:NAME")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:
        raise UsageError(f"{option}: cannot load '{name}': {exception_text(error)}") from error


without_plugin: set[str] = set()
"""The dialects that no package has, so that each is looked up once per process."""


def _dialect_factory(dialect: str) -> Callable[[], Dialect] | None:
    """Return a function that imports a dialect of another package; `None` if no package has it.

    Raises UsageError if a package fails to load.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == dialect:
            return lambda: cast(Dialect, _load(entry))
    return next(
        (each.all_dialects[dialect] for each in universes() if dialect in each.all_dialects), None
    )


def _load(entry: EntryPoint) -> Any:
    """Load an entry point. Raises UsageError if the package fails."""
    try:
        return entry.load()
    except Exception as error:
        raise UsageError(
            f"cannot load '{entry.value}', entry point '{entry.name}' of {entry.group}:"
            f" {exception_text(error)}"
        ) from error


@lru_cache(maxsize=1)
def universes() -> tuple[Universe, ...]:
    """Return the universes of other packages. Raises UsageError if a package fails to load."""
    from importlib.metadata import entry_points

    from xdsl.universe import Universe

    found: list[Universe] = []
    for entry in sorted(entry_points(group=UNIVERSES), key=lambda each: each.name):
        if entry.value.partition(".")[0] in (OWN_PACKAGE, "xdsl"):
            continue
        universe = _load(entry)
        if not isinstance(universe, Universe):
            raise UsageError(
                f"entry point '{entry.name}' of {UNIVERSES}, '{entry.value}', is not a Universe"
            )
        found.append(universe)
    return tuple(found)


def is_extended() -> bool:
    """Return whether another package adds dialects or passes."""
    from importlib.metadata import entry_points

    return bool(entry_points(group=ENTRY_POINT_GROUP)) or bool(universes())


class PassLookup(Mapping[str, Factory]):
    """Passes by name: the given ones, then those of other packages."""

    def __init__(self, known: Mapping[str, Factory]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Factory:
        found = self._known.get(name) or self._others().get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._others(), **self._known})

    def __len__(self) -> int:
        return len({*self._others(), *self._known})

    def _others(self) -> dict[str, Factory]:
        passes: dict[str, Factory] = {}
        for universe in universes():
            twice = next((name for name in universe.all_passes if name in passes), None)
            if twice is not None:
                raise UsageError(f"two packages have a pass '{twice}'")
            passes |= universe.all_passes
        return passes
