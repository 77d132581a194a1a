"""Convert GSPMD's manual computations, delimited by two custom calls, to `sdy.manual_computation`.

    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
    %2 = call @body(%1)
    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = S}

becomes, where `%0` has the sharding T,

    %3 = sdy.manual_computation(%0) in_shardings=[T] out_shardings=[S] manual_axes={...} (%1) {
      %2 = call @body(%1)
      sdy.return %2
    }

An op is local if it reads a local value, or if a local op reads its result; constants are cloned
instead. Each group of ops that are connected by local values is one computation. The exits of a
nested computation have a sharding with manual axes, too; nested computations are formed before the
outer ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike
from xdsl.utils.disjoint_set import DisjointSet

from ...dialects.sdy.attributes import ManualAxesAttr, ShardingPerValueAttr, TensorSharding
from ...dialects.sdy.dialect import ManualComputationOp, ReturnOp
from ...ir.attribute_access import text
from ...ir.diagnostics import OperationError
from ...ir.regions import values_read

ENTRY = "SPMDFullToShardShape"
EXIT = "SPMDShardToFullShape"


@dataclass(frozen=True, slots=True)
class Border:
    """The shardings of a module's custom calls.

    - `shardings`: of the values that enter, and of the results of the exits;
    - `manual_axes`: the mesh axes along which the result of a custom call is manual.
    """

    shardings: Mapping[SSAValue, TensorSharding]
    manual_axes: Mapping[SSAValue, frozenset[str]]
    all_axes: tuple[str, ...]

    def around(self, operation: Operation) -> frozenset[str]:
        """Return the axes that are manual outside of an entry or an exit."""
        value = operation.results[0] if is_call_of(operation, EXIT) else operation.operands[0]
        return self.manual_axes.get(value, frozenset())


def is_call_of(operation: Operation, *targets: str) -> bool:
    """Return whether an op is a custom call of one of the targets."""
    is_call = operation.name == "stablehlo.custom_call"
    return is_call and text(operation, "call_target_name") in targets


def form_manual_computations(block: Block, border: Border) -> None:
    """Form the manual computations of a block.

    Raises OperationError if a local op reads a whole tensor that did not enter by a custom call.
    """
    calls = [each for each in block.ops if is_call_of(each, ENTRY, EXIT)]
    for around in sorted({border.around(each) for each in calls}, key=len, reverse=True):
        for computation in _Grouping(block, border, around).computations():
            _form(computation, border, around)


@dataclass(slots=True)
class _Computation:
    """The ops of one computation, in order."""

    entries: list[Operation] = field(default_factory=list[Operation])
    body: list[Operation] = field(default_factory=list[Operation])
    exits: list[Operation] = field(default_factory=list[Operation])


class _Grouping:
    """Determines which ops of a block are local, and which of these are connected."""

    def __init__(self, block: Block, border: Border, around: frozenset[str]) -> None:
        self._block = block
        self._border = border
        self._around = around
        self._local: set[Operation] = set()
        self._groups: DisjointSet[Operation] = DisjointSet()

    def computations(self) -> list[_Computation]:
        operations = list(self._block.ops)
        for operation in operations:
            if self._is_entry(operation):
                self._add(operation)
            else:
                self._join_readers(operation)
        for operation in operations:
            if self._is_exit(operation):
                self._pull_in(operation.operands[0], operation)
        for operation in [each for each in operations if each in self._local]:
            if not self._is_entry(operation) and not self._is_exit(operation):
                for value in list(values_read(operation)):
                    self._pull_in(value, operation)
        found: dict[Operation, _Computation] = {}
        for operation in self._block.ops:
            if operation not in self._local:
                continue
            each = found.setdefault(self._groups.find(operation), _Computation())
            if self._is_entry(operation):
                each.entries.append(operation)
            elif self._is_exit(operation):
                each.exits.append(operation)
            else:
                each.body.append(operation)
        return list(found.values())

    def _is_entry(self, operation: Operation) -> bool:
        return is_call_of(operation, ENTRY) and self._border.around(operation) == self._around

    def _is_exit(self, operation: Operation) -> bool:
        return is_call_of(operation, EXIT) and self._border.around(operation) == self._around

    def _places_whole_tensor(self, operation: Operation) -> bool:
        if not is_call_of(operation, "Sharding", ENTRY):
            return False
        manual = self._border.manual_axes.get(operation.results[0], frozenset[str]())
        return manual <= self._around

    def _add(self, operation: Operation) -> None:
        if operation not in self._local:
            self._local.add(operation)
            self._groups.add(operation)

    def _join(self, operation: Operation, other: Operation) -> None:
        self._add(operation)
        self._add(other)
        self._groups.union(operation, other)

    def _join_readers(self, operation: Operation) -> None:
        """Join an op with the local ops whose results it reads."""
        for value in values_read(operation):
            owner = value.owner
            if isinstance(owner, Operation) and owner in self._local and not self._is_exit(owner):
                self._join(operation, owner)

    def _pull_in(self, value: SSAValue, reader: Operation) -> None:
        """Make the producer of a value that a local op reads local; clone it if it is a constant.

        Raises OperationError if the producer is, or depends on, a whole tensor.
        """
        owner = value.owner
        if reader.is_ancestor(owner):
            return  # It is defined in a region of the reader.
        if isinstance(owner, Block) or owner.parent is not self._block:
            raise _whole_tensor(reader)
        if owner in self._local and not self._is_exit(owner):
            self._join(reader, owner)
            return
        if owner.has_trait(ConstantLike):
            copy = owner.clone()
            self._block.insert_op_before(copy, owner)
            result = copy.results[0]
            for inner in reader.walk():
                inner.operands = [result if each is value else each for each in inner.operands]
            self._join(copy, reader)
            return
        if self._is_exit(owner) or self._places_whole_tensor(owner):
            raise _whole_tensor(reader)
        self._join(owner, reader)
        for read in list(values_read(owner)):
            self._pull_in(read, owner)


def _whole_tensor(reader: Operation) -> OperationError:
    return OperationError(
        reader,
        f"is in a manual computation and reads a whole tensor, which can only enter by @{ENTRY}",
    )


def _form(computation: _Computation, border: Border, around: frozenset[str]) -> None:
    """Replace a computation by `sdy.manual_computation`; erase one without exits."""
    entries, exits = computation.entries, computation.exits
    if not exits:
        for operation in (*reversed(computation.body), *entries):
            Rewriter.erase_op(operation)
        return
    first = exits[0]
    manual = _axes_inside(computation, border) - around
    body = Block(arg_types=[entry.results[0].type for entry in entries])
    for operation in computation.body:
        operation.detach()
        body.add_op(operation)
    terminator = ReturnOp(*(each.operands[0] for each in exits))
    body.add_op(terminator)
    leaving = tuple(border.shardings[each.results[0]] for each in exits)
    made = ManualComputationOp.create(
        operands=[entry.operands[0] for entry in entries],
        result_types=[each.results[0].type for each in exits],
        properties={
            "in_shardings": ShardingPerValueAttr(
                tuple(_entering(each, border) for each in entries)
            ),
            "out_shardings": ShardingPerValueAttr(leaving),
            "manual_axes": ManualAxesAttr(tuple(a for a in border.all_axes if a in manual)),
        },
        regions=[Region(body)],
    )
    made.location = terminator.location = first.location
    Rewriter.insert_op(made, InsertPoint.before(first))
    for argument, entry in zip(body.args, entries, strict=True):
        Rewriter.replace_op(entry, [], [argument])
    for result, each in zip(made.results, exits, strict=True):
        Rewriter.replace_op(each, [], [result])


def _axes_inside(computation: _Computation, border: Border) -> frozenset[str]:
    """Return the axes along which the tensors of a computation are manual.

    Raises OperationError if entries differ in these, or if one is behind the first exit.
    """
    first = computation.exits[0]
    for entry in computation.entries:
        if not entry.is_before_in_block(first):
            raise OperationError(
                entry, f"enters a manual computation after its @{EXIT}, expected before"
            )
    inside = {border.manual_axes[entry.results[0]] for entry in computation.entries}
    if len(inside) > 1:
        raise OperationError(first, "leaves a manual computation with entries along other axes")
    return inside.pop() if inside else frozenset(border.all_axes)


def _entering(entry: Operation, border: Border) -> TensorSharding:
    sharding = border.shardings.get(entry.operands[0])
    if sharding is None:
        raise OperationError(
            entry,
            "takes a tensor without a sharding into a manual computation, expected"
            ' stablehlo.custom_call @Sharding with mhlo.sharding = "..." in front of it',
        )
    return sharding
