"""Variants of executables: one for each combination of targets and binding layouts.

The first variant of a kernel is the executable itself; each further one is a clone with that one
kernel in it. Dispatches with equal keys share a variant, whatever devices they run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.iree_encoding.interfaces import EncodingTypeInterface, tensor_encoding
from ....dialects.stream.affinity import TargetSolver
from ....dialects.stream.executables import ExecutableExportOp, ExecutableOp
from ....ir.structural_hash import AttributeNumbers
from ....ir.symbols import names_in, numbered_name
from .exports import Kernel


@dataclass(frozen=True, slots=True)
class VariantKey:
    """What tells one variant of a kernel from another."""

    targets: tuple[int, ...]
    """Numbers of what the code is compiled for."""
    types: tuple[int, ...]
    """Numbers of the types below."""
    bindings: tuple[Attribute, ...] = field(compare=False)
    """The settled tensor types of the kernel's encoded subspans, in the kernel's order."""


@dataclass(slots=True)
class Variant:
    """One variant of a kernel and who dispatches it."""

    key: VariantKey
    sites: list[tuple[Operation, int]] = field(default_factory=list[tuple[Operation, int]])
    """Dispatches, and which of their entry points."""


class VariantPlan:
    """All variants of all kernels, to be made at once."""

    def __init__(self, numbers: AttributeNumbers) -> None:
        self._variants: dict[Kernel, dict[VariantKey, Variant]] = {}
        self._numbers = numbers
        self._groups: dict[Kernel, list[dict[str, set[Attribute]]]] = {}
        """Of kernels without encodings: targets by format that may be in one executable."""

    def add(
        self,
        kernel: Kernel,
        targets: Sequence[TargetSolver],
        bindings: tuple[Attribute, ...],
        dispatch: Operation,
        entry: int,
    ) -> None:
        """A dispatch needs a kernel for some targets, with bindings of these types."""
        if bindings:
            number = self._numbers.number
            compiled_for = tuple(number(target.target) for target in targets)
            key = VariantKey(compiled_for, tuple(map(number, bindings)), bindings)
        else:
            key = VariantKey((self._group(kernel, targets),), (), ())
        variants = self._variants.setdefault(kernel, {})
        variants.setdefault(key, Variant(key)).sites.append((dispatch, entry))

    def _group(self, kernel: Kernel, targets: Sequence[TargetSolver]) -> int:
        """The first executable in which a device would not mistake another target's code for its
        own: one that has no different target of the same format."""
        formats: dict[str, set[Attribute]] = {}
        for target in targets:
            formats.setdefault(target.format, set()).add(target.target)
        groups = self._groups.setdefault(kernel, [])
        for number, group in enumerate(groups):
            if all(group.get(name, found) == found for name, found in formats.items()):
                group.update(formats)
                return number
        groups.append(formats)
        return len(groups) - 1

    def apply(self, module: ModuleOp) -> None:
        """Change and clone executables, and point dispatches to them."""
        names = names_in(module)
        in_place: dict[Operation, VariantKey] = {}
        last: dict[Operation, Operation] = {}
        for kernel, variants in self._variants.items():
            clones = [
                variant
                for variant in variants.values()
                if in_place.setdefault(kernel.function, variant.key) != variant.key
            ]
            # All clones are taken of the executable as it was.
            made = [(variant, clone_kernel(kernel, names)) for variant in clones]
            for variant, clone in made:
                previous = last.get(kernel.executable, kernel.executable)
                Rewriter.insert_op(clone.executable, InsertPoint.after(previous))
                last[kernel.executable] = clone.executable
                _settle_bindings(clone, variant.key)
                for dispatch, entry in variant.sites:
                    _point_to(dispatch, entry, clone)
        for kernel, variants in self._variants.items():
            first = in_place[kernel.function]
            if first in variants:
                _settle_bindings(kernel, first)


def clone_kernel(kernel: Kernel, names: set[str]) -> Kernel:
    """A copy of an executable with one of its kernels, under a name that is free."""
    base = kernel.executable.sym_name.data
    name = numbered_name(f"{base}_dup", names)
    names.add(name)
    executable = kernel.executable.clone()
    executable.properties["sym_name"] = StringAttr(name)
    exports = [op for op in executable.body.block.ops if isinstance(op, ExecutableExportOp)]
    export = next(e for e in exports if e.sym_name == kernel.export.sym_name)
    others = {e.function_ref for e in exports} - {export.function_ref}
    for other in exports:
        if other is not export:
            other.detach()
            other.erase()
    _drop_functions(executable, others)
    return Kernel.of_export(export, export)


def _drop_functions(executable: ExecutableOp, names: set[SymbolRefAttr]) -> None:
    """Remove functions of kernels that are gone, unless something still calls them."""
    module = executable.inner_module()
    if module is None:
        return
    functions = {
        SymbolRefAttr(name): operation
        for operation in module.body.block.ops
        if isinstance(name := operation.properties.get("sym_name"), StringAttr)
    }
    kept = [op for name, op in functions.items() if name not in names]
    called = {
        attribute
        for operation in kept
        for inner in operation.walk()
        for attribute in (inner.properties | inner.attributes).values()
        if isinstance(attribute, SymbolRefAttr)
    }
    for name in names - called:
        if (operation := functions.get(name)) is not None:
            operation.detach()
            operation.erase()


def _settle_bindings(kernel: Kernel, key: VariantKey) -> None:
    """Give the kernel's subspans the types that the variant has for them."""
    for (_, subspan), tensor in zip(kernel.bindings, key.bindings, strict=True):
        result = subspan.results[0]
        type_ = result.type
        if isinstance(type_, EncodingTypeInterface):
            settled = type_.update_encoding(tensor_encoding(tensor))
            Rewriter.replace_value_with_new_type(result, settled)


def _point_to(dispatch: Operation, entry: int, kernel: Kernel) -> None:
    """Make a dispatch run another variant of its kernel."""
    points = list(cast("ArrayAttr[SymbolRefAttr]", dispatch.properties["entry_points"]))
    points[entry] = SymbolRefAttr(kernel.executable.sym_name, points[entry].nested_references)
    dispatch.properties["entry_points"] = ArrayAttr(points)
