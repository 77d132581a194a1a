"""Which functions execute operations: modules are imported for the dialects that a program has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mesh_opt.interpreter import registry
from mesh_opt.interpreter.registry import find_entry, impl
from mesh_opt.ir.foreign_code import OWN_PACKAGE
from mesh_opt.runtime.abi.arrays import Value
from xdsl.ir import Operation

PACKAGE = f"{OWN_PACKAGE}.interpreter.dialects."


def test_the_modules_of_a_dialect_are_those_that_register_its_operations() -> None:
    for dialect in registry._MODULES:
        find_entry(f"{dialect}.")
    for name, entry in registry._entries.items():
        module = (entry.execute or entry.run_regions).__module__
        if module.startswith(PACKAGE):
            assert module.removeprefix(PACKAGE) in registry._MODULES[name.partition(".")[0]], name


def test_functions_of_other_packages_replace_those_that_are_imported_later() -> None:
    def theirs(operation: Operation, operands: Sequence[Value], frame: object) -> Sequence[Value]:
        return [np.array(1)]

    def ours(operation: Operation, operands: Sequence[Value], frame: object) -> Sequence[Value]:
        return [np.array(2)]

    ours.__module__ = f"{PACKAGE}late"
    for function in (ours, theirs, ours):
        impl("test.registered_twice")(function)
    entry = find_entry("test.registered_twice")
    assert entry is not None and entry.execute is not None
    assert entry.execute.__module__ == __name__
