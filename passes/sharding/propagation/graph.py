"""Build a table of the tensors of annotated functions, and of the relations between them.

Every tensor value is a node, and every operation with a factor rule relates the nodes of its
operands and results. Values that branches, loops and calls forward are data-flow edges: all targets
(block argument, result) share one node, and an identity relation connects it with the sources
(initial value, yielded value).

Values that are cheap to rematerialise for each use (constants, `tensor.empty`, fills and values
computed from these alone) are *rematerializable*: they have no node, since two uses may want them
in different shardings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.ir import Operation, Region, SSAValue

from ....ir.diagnostics import OperationError
from ....ir.locations import made_by, maker_of
from ....ir.regions import inner_blocks, walk
from ....ir.tensor_types import Shape, tensor_shape
from ....ir.value_flow import forwards, loop_inputs
from ....sharding.factor_propagation import Direction
from ....sharding.factors import Factor, FactorKind, FactorRule
from ....sharding.grid import Grid
from ....sharding.propagation import OperationNode, TensorNode
from ..annotations.access import (
    DIRECTION_ATTRIBUTE,
    GET_SHARDING,
    GROUP_ATTRIBUTE,
    SHARD,
    SHARDING,
    Annotation,
    ShardingTable,
    annotation_of,
)
from ..rules.captured_reads import read_rule, reads_along_loops
from ..rules.rule_cache import RuleCache, body_matters
from ..rules.shared_outputs import IN_PARALLEL, shared_outputs
from .annotated_functions import AnnotatedFunctions


class EntryKind(Enum):
    """How an operation takes part in propagation."""

    RULED = auto()
    """By its factor rule."""
    REMATERIALIZABLE = auto()
    """It makes a rematerializable value, in any sharding that a user wants."""
    REPLICATED = auto()
    """It has no rule: its operands and results are replicated."""
    ANNOTATION = auto()
    """It is a `shard.shard`."""
    EDGE = auto()
    """Its operands are sources of data-flow edges, or results of the function."""


@dataclass(frozen=True, slots=True)
class Source:
    """An operand that is the source of a data-flow edge, or a result of the function.

    `target` is a value at the other end; `None` if no value of the program is.
    """

    index: int
    target: SSAValue | None
    rule: FactorRule | None = None
    """Relates operand and target if they do not correspond in all dimensions."""


@dataclass(slots=True)
class Entry:
    """One operation, in program order."""

    operation: Operation
    kind: EntryKind
    rule: FactorRule | None = None
    annotation: Annotation | None = None
    sources: tuple[Source, ...] = ()
    captures: tuple[tuple[Operation, int], ...] = ()
    """Operands inside the operation's regions that are tensors from outside."""
    in_parallel: bool = False
    """Whether it is in a loop whose iterations may run in any order: no collectives inside."""


@dataclass(slots=True)
class ShardingGraph:
    """The table of tensors and relations, with its connection to the program."""

    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The node of each tensor value that is not rematerializable."""
    tensors: list[TensorNode] = field(default_factory=list[TensorNode])
    grids: list[Grid | None] = field(default_factory=list["Grid | None"])
    """The grid of each node; `None` as long as it is unknown."""
    pinned: dict[int, Annotation] = field(default_factory=dict[int, Annotation])
    """Nodes with an explicit annotation."""
    entries: list[Entry] = field(default_factory=list[Entry])
    operations: list[OperationNode] = field(default_factory=list[OperationNode])
    origins: list[Operation] = field(default_factory=list[Operation])
    """The operation of each relation in `operations`."""
    functions: list[Operation] = field(default_factory=list[Operation])

    @property
    def annotations(self) -> dict[Operation, Annotation]:
        """All annotations, by operation."""
        found = ((entry.operation, entry.annotation) for entry in self.entries)
        return {operation: each for operation, each in found if each is not None}


def build_graph(module: Operation, *, everything: bool = False) -> ShardingGraph:
    """Build the graph of all functions that have annotations, or are connected to such by calls.

    With `everything`, include all functions. Raises OperationError for invalid annotations.
    """
    return _Builder(module, everything).build()


def is_tensor(value: SSAValue) -> bool:
    """Return whether a value is a ranked tensor."""
    return isinstance(value.type, TensorType)


def _has_tensors(operation: Operation) -> bool:
    return any(map(is_tensor, (*operation.operands, *operation.results)))


def identity_rule(shape: Shape, sources: int) -> FactorRule:
    """Return the rule of an edge: every source and the target are split alike."""
    dimensions = tuple((dimension,) for dimension in range(len(shape)))
    return FactorRule(tuple(map(Factor, shape)), (dimensions,) * sources, (dimensions,))


def _directions(annotation: Operation) -> Direction:
    """Return the directions in which an annotation lets shardings pass.

    Raises OperationError for an unknown one.
    """
    found = annotation.attributes.get(DIRECTION_ATTRIBUTE)
    if found is None:
        return Direction.BOTH
    if not isinstance(found, StringAttr) or found.data not in Direction.__members__:
        expected = ", ".join(Direction.__members__)
        message = f"has {DIRECTION_ATTRIBUTE} = {found}, expected one of {expected}"
        raise OperationError(annotation, message)
    return Direction[found.data]


class _Builder:
    def __init__(self, module: Operation, everything: bool) -> None:
        self._graph = ShardingGraph()
        self._functions = AnnotatedFunctions(module, everything=everything)
        self._rules = RuleCache()
        self._identities: dict[tuple[Shape, int], FactorRule] = {}
        self._pass_through: dict[int, bool] = {}
        self._table = ShardingTable()
        self._edges: dict[SSAValue, list[tuple[Operation, int]]] = {}
        self._groups: dict[tuple[int, Shape | None], list[SSAValue]] = {}
        self._function_results: dict[Operation, list[SSAValue | None]] = {}
        self._function: Operation | None = None
        self._in_parallel = False
        self._handlers: dict[str, Callable[[Operation], None]] = {
            SHARD: self._annotation,
            SHARDING: self._skip,
            GET_SHARDING: self._skip,
            "func.return": self._return,
            "func.call": self._call,
            "scf.for": self._loop,
            "scf.while": self._loop,
            "scf.forall": self._forall,
            IN_PARALLEL: self._skip,
            "scf.if": self._branches,
            "scf.index_switch": self._branches,
            "scf.execute_region": self._branches,
            "scf.yield": self._forward_operands,
            "scf.condition": self._forward_operands,
        }

    def build(self) -> ShardingGraph:
        for function in self._functions.active:
            self._graph.functions.append(function)
            self._function = function
            self._add_region(function.regions[0])
        self._relate()
        return self._graph

    def _add_node(self, value: SSAValue) -> None:
        """Add a node for a tensor value that has none."""
        value_type = value.type
        if isinstance(value_type, TensorType) and value not in self._graph.values:
            self._graph.values[value] = len(self._graph.tensors)
            self._graph.tensors.append(TensorNode.unknown(value_type.get_num_dims()))
            self._graph.grids.append(None)

    def _share_node(self, value: SSAValue, target: SSAValue) -> None:
        """Let a value share the node of an edge's target."""
        if is_tensor(target):
            self._add_node(target)
            self._graph.values[value] = self._graph.values[target]

    def _edge(self, operation: Operation, index: int, target: SSAValue) -> Source:
        if is_tensor(target):
            self._add_node(target)
            self._edges.setdefault(target, []).append((operation, index))
        return Source(index, target)

    def _pin(self, value: SSAValue, annotation: Annotation) -> None:
        node = self._graph.values[value]
        self._graph.pinned.setdefault(node, annotation)
        if self._graph.pinned[node] is not annotation:
            return
        tensor = self._graph.tensors[node]
        tensor.axes = annotation.sharding.dimension_axes
        tensor.open_dimensions = annotation.open_dimensions
        tensor.priorities = annotation.priorities
        tensor.replicated = annotation.replicated
        self._graph.grids[node] = annotation.sharding.grid

    def _add_region(self, region: Region) -> None:
        for block in region.blocks:
            for argument in block.args:
                self._add_node(argument)
        for block in region.blocks:
            for operation in block.ops:
                self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        handler = self._handlers.get(operation.name)
        if handler is not None:
            handler(operation)
            return
        if operation.successors:
            self._forward_operands(operation)
            return
        rule = self._rules.rule_of(operation)
        if rule is None:
            self._replicated(operation)
            return
        if not rule.factors and not _has_tensors(operation):
            return
        captures = self._captures(operation)
        kind = EntryKind.RULED
        if not captures and self._is_rematerializable(operation, rule):
            kind = EntryKind.REMATERIALIZABLE
        else:
            for result in operation.results:
                self._add_node(result)
        self._graph.entries.append(
            Entry(operation, kind, rule, None, (), captures, self._in_parallel)
        )

    def _is_rematerializable(self, operation: Operation, rule: FactorRule) -> bool:
        return (
            len(operation.results) == 1
            and self._all_pass_through(rule)
            and not any(operand in self._graph.values for operand in operation.operands)
        )

    def _all_pass_through(self, rule: FactorRule) -> bool:
        # The rule cache keeps one object per rule, so identities are stable keys.
        known = self._pass_through.get(id(rule))
        if known is None:
            known = all(factor.kind is FactorKind.PASS_THROUGH for factor in rule.factors)
            self._pass_through[id(rule)] = known
        return known

    def _replicated(self, operation: Operation) -> None:
        captures = self._captures(operation)
        if not captures and not _has_tensors(operation):
            return
        for result in operation.results:
            self._add_node(result)
        self._graph.entries.append(Entry(operation, EntryKind.REPLICATED, captures=captures))

    def _captures(self, operation: Operation) -> tuple[tuple[Operation, int], ...]:
        """Return the operands inside an operation's regions that are tensors from outside."""
        if not body_matters(operation):
            return ()
        found: list[tuple[Operation, int]] = []
        inside: set[SSAValue] = set()
        for inner in walk(operation):
            for block in inner_blocks(inner):
                inside.update(block.args)
            if inner is operation:
                continue
            inside.update(inner.results)
            found += [
                (inner, index)
                for index, operand in enumerate(inner.operands)
                if operand not in inside and is_tensor(operand)
            ]
        return tuple(found)

    def _annotation(self, operation: Operation) -> None:
        annotation = annotation_of(operation, self._table)
        source, result = operation.operands[0], operation.results[0]
        self._add_node(result)
        self._graph.entries.append(Entry(operation, EntryKind.ANNOTATION, annotation=annotation))
        self._pin(result, annotation)
        group = operation.attributes.get(GROUP_ATTRIBUTE)
        if isinstance(group, IntegerAttr):
            key = group.value.data, tensor_shape(result)
            self._groups.setdefault(key, []).append(result)
        is_first = made_by(source, SHARD) is None
        if not annotation.for_users and is_first and source in self._graph.values:
            self._pin(source, annotation)

    # Data-flow edges.

    def _add_sources(self, operation: Operation, sources: Iterable[Source]) -> None:
        self._graph.entries.append(Entry(operation, EntryKind.EDGE, sources=tuple(sources)))

    def _forward_operands(self, operation: Operation) -> None:
        """Add edges for forwarded operands. A loop's results share the nodes of its arguments."""
        targets = {
            first + index: value
            for first, inputs in forwards(operation)
            for index, value in enumerate(inputs)
        }
        self._add_sources(operation, [self._edge(operation, *each) for each in targets.items()])

    def _loop(self, operation: Operation) -> None:
        if operation.name == "scf.while":
            self._pass_on(operation)
        for argument, result in zip(loop_inputs(operation), operation.results, strict=True):
            self._share_node(result, argument)
        self._forward_operands(operation)
        for region in operation.regions:
            self._add_region(region)

    def _pass_on(self, operation: Operation) -> None:
        """Let arguments of a loop's body share the nodes of values that its condition forwards.

        Otherwise a loop whose initial value and result differ would reshard in each iteration.
        """
        before = operation.regions[0].block
        condition = before.last_op
        assert condition is not None
        forwarded = condition.operands[1:]
        for value, argument in zip(forwarded, loop_inputs(operation), strict=True):
            if value in before.args:
                self._share_node(argument, value)

    def _forall(self, operation: Operation) -> None:
        outputs = shared_outputs(operation)
        first = len(operation.operands) - len(outputs)
        for output, result in zip(outputs, operation.results, strict=True):
            self._share_node(result, output.argument)
        self._add_sources(
            operation,
            [
                Source(first + position, output.argument, self._rules.intern(output.rule()))
                for position, output in enumerate(outputs)
            ],
        )
        around, self._in_parallel = self._in_parallel, True
        self._add_region(operation.regions[0])
        self._in_parallel = around
        for output in outputs:
            for insertion in output.insertions:
                rule = self._rules.intern(output.insertion_rule(insertion))
                self._add_sources(insertion, [Source(0, output.argument, rule)])

    def _branches(self, operation: Operation) -> None:
        """Add an operation whose results are those that one of its regions yields."""
        for result in operation.results:
            self._add_node(result)
        self._add_sources(operation, ())
        for region in operation.regions:
            self._add_region(region)

    def _call(self, operation: Operation) -> None:
        callee = self._functions.callee_of(operation)
        if callee is None:
            self._replicated(operation)
            return
        for result in operation.results:
            self._add_node(result)
        arguments = callee.regions[0].blocks[0].args
        for argument in arguments:
            self._add_node(argument)
        self._add_sources(
            operation, [self._edge(operation, *each) for each in enumerate(arguments)]
        )
        for result, common in zip(
            operation.results, self._results_of(callee, operation.results), strict=True
        ):
            if common is not None and common is not result:
                self._graph.values[result] = self._graph.values[common]

    def _results_of(
        self, function: Operation, stand_ins: Sequence[SSAValue]
    ) -> list[SSAValue | None]:
        """Return the values whose nodes are a function's results: the results of its first call."""
        known = self._function_results.get(function)
        if known is None:
            known = [value if is_tensor(value) else None for value in stand_ins]
            self._function_results[function] = known
        return known

    def _return(self, operation: Operation) -> None:
        assert self._function is not None
        targets: list[SSAValue | None] = [None] * len(operation.operands)
        call = self._functions.first_calls.get(self._function)
        if call is not None:
            for result in call.results:
                self._add_node(result)
            targets = self._results_of(self._function, call.results)
        self._add_sources(
            operation,
            [
                Source(index, None) if target is None else self._edge(operation, index, target)
                for index, target in enumerate(targets)
            ],
        )

    def _skip(self, operation: Operation) -> None:
        """Skip an operation: shardings, and terminators that their parents handle."""

    def _relate(self) -> None:
        for entry in self._graph.entries:
            operation = entry.operation
            if entry.kind is EntryKind.RULED:
                assert entry.rule is not None
                self._add_relation(operation, entry.rule, operation.operands, operation.results)
                if entry.captures:
                    self._relate_captures(operation, entry.rule)
            elif entry.kind is EntryKind.ANNOTATION:
                rule = self._identity(operation.results[0], 1)
                source, target = operation.operands[:1], operation.results
                self._add_relation(operation, rule, source, target, _directions(operation))
            elif entry.kind is EntryKind.EDGE:
                for source in entry.sources:
                    if source.rule is not None and source.target is not None:
                        operands = [operation.operands[source.index]]
                        self._add_relation(operation, source.rule, operands, [source.target])
        for target, sources in self._edges.items():
            operands = [operation.operands[index] for operation, index in sources]
            self._add_relation(
                sources[0][0], self._identity(target, len(operands)), operands, [target]
            )

        for first, *others in self._groups.values():
            origin = maker_of(first)
            self._add_relation(origin, self._identity(first, len(others)), others, [first])

    def _relate_captures(self, operation: Operation, rule: FactorRule) -> None:
        """Relate results to tensors that the body reads with the loops' indices."""
        for tensor, loops in reads_along_loops(operation, rule).items():
            found = self._rules.intern(read_rule(tensor, loops, rule))
            self._add_relation(operation, found, [tensor], operation.results)

    def _identity(self, value: SSAValue, sources: int) -> FactorRule:
        key = tensor_shape(value) or (), sources
        found = self._identities.get(key)
        if found is None:
            found = self._identities[key] = self._rules.intern(identity_rule(*key))
        return found

    def _add_relation(
        self,
        operation: Operation,
        rule: FactorRule,
        operands: Sequence[SSAValue],
        results: Sequence[SSAValue],
        directions: Direction = Direction.BOTH,
    ) -> None:
        values = self._graph.values
        nodes = tuple(map(values.get, operands))
        single_use = all(
            node is None or value.has_one_use() for node, value in zip(nodes, operands, strict=True)
        )
        self._graph.operations.append(
            OperationNode(rule, nodes, tuple(map(values.get, results)), single_use, directions)
        )
        self._graph.origins.append(operation)
