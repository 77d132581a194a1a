"""Every sharded program among the cases, compiled whole, computes what it did before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY, is_sampled, sampled
from case_checks import assert_agree, random_inputs
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.abi.compare import compare

CASES = Path(__file__).parents[1] / "cases"
MEANINGLESS = {"70_axis_out_of_range"}
TEXTS = {
    f"{file.stem}-{position}": text
    for folder in ("shard", "shard_more", "partition")
    for file in sorted((CASES / folder).glob("*.mlir"))
    if file.stem not in MEANINGLESS
    for position, text in enumerate(file.read_text().split("// -----\n"))
}
PROGRAMS = [pytest.param(text, id=name) for name, text in TEXTS.items()]
COMMENT = re.compile(r"//(?! Collectives).*")
WORD = re.compile(r"(?<![%@#\w])(?:[a-z]+[._][\w.]+|b?f16|f64|i\d+|index)")
"""Operations, attributes, collectives and elements other than `f32`."""


def various(texts: dict[str, str]) -> Iterator[pytest.ParameterSet]:
    """Each program with a word that no program before it has, and every eighth of the others; in
    `make nightly` all."""
    seen: set[str] = set()
    like_others = 0
    for name, text in texts.items():
        words = set(WORD.findall(COMMENT.sub("", text)))
        is_new = not words <= seen
        seen |= words
        if is_new or is_sampled(like_others, 8):
            yield pytest.param(text, id=name)
        like_others += not is_new


TILED = "builtin.module(compile{host-layouts=true})"
PLAIN = "builtin.module(compile{data-tiling=false})"


@pytest.mark.parametrize("text", list(various(TEXTS)))
def test_case(text: str) -> None:
    """On threads; some by the interpreter, too."""
    check(text, TILED)


@pytest.mark.parametrize("text", sampled(PROGRAMS, 8))
def test_untiled_case(text: str) -> None:
    """By the interpreter."""
    check(text, PLAIN)


def check(text: str, pipeline: str) -> None:
    program = api.compile(text, pipeline)
    on_threads = pipeline == TILED and "complex<" not in text
    compiled = CompiledProgram(program.module) if on_threads else None
    for name in program.functions:
        function = program[name]
        inputs = random_inputs(function)
        expected = function.reference(inputs)
        results: list[Sequence[np.ndarray]] = []
        if compiled is None or is_sampled(len(text), 5):
            results.append(function.run(inputs, "interpreter"))
        if compiled is not None:
            results.append(compiled.run_partitioned(name, inputs))
        for found in results:
            assert_agree(found, expected)
    if compiled is not None:
        compiled.close()


SIZES = """
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<?x?xf32>
  %xt = shard.shard %xs to %t annotate_for_users : tensor<?x?xf32>
  %y = tosa.tanh %xt : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %yr = shard.shard %y to %r : tensor<?x?xf32>
  %z = tosa.add %xs, %xs : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %yr, %z : tensor<?x?xf32>, tensor<?x?xf32>
}
"""


def test_sizes_that_only_the_processes_together_know() -> None:
    function = api.compile(SIZES, "compile")["f"]
    for shape in ((4, 6), (3, 5), (7, 3), (1, 1)):
        inputs = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
        expected = function.reference(inputs)
        for backend in ("interpreter", "native"):
            assert_agree(function.run(inputs, backend), expected, (shape, backend))


CONTROL_FLOW = {
    "a branch around a reshard": """
  %c = arith.cmpi sgt, %n, %c1 : index
  cf.cond_br %c, ^a(%xs : T), ^b(%y : T)
^a(%p: T):
  %pt = shard.shard %p to %t : T
  %q = math.tanh %pt : T
  cf.br ^b(%q : T)
^b(%r: T):""",
    "a loop of blocks": """
  cf.br ^head(%c0, %xs : index, T)
^head(%i: index, %a: T):
  %c = arith.cmpi slt, %i, %n : index
  cf.cond_br %c, ^body, ^end
^body:
  %b = arith.addf %a, %y : T
  %bt = shard.shard %b to %t : T
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %bt : index, T)
^end:
  %r = math.absf %a : T""",
    "an early return": """
  %c = arith.cmpi sgt, %n, %c1 : index
  cf.cond_br %c, ^a, ^b
^a:
  return %xs : T
^b:
  %r = math.tanh %y : T""",
    "a call of several blocks": """
  %r = func.call @blocks(%xs, %y, %n) : (T, T, index) -> T""",
    "a function that calls itself": """
  %r = func.call @again(%xs, %n) : (T, index) -> T""",
    "a reshard in a while loop": """
  %r, %j = scf.while (%a = %xs, %i = %c0) : (T, index) -> (T, index) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %a, %i : T, index
  } do {
  ^bb0(%a: T, %i: index):
    %b = arith.addf %a, %y : T
    %bt = shard.shard %b to %t : T
    %k = arith.addi %i, %c1 : index
    scf.yield %bt, %k : T, index
  }""",
}
FRAME = """
shard.grid @g(shape = 2)
func.func private @blocks(%x: T, %y: T, %n: index) -> T {
  %c1 = arith.constant 1 : index
  %c = arith.cmpi sgt, %n, %c1 : index
  cf.cond_br %c, ^a, ^b
^a:
  %z = arith.mulf %x, %y : T
  return %z : T
^b:
  return %y : T
}
func.func private @again(%x: T, %n: index) -> T {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = arith.cmpi sgt, %n, %c0 : index
  %r = scf.if %c -> (T) {
    %y = arith.addf %x, %x : T
    %m = arith.subi %n, %c1 : index
    %z = func.call @again(%y, %m) : (T, index) -> T
    scf.yield %z : T
  } else {
    scf.yield %x : T
  }
  return %r : T
}
func.func @main(%x: T, %y: T, %n: index) -> T {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : T
BODY
  return %r : T
}
"""


TENSORS = ("tensor<7x4xf32>", "tensor<?x4xf32>")
ROWS = [(name, tensor) for name in CONTROL_FLOW for tensor in TENSORS]
# In turn of a known and an unknown size.
ROWS = [row for place, row in enumerate(ROWS) if NIGHTLY or place % 4 in (1, 2)]


@pytest.mark.parametrize(("name", "tensor"), ROWS)
def test_control_flow_around_unequal_shares(name: str, tensor: str) -> None:
    text = re.sub(r"\bT\b", tensor, FRAME.replace("BODY", CONTROL_FLOW[name]))
    function = api.compile(text, "compile")["main"]
    generator = np.random.default_rng(2)
    arrays = [generator.standard_normal((7, 4)).astype(np.float32) for _ in range(2)]
    for number in (0, 3):
        inputs = [*arrays, np.asarray(number, np.int64)]
        (expected,) = function.reference(inputs)
        for backend in ("interpreter", "native"):
            (found,) = function.run(inputs, backend)
            assert compare(found, expected).agrees, (backend, number)
