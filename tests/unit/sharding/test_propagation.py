"""Propagation over tables: stages, directions, priorities, and that it always ends."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from mesh_opt.sharding.factor_propagation import Direction
from mesh_opt.sharding.factors import FactorRule
from mesh_opt.sharding.propagation import (
    OperationNode,
    Propagation,
    RuleClass,
    Stage,
    TensorNode,
    classify,
    directions_of,
)
from mesh_opt.sharding.sharding import DimensionAxes

Rules = Callable[..., FactorRule]


def pinned(*axes: tuple[int, ...], priority: int = 0) -> TensorNode:
    return TensorNode(tuple(axes), (False,) * len(axes), (priority,) * len(axes))


def unknown(rank: int = 2) -> TensorNode:
    return TensorNode.unknown(rank)


@pytest.fixture
def matmul(rule: Rules) -> FactorRule:
    return rule("[i k], [k j] -> [i j]", i=16, k=16, j=16, reduce="k")


@pytest.fixture
def add(rule: Rules) -> FactorRule:
    return rule("[i j], [i j] -> [i j]", i=16, j=16)


@pytest.fixture
def copy(rule: Rules) -> FactorRule:
    return rule("[i j] -> [i j]", i=16, j=16)


def mlp(
    matmul: FactorRule, copy: FactorRule, *given: TensorNode
) -> tuple[list[TensorNode], list[OperationNode]]:
    """x, w1, w2, h, a, o with h = x w1, a = gelu(h), o = a w2."""
    tensors = [*given, unknown(), unknown(), unknown()]
    return tensors, [
        OperationNode(matmul, (0, 1), (3,)),
        OperationNode(copy, (3,), (4,), single_use=True),
        OperationNode(matmul, (4, 2), (5,)),
    ]


def axes_of(tensors: list[TensorNode]) -> list[DimensionAxes]:
    return [tensor.axes for tensor in tensors]


def test_megatron_from_the_first_weight_alone(matmul: FactorRule, copy: FactorRule) -> None:
    tensors, operations = mlp(matmul, copy, unknown(), pinned((), (0,)), unknown())
    Propagation(tensors, operations, (4,)).run()
    assert axes_of(tensors)[2:] == [((0,), ()), ((), (0,)), ((), (0,)), ((), ())]


def test_data_and_tensor_parallel(matmul: FactorRule, copy: FactorRule) -> None:
    tensors, operations = mlp(matmul, copy, pinned((0,), ()), pinned((), (1,)), unknown())
    Propagation(tensors, operations, (2, 4)).run()
    assert axes_of(tensors)[2:] == [((1,), ()), ((0,), (1,)), ((0,), (1,)), ((0,), ())]


def test_elementwise_operations_go_before_contractions(matmul: FactorRule, add: FactorRule) -> None:
    # a = x w wants rows on axis 0 and the residual b has columns on it: b is certain.
    tensors = [pinned((0,), ()), unknown(), unknown(), pinned((), (0,)), unknown()]
    operations = [OperationNode(matmul, (0, 1), (2,)), OperationNode(add, (2, 3), (4,))]
    Propagation(tensors, operations, (2,)).run()
    assert tensors[2].axes == tensors[4].axes == ((), (0,))


def test_forward_and_backward_alone(copy: FactorRule) -> None:
    operations = [OperationNode(copy, (0,), (1,)), OperationNode(copy, (1,), (2,))]
    for passes, expected in (
        ((Direction.FORWARD,), [((), ()), ((0,), ()), ((0,), ())]),
        ((Direction.BACKWARD,), [((0,), ()), ((0,), ()), ((), ())]),
        ((Direction.BACKWARD, Direction.FORWARD), [((0,), ())] * 3),
    ):
        tensors = [unknown(), pinned((0,), ()), unknown()]
        Propagation(tensors, operations, (2,)).run(passes=passes)
        assert axes_of(tensors) == expected


def test_lower_priorities_go_first(add: FactorRule) -> None:
    for first, second, expected in ((0, 1, ((0,), ())), (1, 0, ((), (0,)))):
        tensors = [pinned((0,), (), priority=first), pinned((), (0,), priority=second), unknown()]
        Propagation(tensors, [OperationNode(add, (0, 1), (2,))], (2,)).run()
        assert axes_of(tensors) == [((0,), ()), ((), (0,)), expected]


def test_dimensions_have_their_own_turn(matmul: FactorRule) -> None:
    # The batch goes first, so the second axis is free to follow the weight.
    x = TensorNode(((0,), (1,)), (False, False), (0, 1))
    tensors = [x, pinned((), (1,)), unknown()]
    Propagation(tensors, [OperationNode(matmul, (0, 1), (2,))], (2, 2)).run()
    assert tensors[0].axes == ((0,), (1,))
    assert tensors[2].axes == ((0,), (1,))


def test_an_axis_of_a_later_priority_splits_one_dimension(add: FactorRule) -> None:
    later = TensorNode(((), (0,)), (True, True), (0, 1))
    tensors = [pinned((0,), ()), unknown(), later]
    Propagation(tensors, [OperationNode(add, (0, 1), (2,))], (2,)).run()
    assert axes_of(tensors) == [((0,), ()), ((0,), ()), ((), (0,))]


def test_slots_without_a_tensor_do_not_take_part(add: FactorRule) -> None:
    tensors = [pinned((0,), ()), unknown()]
    Propagation(tensors, [OperationNode(add, (0, None), (1,))], (2,)).run()
    assert tensors[1].axes == ((0,), ())


def test_classes_follow_from_rules(rule: Rules, matmul: FactorRule, add: FactorRule) -> None:
    assert classify(add) is RuleClass.PASS_THROUGH
    assert classify(matmul) is RuleClass.OTHER
    assert classify(rule("[(i j)] -> [i j]", i=2, j=4)) is RuleClass.PASS_THROUGH
    broadcast = rule("[j], [i j] -> [i j]", i=2, j=4)
    assert classify(broadcast) is RuleClass.PASS_THROUGH
    assert classify(broadcast, (0, None)) is RuleClass.BROADCAST


def test_stages_open_one_after_the_other(rule: Rules, matmul: FactorRule, add: FactorRule) -> None:
    def shown(which: FactorRule, stage: Stage, single_use: bool = False) -> str:
        names = {0: "-", 1: "f", 2: "b", 3: "x"}
        found = directions_of(which, classify(which), single_use, stage, Direction.BOTH)
        return "".join(names[direction.value] for direction in found)

    broadcast = rule("[j] -> [i j]", i=4, j=8)
    assert [shown(add, stage) for stage in Stage] == ["--", "xx", "xx", "xx", "xx"]
    assert shown(add, Stage.SINGLE_USE, single_use=True) == "xx"
    assert [shown(matmul, stage) for stage in Stage] == ["---", "---", "x-x", "xxx", "xxx"]
    assert [shown(broadcast, stage) for stage in Stage] == ["--", "--", "bb", "bb", "xx"]
    sort = rule("[i] -> [i]", i=4, whole="i")
    assert shown(sort, Stage.EVERYTHING) == "-"


def test_origins_say_where_each_axis_came_from(matmul: FactorRule, copy: FactorRule) -> None:
    tensors, operations = mlp(matmul, copy, pinned((0,), ()), pinned((), (1,)), unknown())
    Propagation(tensors, operations, (2, 4), explain=True).run()
    (origin,) = tensors[5].origins
    assert (origin.operation, origin.before, origin.after) == (2, ((), ()), ((0,), ()))
    assert origin.stage is Stage.PASS_THROUGH_FACTORS


def random_table(
    generator: random.Random, rules: list[FactorRule]
) -> tuple[list[TensorNode], list[OperationNode]]:
    tensors = [unknown() for _ in range(12)]
    operations: list[OperationNode] = []
    for result in range(4, 12):
        chosen = generator.choice(rules)
        sources = tuple(generator.randrange(result) for _ in chosen.operands)
        operations.append(OperationNode(chosen, sources, (result,), generator.random() < 0.5))
    for tensor in tensors:
        if generator.random() < 0.4:
            axes = [[], []]
            for axis in range(3):
                if (place := generator.randrange(3)) < 2:
                    axes[place].append(axis)
            tensor.axes = (tuple(axes[0]), tuple(axes[1]))
            tensor.open_dimensions = (generator.random() < 0.5,) * 2
    return tensors, operations


@pytest.mark.parametrize("seed", range(40))
def test_shardings_only_grow_and_stay_legal(
    seed: int, matmul: FactorRule, add: FactorRule, rule: Rules
) -> None:
    generator = random.Random(seed)
    transpose = rule("[i j] -> [j i]", i=16, j=16)
    tensors, operations = random_table(generator, [matmul, add, transpose])
    before = axes_of(tensors)
    Propagation(tensors, operations, (2, 2, 2)).run()
    for old, tensor in zip(before, tensors, strict=True):
        used = [axis for axes in tensor.axes for axis in axes]
        assert len(used) == len(set(used))
        for was, axes, is_open in zip(old, tensor.axes, tensor.open_dimensions, strict=True):
            assert axes[: len(was)] == was
            assert is_open or axes == was
    again = axes_of(tensors)
    Propagation(tensors, operations, (2, 2, 2)).run()
    assert axes_of(tensors) == again
