"""Convert the table of tensors and operations (`ShardingGraph`) to a search problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.disjoint_set import IntDisjointSet

from ....ir.regions import enclosing
from ....ir.tensor_types import element_bytes, static_shape_or_none, tensor_shape
from ....sharding.factors import FactorRule
from ....sharding.propagation import OperationNode
from ....sharding.search.problem import LivePoint, Problem, SearchOperation, SearchTensor
from ....sharding.search.repetition import repeated
from ..cost.kernel_work import is_fused, memory_values, operation_work, work_element
from ..cost.program_cost import trip_count
from ..propagation.graph import Entry, EntryKind, ShardingGraph


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of the graph with its cost properties, as in `SearchOperation`."""

    origin: Operation
    node: OperationNode
    work: float
    read: frozenset[int]
    written: frozenset[int]
    times: int

    @property
    def nodes(self) -> Iterator[int]:
        """The nodes at all slots."""
        return (slot for slot in (*self.node.operands, *self.node.results) if slot is not None)


@dataclass(frozen=True, slots=True)
class SearchedProgram:
    """A search problem, and its correspondence with a graph."""

    graph: ShardingGraph
    problem: Problem
    values: tuple[SSAValue, ...]
    """For each node of the graph a value that represents it."""
    tensors: tuple[int, ...]
    """For each node of the graph the tensor of the problem."""
    relations: tuple[Relation, ...]
    operations: tuple[int, ...]
    """For each relation the operation of the problem."""

    @property
    def repetitions(self) -> int:
        """The number of operations that are decided together with an earlier one."""
        return len(self.relations) - len(self.problem.operations)


def searched_program(graph: ShardingGraph) -> SearchedProgram:
    """Return the search problem of a graph, with repeated layers represented once."""
    values = _values_of(graph)
    relations = tuple(_relations(graph))
    is_argument = [_is_argument(value) for value in values]
    looks = [_look(graph, relation) for relation in relations]
    first = repeated(looks, _reads(relations))
    tensors = _tied_tensors(relations, first, is_argument)
    # Number representatives consecutively, in program order.
    numbers = {root: number for number, root in enumerate(sorted(set(tensors)))}
    classes = tuple(numbers[root] for root in tensors)
    places = {index: number for number, index in enumerate(sorted(set(first)))}
    operations = tuple(places[index] for index in first)
    problem = Problem(
        tuple(_search_tensors(graph, values, relations, is_argument, classes, len(numbers))),
        tuple(_search_operations(relations, operations, classes, len(places))),
        tuple(_live_points(relations, operations, classes, is_argument)),
    )
    return SearchedProgram(graph, problem, values, classes, relations, operations)


def _values_of(graph: ShardingGraph) -> tuple[SSAValue, ...]:
    """Return for each node its first value: the result of its producer, or an argument."""
    found: dict[int, SSAValue] = {}
    for value, node in graph.values.items():
        found.setdefault(node, value)
    return tuple(found[node] for node in range(len(graph.tensors)))


def _is_argument(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, Block):
        return False
    parent = owner.parent_op()
    return (
        parent is not None and parent.name == "func.func" and owner is parent.regions[0].blocks[0]
    )


def _relations(graph: ShardingGraph) -> Iterator[Relation]:
    """Yield operations with a rule in program order, then edges and replicated operations."""
    ruled = {
        entry.operation: entry.rule for entry in graph.entries if entry.kind is EntryKind.RULED
    }
    later: list[Relation] = []
    for node, origin in zip(graph.operations, graph.origins, strict=True):
        if origin not in ruled:
            later.append(_moving(origin, node))
        elif ruled[origin] is node.rule:
            yield _computing(origin, node)
    yield from later
    yield from filter(None, (_replicating(graph, entry) for entry in graph.entries))


def _computing(origin: Operation, node: OperationNode) -> Relation:
    """Return the relation of an operation with a rule."""
    reads, writes = memory_values(origin)
    return Relation(
        origin,
        node,
        operation_work(origin, static_shape_or_none) or 0.0,
        frozenset(i for i, value in enumerate(origin.operands) if value in reads),
        frozenset(i for i, value in enumerate(origin.results) if value in writes),
        _times(origin),
    )


def _replicating(graph: ShardingGraph, entry: Entry) -> Relation | None:
    """Return the relation of the tensors that an operation needs or makes whole, if there are any.

    These are the tensors that its body reads, and all tensors of an operation without a rule.
    """
    read = [inner.operands[index] for inner, index in entry.captures]
    made: Sequence[SSAValue] = ()
    if entry.kind is EntryKind.REPLICATED:
        read += entry.operation.operands
        made = entry.operation.results
    sides = [
        [value for value in dict.fromkeys(side) if value in graph.values] for side in (read, made)
    ]
    if not any(sides):
        return None
    needed, whole = (tuple(map(_without_factors, side)) for side in sides)
    rule = FactorRule((), needed, whole)
    operands, results = (tuple(graph.values[value] for value in side) for side in sides)
    return _moving(entry.operation, OperationNode(rule, operands, results))


def _moving(origin: Operation, node: OperationNode) -> Relation:
    """Return a relation that only moves tensors."""
    return Relation(origin, node, 0.0, frozenset(), frozenset(), _times(origin))


def _without_factors(value: SSAValue) -> tuple[tuple[int, ...], ...]:
    """Return the factors of a tensor none of whose dimensions can be split."""
    return ((),) * len(tensor_shape(value) or ())


def _times(operation: Operation) -> int:
    """Return how often an operation runs, given the trip counts of enclosing loops."""
    return prod(max(1, trip_count(loop)) for loop in enclosing(operation.parent_op()))


def _look(graph: ShardingGraph, relation: Relation) -> Hashable:
    """Return a key that is equal for operations that may be repetitions of each other."""

    def slot(node: int | None) -> Hashable:
        if node is None:
            return None
        return (graph.tensors[node].axes,) if node in graph.pinned else ()

    return (
        id(relation.node.rule),
        work_element(relation.origin),
        relation.work,
        relation.times,
        relation.read,
        relation.written,
        tuple(map(slot, relation.node.operands)),
        tuple(map(slot, relation.node.results)),
    )


def _reads(relations: tuple[Relation, ...]) -> list[list[int]]:
    """Return for each relation the relations whose results it reads."""
    makers: dict[int, int] = {}
    for index, relation in enumerate(relations):
        for node in relation.node.results:
            if node is not None:
                makers.setdefault(node, index)
    return [
        [makers[node] for node in relation.node.operands if node is not None and node in makers]
        for relation in relations
    ]


def _tied_tensors(
    relations: Sequence[Relation], first: list[int], is_argument: list[bool]
) -> list[int]:
    """Return for each node the first node that it is decided together with.

    These are results of operations that are decided together, and arguments that they read.
    """
    tied = IntDisjointSet(size=len(is_argument))
    for index, relation in enumerate(relations):
        other = relations[first[index]]
        slots = zip(
            (*relation.node.operands, *relation.node.results),
            (*other.node.operands, *other.node.results),
            strict=True,
        )
        count = len(relation.node.operands)
        for position, (one, two) in enumerate(slots):
            if one is None or two is None:
                continue
            # The first layer may read an argument where later layers read the previous layer's
            # result.
            if position < count and not (is_argument[one] and is_argument[two]):
                continue
            tied.union_left(*sorted((tied[one], tied[two])))
    return [tied[node] for node in range(len(is_argument))]


def _search_tensors(
    graph: ShardingGraph,
    values: tuple[SSAValue, ...],
    relations: tuple[Relation, ...],
    is_argument: list[bool],
    classes: tuple[int, ...],
    count: int,
) -> Iterator[SearchTensor]:
    times: dict[int, int] = {}
    for relation in relations:
        for node in relation.node.results:
            if node is not None:
                times[node] = relation.times
    members: list[list[int]] = [[] for _ in range(count)]
    for node, number in enumerate(classes):
        members[number].append(node)
    for nodes in members:
        node = nodes[0]
        value = values[node]
        yield SearchTensor(
            tensor_shape(value) or (),
            element_bytes(value),
            graph.tensors[node].axes if node in graph.pinned else None,
            is_argument[node],
            sum(times.get(each, 1) for each in nodes),
        )


def _search_operations(
    relations: tuple[Relation, ...],
    operations: tuple[int, ...],
    classes: tuple[int, ...],
    count: int,
) -> Iterator[SearchOperation]:
    members: list[list[Relation]] = [[] for _ in range(count)]
    for relation, number in zip(relations, operations, strict=True):
        members[number].append(relation)
    for each in members:
        example = each[0]
        yield SearchOperation(
            example.node.rule,
            tuple(_slots([relation.node.operands for relation in each], classes)),
            tuple(_slots([relation.node.results for relation in each], classes)),
            example.work,
            work_element(example.origin),
            example.read,
            example.written,
            not is_fused(example.origin),
            sum(relation.times for relation in each),
        )


def _slots(
    nodes: list[tuple[int | None, ...]], classes: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    for position in range(len(nodes[0])):
        found: dict[int, None] = {}
        for slots in nodes:
            node = slots[position]
            if node is not None:
                found[classes[node]] = None
        yield tuple(found)


def _live_points(
    relations: tuple[Relation, ...],
    operations: tuple[int, ...],
    classes: tuple[int, ...],
    is_argument: list[bool],
) -> Iterator[LivePoint]:
    """Yield the live tensors at each operation: made before and read later, and all arguments."""
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    for index, relation in enumerate(relations):
        for node in relation.nodes:
            begin.setdefault(node, index)
            end[node] = index
    starting: dict[int, list[int]] = {}
    for node, index in begin.items():
        if not is_argument[node]:
            starting.setdefault(index, []).append(node)
    live = Counter(classes[node] for node, argument in enumerate(is_argument) if argument)
    ending: dict[int, list[int]] = {}
    known: set[LivePoint] = set()
    for index in range(len(relations)):
        for node in starting.get(index, ()):
            live[classes[node]] += 1
            ending.setdefault(end[node], []).append(node)
        held = tuple(sorted((number, count) for number, count in live.items() if count))
        point = LivePoint(operations[index], held)
        if point not in known:
            known.add(point)
            yield point
        for node in ending.get(index, ()):
            live[classes[node]] -= 1
