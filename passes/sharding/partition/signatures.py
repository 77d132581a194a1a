"""Determine the shardings of arguments and results of partitioned functions, for their callers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....ir.graph_orders import CallGraph
from ....ir.host_programs import callee_of
from ....ir.locations import made_by
from ....ir.regions import walk
from ....ir.symbols import visibility
from ....sharding.sharding import Partial, Sharding
from ..annotations.access import SHARD, ShardingTable, annotation_of


class Annotations:
    """Parsed annotations, cached for tensors of the same type."""

    def __init__(self) -> None:
        self._table = ShardingTable()
        self._known: dict[tuple[SSAValue, int, bool], tuple[Sharding, bool]] = {}

    def of(self, operation: Operation) -> tuple[Sharding, bool]:
        """Return the sharding of a `shard.shard`, and whether it is for users.

        Raises OperationError if the sharding does not fit the tensor.
        """
        tensor, described = operation.operands
        key = (described, id(tensor.type), "annotate_for_users" in operation.properties)
        found = self._known.get(key)
        if found is None:
            annotation = annotation_of(operation, self._table)
            sharding = without_single_axes(annotation.sharding)
            found = self._known[key] = sharding, annotation.for_users
        return found

    def wanted(self, value: SSAValue) -> Sharding | None:
        """Return the annotated sharding of a value: the producer's, else a user's, else `None`."""
        for_users: Sharding | None = None
        for use in value.uses:
            if use.operation.name == SHARD and use.index == 0:
                sharding, is_for_users = self.of(use.operation)
                if not is_for_users:
                    return sharding
                for_users = for_users or sharding
        return for_users


def without_single_axes(sharding: Sharding) -> Sharding:
    """Return the sharding without axes of extent 1. Shardings with halos are not changed."""
    single = {axis for axis in sharding.used_axes if sharding.grid.shape[axis] == 1}
    if not single or sharding.halos:
        return sharding
    axes = tuple(
        tuple(axis for axis in split if axis not in single) for split in sharding.dimension_axes
    )
    partials = tuple(
        Partial(partial.kind, rest)
        for partial in sharding.partials
        if (rest := tuple(axis for axis in partial.axes if axis not in single))
    )
    offsets = tuple(
        limits if split else None for limits, split in zip(sharding.offsets, axes, strict=False)
    )
    return Sharding(sharding.grid, axes, partials, offsets=offsets)


Shardings = Sequence[Sharding | None]
"""Shardings of several values; `None` stands for the whole value."""


@dataclass(slots=True)
class Signature:
    """The shardings of a function's arguments and results.

    `results` is `None` until the function is emitted, or a call needs them before that.
    """

    arguments: Shardings
    results: Shardings | None = None


class Signatures:
    """The functions of a module and their signatures.

    With `global_abi`, public functions keep their types, and split and gather values inside.
    """

    def __init__(self, module: ModuleOp, global_abi: bool) -> None:
        self.annotations = Annotations()
        self._global_abi = global_abi
        annotated: set[FuncOp] = set()
        calls: dict[FuncOp, list[FuncOp]] = {}
        for function in walk(module):
            if not isinstance(function, FuncOp):
                continue
            called = calls[function] = []
            for operation in walk(function):
                if operation.name == SHARD:
                    annotated.add(function)
                elif isinstance(callee := callee_of(operation), FuncOp):
                    called.append(callee)
        self._calls = CallGraph(calls)
        self._rewritten = frozenset(self._calls.reaching(annotated))
        self._known: dict[FuncOp, Signature] = {}

    def in_call_order(self) -> Sequence[FuncOp]:
        """Return the functions to rewrite, callees before callers except for recursion."""
        return [
            function
            for function in self._calls.callees_first()
            if function in self._rewritten and not function.is_declaration
        ]

    def of(self, function: FuncOp) -> Signature:
        """Return the signature of a function, determined on the first query."""
        found = self._known.get(function)
        if found is None:
            types = function.function_type
            if function not in self._rewritten or function.is_declaration or self._keeps(function):
                found = Signature((None,) * len(types.inputs), (None,) * len(types.outputs))
            else:
                arguments = function.body.blocks[0].args
                found = Signature(tuple(self._annotated_as(argument) for argument in arguments))
            self._known[function] = found
        return found

    def _keeps(self, function: FuncOp) -> bool:
        return self._global_abi and visibility(function) == "public"

    def results_of(self, function: FuncOp) -> Shardings:
        """Return the shardings of a called function's results.

        If the function is not emitted yet, the annotations at its first `return` determine them.
        """
        signature = self.of(function)
        if signature.results is None:
            returned = next(op for op in walk(function) if op.name == "func.return")
            signature.results = tuple(self._annotated_by(operand) for operand in returned.operands)
        return signature.results

    def _annotated_by(self, value: SSAValue) -> Sharding | None:
        shard = made_by(value, SHARD)
        return None if shard is None else self.annotations.of(shard)[0].without_partials()

    def _annotated_as(self, argument: SSAValue) -> Sharding | None:
        """Return the annotated sharding of an argument: as it comes in, else as a user wants it.

        Callers do not pass halos: they are fetched inside.
        """
        wanted = self.annotations.wanted(argument)
        return None if wanted is None else replace(wanted, partials=(), halos=())
