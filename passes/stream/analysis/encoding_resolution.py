"""Resolve the layouts in an encoded tensor type for an affinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import (
    Spelling,
    Tensor,
    TensorEncoding,
    storage_key,
    tensor_encoding,
    with_encoding,
)
from ....dialects.iree_encoding.layouts import IdentityAttr, LayoutAttr
from ....dialects.stream.affinity import TargetSolver, TargetsUnknownError, affinity_of
from ....ir.diagnostics import Note, OperationError, remark, remarks_wanted
from ....ir.structural_hash import AttributeNumbers
from .affinity_targets import AffinityTargets, required_affinity
from .layout_origin import LayoutOrigins, Origin

CATEGORY = "encoding"
"""The category of remarks about encodings."""


@dataclass(frozen=True, slots=True)
class ResolvedType:
    """A type whose encoding has layouts or was dropped, with the reason if it was dropped."""

    type: Attribute
    dropped: str = ""


class ResolvedTypes:
    """Resolves types by affinity, and caches the results."""

    def __init__(
        self,
        affinities: AffinityTargets,
        origins: LayoutOrigins,
        spelling: Spelling,
        numbers: AttributeNumbers,
    ) -> None:
        self._affinities = affinities
        self._origins = origins
        self._spelling: Spelling = spelling
        self._numbers = numbers
        self._resolved: dict[tuple[int, int], ResolvedType] = {}
        self._remarked: set[tuple[Operation, str]] = set()
        self._ignored: set[TargetSolver] = set()

    def needs_resolving(self, type_: Attribute) -> bool:
        """Return whether a type has an encoding without layouts."""
        encoding = tensor_encoding(type_)
        return encoding is not None and encoding.is_open

    def for_affinity(
        self, type_: Attribute, affinity: Attribute, operation: Operation
    ) -> Attribute:
        """Return the type as the device of an affinity lays it out; other types are unchanged.

        Raises OperationError if a solver refuses the tensor, or if it has no storage size.
        """
        if not self.needs_resolving(type_):
            return type_
        tensor = cast(Tensor, type_)
        resolved = self._resolve(tensor, affinity, operation)
        if resolved.dropped:
            self._remark(operation, f"encoding of {_short(tensor)} dropped: {resolved.dropped}")
        return resolved.type

    def for_value(self, type_: Attribute, value: SSAValue, operation: Operation) -> Attribute:
        """Return the type as it was laid out where the value was made.

        If nothing tells where that was, the device of the operation is assumed, with a remark.
        Raises OperationError if the layout depends on which of several origins the value comes
        from.
        """
        if not self.needs_resolving(type_):
            return type_
        origins = self._origins.of(value)
        assumed = None
        if not origins or any(origin.affinity is None for origin in origins):
            assumed = required_affinity(operation)
            self._remark(
                operation,
                f"reads {_short(cast(Tensor, type_))}, whose source device is unknown: it is "
                f"assumed to be laid out for {assumed}",
            )
        if assumed is not None and not origins:
            return self.for_affinity(type_, assumed, operation)
        types = {
            origin: self.for_affinity(type_, cast(Attribute, origin.affinity or assumed), operation)
            for origin in origins
        }
        if len(types) == 1:
            return next(iter(types.values()))
        if len({storage_key(cast(Tensor, one)) for one in types.values()}) > 1:
            raise OperationError(
                operation,
                f"reads {_short(cast(Tensor, type_))}, which several devices lay out differently; "
                "decode it before the values join",
                [_origin_note(origin, type_) for origin, type_ in types.items()],
            )
        return next(iter(types.values()))

    def targets(self, operation: Operation) -> tuple[TargetSolver, ...]:
        """Return the targets that an operation's code is compiled for; empty if unknown."""
        affinity = affinity_of(operation)
        if affinity is None:
            return ()
        try:
            return self._targets(affinity, operation)
        except TargetsUnknownError:
            # If something encoded ran there, resolving its type would already have raised this
            # error.
            return ()

    def _targets(self, affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
        """Return the targets of an affinity, with a remark about each whose solver is ignored."""
        targets = self._affinities.targets(affinity, operation)
        for target in targets:
            if (problem := target.solver.problem()) is not None and target not in self._ignored:
                self._ignored.add(target)
                self._remark(operation, f"runs on {problem}; it is ignored")
        return targets

    def _resolve(self, tensor: Tensor, affinity: Attribute, operation: Operation) -> ResolvedType:
        key = self._numbers.number(tensor), self._numbers.number(affinity)
        if key not in self._resolved:
            self._resolved[key] = resolved = self._resolve_new(tensor, affinity, operation)
            if remarks_wanted() and not resolved.dropped:
                layout = tensor_encoding(resolved.type)
                self._remark(operation, f"{_short(tensor)} is laid out for {affinity} as {layout}")
        return self._resolved[key]

    def _resolve_new(
        self, tensor: Tensor, affinity: Attribute, operation: Operation
    ) -> ResolvedType:
        encoding = cast(TensorEncoding, tensor.encoding)
        targets = self._targets(affinity, operation)
        solvers = tuple(dict.fromkeys(target.solver for target in targets))
        try:
            found = encoding.resolve(tensor, solvers, self._spelling)
            type_ = with_encoding(tensor, found)
            if found is None:
                return ResolvedType(type_, f"a target of {affinity} offers no solver")
            differ = len(found.layouts()) > 1 and storage_key(type_) == type_
            if differ and not encoding.keeps_layouts():
                reason = f"the targets of {affinity} choose different layouts"
                return ResolvedType(with_encoding(tensor, self._cancelled()), reason)
            if found.is_identity(tensor):
                return ResolvedType(
                    type_, f"{affinity} has no solver, or the solver chooses no tiles for it"
                )
        except ValueError as error:
            # Either a solver refuses, or the tensor has no size; the message says which.
            raise OperationError(
                operation, f"failed to resolve the layout of {tensor}: {error}"
            ) from error
        return ResolvedType(type_)

    def _cancelled(self) -> TensorEncoding | None:
        """Return the encoding of the plain layout; the spelling `2024` has none for it."""
        if self._spelling == "2024":
            return None
        return LayoutAttr(ArrayAttr[Attribute]([IdentityAttr()]))

    def _remark(self, operation: Operation, message: str) -> None:
        if (operation, message) not in self._remarked:
            self._remarked.add((operation, message))
            remark(CATEGORY, operation, message)


def _origin_note(origin: Origin, type_: Attribute) -> Note:
    encoding = tensor_encoding(type_)
    layout = encoding if encoding is not None else "no encoding"
    description = "comes from here, assumed to be laid out"
    if origin.affinity is not None:
        description = f"laid out here for {origin.affinity}"
    return Note(f"{description} as {layout}", origin.operation)


def _short(tensor: Tensor) -> str:
    """Return a tensor type as text, without its encoding."""
    return f"encoded {TensorType(tensor.element_type, tensor.shape)}"
