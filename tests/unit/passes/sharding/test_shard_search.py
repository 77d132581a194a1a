"""Known answers are found without hints, and no plan over a small program is better."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from breadth import cases, sampled
from llama import llama
from mesh_opt.api import compile
from mesh_opt.benchmarks.program_costs import collective_bytes
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.ir.diagnostics import Remark, remarks_to
from mesh_opt.passes.sharding.cost.program_cost import Cost
from mesh_opt.passes.sharding.propagation.graph import build_graph
from mesh_opt.passes.sharding.search.candidates import program_cost
from mesh_opt.passes.sharding.search.plans import Key, enough_of
from mesh_opt.passes.sharding.search.problem_of import searched_program
from mesh_opt.passes.sharding.shard_annotate import ShardAnnotatePass
from mesh_opt.passes.sharding.shard_search import ShardSearchPass, factorizations
from mesh_opt.passes.sharding.spmd import SpmdPass
from mesh_opt.sharding.machine_presets import PRESETS
from parsing import parse_program
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp


def context() -> Context:
    found = Context()
    register_dialects(found)
    return found


def searched(text: str, **options: object) -> tuple[ModuleOp, dict[str, str]]:
    """The annotated program, and how its arguments and values are placed, by their names."""
    module = parse_program(text)
    remarks: list[Remark] = []
    with remarks_to(remarks.append):
        ShardSearchPass(**options).apply(context(), module)  # pyright: ignore
    placed: dict[str, str] = {}
    for remark in remarks:
        if " is placed " in remark.message:
            name, _, rest = remark.message.partition(" is placed ")
            placed[name] = rest.partition("]]")[0] + "]]"
    return module, placed


def cost_of(module: ModuleOp, machine: str = "gpu-host") -> Cost:
    SpmdPass().apply(context(), module)
    return program_cost(module, PRESETS[machine])


def predictions(module: ModuleOp, **options: object) -> tuple[float, float, float]:
    """The time of the plan as predicted and when partitioned, and the programs partitioned."""
    remarks: list[Remark] = []
    with remarks_to(remarks.append):
        ShardSearchPass(**options).apply(context(), module)  # pyright: ignore
    (quality,) = (note.message for note in remarks[0].notes if "integer program" in note.message)
    form = r"predicts (\S+) [mu]s; partitioned it is (\S+) [mu]s; (\d+) programs"
    found = re.search(form, quality)
    assert found is not None
    predicted, partitioned, programs = map(float, found.groups())
    return predicted, partitioned, programs


def names(cost: Cost) -> dict[str, int]:
    found: dict[str, int] = {}
    for (name, _), (count, _) in cost.collectives.items():
        found[name] = found.get(name, 0) + count
    return found


# One token of each of two sequences, on four devices: there are not enough rows to split.
MLP = """
func.func @main(%x: tensor<2x1024xf32>, %w1: tensor<1024x4096xf32>, %w2: tensor<4096x1024xf32>)
    -> tensor<2x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4096xf32>) -> tensor<2x4096xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<2x1024xf32>, tensor<1024x4096xf32>)
    outs(%f : tensor<2x4096xf32>) -> tensor<2x4096xf32>
  %a = math.tanh %h : tensor<2x4096xf32>
  %d = tensor.empty() : tensor<2x1024xf32>
  %g = linalg.fill ins(%zero : f32) outs(%d : tensor<2x1024xf32>) -> tensor<2x1024xf32>
  %y = linalg.matmul ins(%a, %w2 : tensor<2x4096xf32>, tensor<4096x1024xf32>)
    outs(%g : tensor<2x1024xf32>) -> tensor<2x1024xf32>
  return %y : tensor<2x1024xf32>
}
"""


def with_whole_ends(text: str) -> str:
    """The program with an input and a result that are whole on all devices."""
    module = parse_program(text)
    ends = {"args": ("x:[[]]",), "results": ("0:[[]]",)}
    ShardAnnotatePass(grid="4", **ends).apply(context(), module)  # pyright: ignore
    return str(module)


def local_shapes(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """The shapes of the arguments of a partitioned program."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    return {
        str(argument.name_hint): argument.type.get_shape()  # pyright: ignore
        for argument in function.body.blocks[0].args
    }


def test_megatron_splits_columns_and_then_rows_of_an_mlp() -> None:
    module, _ = searched(with_whole_ends(MLP), grid="4", objective="bytes")
    assert names(cost_of(module)) == {"shard.all_reduce": 1}
    assert local_shapes(module) == {"x": (2, 1024), "w1": (1024, 1024), "w2": (1024, 1024)}


def test_megatron_splits_heads_of_attention() -> None:
    sizes = {"batch": 1, "tokens": 8, "width": 512, "heads": 8, "hidden": 2048}
    text = with_whole_ends(llama(1, **sizes))
    # The limit is less than what it takes to have a whole matrix beside the shards of the others.
    module, placed = searched(text, grid="4", memory="5MB")
    # Two annotations say it all: columns follow from rows.
    assert placed == {"%wo0": "[[0], []]", "%w2": "[[0], []]"}
    assert names(cost_of(module)) == {"shard.all_reduce": 2}
    shapes = local_shapes(module)
    assert {shapes[f"w{each}0"] for each in "qkv"} == {(512, 128)}
    assert shapes["wo0"] == (128, 512)
    assert shapes["w2"] == shapes["w1"] == (512, 512)


CONVOLUTIONS = """
func.func @main(%x: tensor<16x18x18x8xf32>, %w1: tensor<3x3x8x16xf32>,
    %w2: tensor<3x3x16x16xf32>) -> tensor<16x14x14x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16x16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16x16x16xf32>) -> tensor<16x16x16x16xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w1 : tensor<16x18x18x8xf32>, tensor<3x3x8x16xf32>)
    outs(%f : tensor<16x16x16x16xf32>) -> tensor<16x16x16x16xf32>
  %2 = arith.maximumf %1, %f : tensor<16x16x16x16xf32>
  %d = tensor.empty() : tensor<16x14x14x16xf32>
  %g = linalg.fill ins(%zero : f32) outs(%d : tensor<16x14x14x16xf32>) -> tensor<16x14x14x16xf32>
  %3 = linalg.conv_2d_nhwc_hwcf ins(%2, %w2 : tensor<16x16x16x16xf32>, tensor<3x3x16x16xf32>)
    outs(%g : tensor<16x14x14x16xf32>) -> tensor<16x14x14x16xf32>
  return %3 : tensor<16x14x14x16xf32>
}
"""


@pytest.mark.parametrize("objective", sampled(["time", "bytes"], 2))
def test_a_convolutional_network_is_data_parallel(objective: str) -> None:
    module, placed = searched(CONVOLUTIONS, grid="8", objective=objective)
    assert placed == {"%x": "[[0], [], [], []]"}
    assert cost_of(module).sent == 0


def test_weights_are_split_and_gathered_under_a_memory_limit() -> None:
    sizes = {"batch": 32, "tokens": 128, "width": 256, "heads": 4, "hidden": 1024}
    text = llama(2, **sizes)
    module, placed = searched(text, grid="8")
    assert placed == {"%x": "[[0], [], []]"}
    whole = cost_of(module)
    assert whole.sent == 0
    module, placed = searched(text, grid="8", memory=f"{0.8 * whole.peak}B")
    assert any(name.startswith("%w") for name in placed)
    limited = cost_of(module)
    assert limited.peak <= 0.8 * whole.peak
    assert set(names(limited)) == {"shard.all_gather"}
    assert local_shapes(module)["x"] == (4, 128, 256)


def test_norms_between_split_products_are_split_by_tokens() -> None:
    """Of Megatron's weights, which are given, follows what is called sequence parallelism."""
    sizes = {"batch": 1, "tokens": 64, "width": 128, "heads": 8, "hidden": 512}
    module = parse_program(llama(1, **sizes))
    columns = tuple(f"{name}:[[],[0]]" for name in ("wq0", "wk0", "wv0", "w1", "w3"))
    ShardAnnotatePass(grid="4", args=(*columns, "wo0:[[0]]", "w2:[[0]]")).apply(context(), module)
    ShardSearchPass(grid="4", objective="bytes").apply(context(), module)
    cost = cost_of(module)
    assert names(cost) == {"shard.all_gather": 2, "shard.reduce_scatter": 2}
    assert local_shapes(module)["x"] == (1, 16, 128)


def test_repeated_layers_are_decided_once() -> None:
    sizes = {"batch": 1, "tokens": 8, "width": 512, "heads": 8, "hidden": 2048}
    graphs = [
        build_graph(parse_program(llama(count, **sizes)), everything=True) for count in (1, 2, 8)
    ]
    one, two, eight = map(searched_program, graphs)
    assert one.repetitions == 0
    assert two.repetitions == len(one.relations)
    assert len(eight.problem.operations) == len(two.problem.operations) == len(one.relations)
    assert len(eight.problem.tensors) == len(two.problem.tensors)
    weights = [each for each in eight.problem.tensors if each.shape == (2048, 512)]
    assert [each.count for each in weights] == [8]
    assert weights[0].is_argument


def test_results_that_move_are_annotated_for_their_users() -> None:
    """Keys are made by rows and read by heads: the producer keeps its rows, and the keys move."""
    options = {"grid": "4x4", "machine": "cpu-cluster"}
    predicted, partitioned, programs = predictions(parse_program(llama(2)), **options)
    assert partitioned <= predicted
    # Most annotations of the plan are left out without partitioning anything.
    assert programs < 12


def test_annotations_that_propagation_makes_up_for_are_left_out() -> None:
    graph = build_graph(parse_program(MLP), everything=True)
    program = searched_program(graph)
    names = {str(value.name_hint): node for node, value in enumerate(program.values)}
    whole = ((), ())
    plan = {
        Key(program.tensors[names[name]]): axes
        for name, axes in {
            "x": whole,
            "w1": ((), (0,)),
            "h": ((), (0,)),
            "a": ((), (0,)),
            "w2": ((0,), ()),
            "y": whole,
        }.items()
    }
    assert enough_of(program, plan, (4,)) == {Key(program.tensors[names["w1"]]): ((), (0,))}
    assert enough_of(program, {}, (4,)) == {}


def test_grids_of_a_number_of_devices() -> None:
    assert list(factorizations(8, ordered=False)) == [(8,), (2, 4), (2, 2, 2)]
    assert list(factorizations(12, ordered=True)) == [
        (12,),
        *((2, 6), (3, 4), (4, 3), (6, 2)),
        *((2, 2, 3), (2, 3, 2), (3, 2, 2)),
    ]
    text = """func.func @main(%x: tensor<6x2xf32>) -> tensor<6x2xf32> {
      %y = math.exp %x : tensor<6x2xf32>
      return %y : tensor<6x2xf32>
    }"""
    # Neither dimension alone has enough to split for four.
    module, _ = searched(text, devices=4, objective="bytes")
    assert "shape = 2x2" in str(module)
    assert cost_of(module).work == 3


def test_a_program_of_loops_and_calls() -> None:
    text = """
    func.func private @layer(%x: tensor<64x16xf32>, %w: tensor<16x16xf32>) -> tensor<64x16xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<64x16xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
      %y = linalg.matmul ins(%x, %w : tensor<64x16xf32>, tensor<16x16xf32>)
        outs(%f : tensor<64x16xf32>) -> tensor<64x16xf32>
      return %y : tensor<64x16xf32>
    }
    func.func @main(%x: tensor<64x16xf32>, %w: tensor<16x16xf32>) -> tensor<64x16xf32> {
      %low = arith.constant 0 : index
      %high = arith.constant 5 : index
      %step = arith.constant 1 : index
      %r = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (tensor<64x16xf32>) {
        %b = func.call @layer(%a, %w)
          : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
        scf.yield %b : tensor<64x16xf32>
      }
      return %r : tensor<64x16xf32>
    }
    """
    module, _ = searched(text, grid="4", objective="bytes")
    cost = cost_of(module)
    assert cost.sent == 0
    assert cost.work == 5 * 2 * 64 * 16 * 16 / 4


def test_turns_of_a_loop_are_priced_as_in_the_partitioned_program() -> None:
    text = """
    shard.grid @g(shape = 4)
    func.func @main(%x: tensor<640x160xf32>, %w: tensor<160x160xf32>) -> tensor<640x160xf32> {
      %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
      %whole = shard.sharding @g split_axes = [[]] : !shard.sharding
      %low = arith.constant 0 : index
      %high = arith.constant 5 : index
      %step = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<640x160xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<640x160xf32>) -> tensor<640x160xf32>
      %r = scf.for %turn = %low to %high step %step iter_args(%a = %x) -> (tensor<640x160xf32>) {
        %b = shard.shard %a to %columns : tensor<640x160xf32>
        %c = linalg.matmul ins(%b, %w : tensor<640x160xf32>, tensor<160x160xf32>)
          outs(%f : tensor<640x160xf32>) -> tensor<640x160xf32>
        %d = shard.shard %c to %whole : tensor<640x160xf32>
        %g = math.exp %d : tensor<640x160xf32>
        %h = math.tanh %g : tensor<640x160xf32>
        %i = shard.shard %h to %whole : tensor<640x160xf32>
        %j = math.absf %i : tensor<640x160xf32>
        %k = shard.shard %j to %whole : tensor<640x160xf32>
        scf.yield %k : tensor<640x160xf32>
      }
      return %r : tensor<640x160xf32>
    }
    """
    predicted, partitioned, _ = predictions(parse_program(text), grid="4")
    assert predicted == partitioned


@pytest.mark.parametrize(
    "text",
    [
        "func.func @main(%a: i32) -> i32 { return %a : i32 }",
        "func.func private @main(tensor<4xf32>)",
        """func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
             %y = math.exp %x : tensor<0x4xf32>
             return %y : tensor<0x4xf32>
           }""",
        """func.func @main(%c: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
             cf.cond_br %c, ^a(%x: tensor<8xf32>), ^b(%x: tensor<8xf32>)
           ^a(%y: tensor<8xf32>):
             %z = math.exp %y : tensor<8xf32>
             cf.br ^b(%z : tensor<8xf32>)
           ^b(%r: tensor<8xf32>):
             return %r : tensor<8xf32>
           }""",
        """func.func @main() -> tensor<8xf32> {
             %c = arith.constant dense<1.0> : tensor<8xf32>
             return %c : tensor<8xf32>
           }""",
    ],
    ids=["scalars", "declaration", "nothing", "blocks", "constants"],
)
def test_programs_with_little_to_decide(text: str) -> None:
    module, _ = searched(text, grid="4")
    cost_of(module)


# Small programs, on which every way to annotate the arguments can be tried.


def random_program(number: int) -> str:
    """Up to eight operations on a few matrices."""
    generator = random.Random(number)
    size = generator.choice((8, 16))
    kind = f"tensor<{size}x{size}xf32>"
    count = generator.randint(1, 3)
    values = [f"%a{index}" for index in range(count)]
    lines = [
        f"func.func @main({', '.join(f'{each}: {kind}' for each in values)}) -> {kind} {{",
        "  %zero = arith.constant 0.0 : f32",
        f"  %e = tensor.empty() : {kind}",
        f"  %f = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}",
    ]
    for index in range(generator.randint(1, 4)):
        one, other = generator.choice(values), generator.choice(values)
        name = f"%v{index}"
        lines.append(
            generator.choice(
                (
                    f"  {name} = linalg.matmul ins({one}, {other} : {kind}, {kind})"
                    f" outs(%f : {kind}) -> {kind}",
                    f"  {name} = linalg.transpose ins({one} : {kind}) outs(%e : {kind})"
                    " permutation = [1, 0]",
                    f"  {name} = arith.addf {one}, {other} : {kind}",
                    f"  {name} = math.tanh {one} : {kind}",
                )
            )
        )
        values.append(name)
    return "\n".join([*lines, f"  return {values[-1]} : {kind}", "}"])


def all_annotations(text: str, placements: Sequence[str]) -> Iterator[tuple[str, ...]]:
    count = text.count(": tensor<", 0, text.index("->"))
    for chosen in product(placements, repeat=count):
        yield tuple(f"a{index}:{axes}" for index, axes in enumerate(chosen))


def score(cost: Cost) -> float:
    """What `objective=bytes` minimises."""
    return cost.sent + 0.1 * cost.work


@pytest.mark.parametrize("number", cases(2, 100))
def test_no_way_to_annotate_the_arguments_is_better(number: int) -> None:
    text = random_program(number)
    best = float("inf")
    for arguments in all_annotations(text, ("[[],[]]", "[[0],[]]", "[[],[0]]")):
        module = parse_program(text)
        ShardAnnotatePass(grid="4", args=arguments).apply(context(), module)
        best = min(best, score(cost_of(module)))
    module, _ = searched(text, grid="4", objective="bytes")
    assert score(cost_of(module)) <= best * 1.001


@pytest.mark.parametrize("number", cases(2, 300))
def test_random_programs_compute_what_they_did(number: int) -> None:
    generator = random.Random(number)
    text = random_program(1000 + number)
    grid = generator.choice(("4", "2x2", "2x4"))
    objective = generator.choice(("time", "bytes"))
    machine = generator.choice(("gpu-host", "cpu-cluster"))
    options = f"grid={grid} objective={objective} machine={machine}"
    program = compile(text, f"shard-search{{{options}}},spmd", backend="interpreter")
    random_numbers = np.random.default_rng(number)
    inputs = [
        random_numbers.standard_normal((kind.get_shape()), dtype=np.float32)  # pyright: ignore
        for kind in program["main"].argument_types
    ]
    assert all(difference.agrees for difference in program["main"].check(*inputs))
    # What the report predicts is what the collectives of the program send.
    function = next(op for op in program.module.walk() if isinstance(op, FuncOp))
    assert program["main"].cost().sent == pytest.approx(collective_bytes(function))


def test_stablehlo_is_converted_before_it_is_priced() -> None:
    text = """
    func.func @main(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
      return %y : tensor<64x8xf32>
    }
    """
    module, _ = searched(text, grid="4", objective="bytes")
    assert cost_of(module).work == pytest.approx(2 * 64 * 16 * 8 / 4)
