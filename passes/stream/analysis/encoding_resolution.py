"""From an encoded tensor type and an affinity to the type with its layouts resolved."""

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
from .affinity_analysis import AffinityAnalysis, required_affinity
from .layout_origin import LayoutOrigins, Origin

CATEGORY = "encoding"
"""The category of remarks about encodings."""


@dataclass(frozen=True, slots=True)
class ResolvedType:
    """What became of a type: its encoding has layouts or is gone, and why if it was dropped."""

    type: Attribute
    dropped: str = ""


class ResolvedTypes:
    """Resolves types by affinity, each combination once."""

    def __init__(
        self,
        affinities: AffinityAnalysis,
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
        """Whether a type has an encoding whose layouts are still open."""
        encoding = tensor_encoding(type_)
        return encoding is not None and encoding.is_open

    def for_affinity(
        self, type_: Attribute, affinity: Attribute, operation: Operation
    ) -> Attribute:
        """The type as the device of an affinity lays it out. Other types stay as they are."""
        if not self.needs_resolving(type_):
            return type_
        tensor = cast(Tensor, type_)
        resolved = self._resolve(tensor, affinity, operation)
        if resolved.dropped:
            self._tell(operation, f"encoding of {_short(tensor)} dropped: {resolved.dropped}")
        return resolved.type

    def for_value(self, type_: Attribute, value: SSAValue, operation: Operation) -> Attribute:
        """The type as whoever laid a value out did it; as here, if that is not known."""
        if not self.needs_resolving(type_):
            return type_
        origins = self._origins.of(value)
        here = None
        if not origins or any(origin.affinity is None for origin in origins):
            here = required_affinity(operation)
            self._tell(
                operation,
                f"reads {_short(cast(Tensor, type_))}, and nothing tells which device laid it "
                f"out: it is taken to be laid out for {here}",
            )
        if here is not None and not origins:
            return self.for_affinity(type_, here, operation)
        types = {
            origin: self.for_affinity(type_, cast(Attribute, origin.affinity or here), operation)
            for origin in origins
        }
        if len(types) == 1:
            return next(iter(types.values()))
        if len({storage_key(cast(Tensor, one)) for one in types.values()}) > 1:
            raise OperationError(
                operation,
                f"reads {_short(cast(Tensor, type_))}, whose layout depends on where it comes "
                "from: the devices lay it out differently; decode it before the join",
                [_origin_note(origin, type_) for origin, type_ in types.items()],
            )
        return next(iter(types.values()))

    def targets(self, operation: Operation) -> tuple[TargetSolver, ...]:
        """What an operation's code is compiled for; empty if that is not known."""
        affinity = affinity_of(operation)
        if affinity is None:
            return ()
        try:
            return self._targets(affinity, operation)
        except TargetsUnknownError:
            # Had something encoded run there, resolving it would have failed with this error.
            return ()

    def _targets(self, affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
        """The targets of an affinity; a remark tells of each whose solver is ignored."""
        targets = self._affinities.targets(affinity, operation)
        for target in targets:
            if (problem := target.solver.problem()) is not None and target not in self._ignored:
                self._ignored.add(target)
                self._tell(operation, f"runs on {problem}; it is ignored")
        return targets

    def _resolve(self, tensor: Tensor, affinity: Attribute, operation: Operation) -> ResolvedType:
        key = self._numbers.number(tensor), self._numbers.number(affinity)
        if key not in self._resolved:
            self._resolved[key] = resolved = self._resolve_new(tensor, affinity, operation)
            if remarks_wanted() and not resolved.dropped:
                layout = tensor_encoding(resolved.type)
                self._tell(operation, f"{_short(tensor)} is laid out for {affinity} as {layout}")
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
                reason = f"the targets of {affinity} want different layouts"
                return ResolvedType(with_encoding(tensor, self._cancelled()), reason)
            if found.is_identity(tensor):
                return ResolvedType(type_, f"{affinity} has no tiles for it, or no solver")
        except ValueError as error:
            # The solver refuses, or the tensor has no size: each says so in its own way.
            raise OperationError(
                operation, f"failed to resolve the layout of {tensor}: {error}"
            ) from error
        return ResolvedType(type_)

    def _cancelled(self) -> TensorEncoding | None:
        """No layout but the plain one: in 2024 without a word for it."""
        if self._spelling == "2024":
            return None
        return LayoutAttr(ArrayAttr[Attribute]([IdentityAttr()]))

    def _tell(self, operation: Operation, message: str) -> None:
        if (operation, message) not in self._remarked:
            self._remarked.add((operation, message))
            remark(CATEGORY, operation, message)


def _origin_note(origin: Origin, type_: Attribute) -> Note:
    encoding = tensor_encoding(type_)
    layout = encoding if encoding is not None else "no encoding"
    made = "comes from here, taken to be laid out"
    if origin.affinity is not None:
        made = f"laid out here for {origin.affinity}"
    return Note(f"{made} as {layout}", origin.operation)


def _short(tensor: Tensor) -> str:
    """A tensor type without the text of its encoding."""
    return f"encoded {TensorType(tensor.element_type, tensor.shape)}"
