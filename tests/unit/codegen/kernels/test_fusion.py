"""Which operations share a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen import cache as kernel_cache
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.kernels.fusion import plan_block
from mesh_opt.codegen.kernels.loop_nests import share_linear_index
from xdsl.ir import SSAValue

MODELS = Path(__file__).parents[3] / "cases" / "models"


def kernels(body: str, arguments: str, result: str) -> list[str]:
    """The operations at the roots of a function's kernels."""
    return [names[-1] for names in stored(body, arguments, result)]


def stored(body: str, arguments: str, result: str) -> list[list[str]]:
    """For each kernel of a function, the operations whose results it stores; its root is last."""
    text = f"func.func @main({arguments}) -> ({result}) {{\n{body}\n  return %r : {result}\n}}"
    program = api.compile(text)
    (function,) = program.module.ops
    plan = plan_block(function.regions[0].block)
    found = [plan.kernels[op] for op in function.regions[0].block.ops if op in plan.kernels]
    return [[result.owner.name for result in results] for results in found]


MATRIX = "tensor<4x5xf32>"


def test_a_chain_is_one_kernel() -> None:
    body = f"""
  %0 = math.exp %a : {MATRIX}
  %1 = arith.mulf %0, %0 : {MATRIX}
  %2 = arith.addf %1, %a : {MATRIX}
  %r = math.tanh %2 : {MATRIX}"""
    assert kernels(body, f"%a: {MATRIX}", MATRIX) == ["math.tanh"]


REDUCED = """
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.reduce { arith.addf } ins(%d : KIND) outs(%f : tensor<64xf32>) dimensions = [1]
  %e1 = tensor.empty() : KIND
  %b1 = linalg.broadcast ins(%s : tensor<64xf32>) outs(%e1 : KIND) dimensions = [1]
  %r = arith.mulf %d, %b1 : KIND"""


def repeated(operation: str, kind: str = "tensor<64x96xf32>", given: str = "") -> list[str]:
    """What the kernels of a sum along rows of %d and a product of %d with it store besides."""
    body = f"""
  %e0 = tensor.empty() : {kind}
  %b0 = linalg.broadcast ins(%m : tensor<64xf32>) outs(%e0 : {kind}) dimensions = [1]
  {operation}{REDUCED.replace("KIND", kind)}"""
    found = stored(body, f"%a: {given or kind}, %c: {kind}, %m: tensor<64xf32>", kind)
    assert [names[-1] for names in found[-2:]] == ["linalg.reduce", "arith.mulf"]
    return [name for names in (*found[:-2], found[-2][:-1]) for name in names]


def test_short_operations_are_repeated_rather_than_stored() -> None:
    kind, narrow = "tensor<64x96xf32>", "tensor<64x96xbf16>"
    assert repeated(f"%d = arith.subf %a, %b0 : {kind}") == []
    assert repeated(f"%d = arith.extf %a : {narrow} to {kind}", given=narrow) == []
    assert repeated(f"%d = arith.subf %a, %c : {kind}") == ["arith.subf"]
    assert repeated(f"%d = math.exp %a : {kind}") == ["math.exp"]
    wide = "tensor<64x96xf64>"
    assert repeated(f"%d = arith.truncf %a : {wide} to {kind}", given=wide) == ["arith.truncf"]


SCALED = """  %f0 = arith.mulf %a, %c : KIND
  %d = math.exp %f0 : KIND"""


@pytest.mark.parametrize(
    ("lines", "kind", "is_joined"),
    [
        (SCALED, "tensor<64x96xf32>", True),
        (SCALED, "tensor<64x96xf64>", True),
        # Other loops suit transposed tensors; short rows fill no vectors.
        (
            """  %e2 = tensor.empty() : KIND
  %t = linalg.transpose ins(%a : KIND) outs(%e2 : KIND) permutation = [1, 0]
  %d = arith.divf %t, %c : KIND""",
            "tensor<64x64xf32>",
            False,
        ),
        (SCALED, "tensor<64x8xf32>", False),
        # The kernel of the sum comes too late.
        (SCALED + "\n  %q = tensor.extract %d[%i, %i] : KIND", "tensor<64x96xf32>", False),
    ],
)
def test_the_kernel_of_a_sum_stores_its_terms(lines: str, kind: str, is_joined: bool) -> None:
    """The powers of a softmax are written as they are added up."""
    reduced = REDUCED.replace("f32", kind[-4:-1])
    if "%q" in lines:
        reduced += "\n  %u = arith.addf %q, %q : f32"
    body = f"  %i = arith.constant 0 : index\n{lines}{reduced}".replace("KIND", kind)
    found = stored(body, f"%a: {kind}, %c: {kind}", kind)
    name = "arith.divf" if "divf" in lines else "math.exp"
    joined = [[name, "linalg.reduce"], ["arith.mulf"]]
    assert found == (joined if is_joined else [[name], ["linalg.reduce"], ["arith.mulf"]])


CLAMPED = """  %c0 = arith.constant 0 : index
  %c15 = arith.constant 15 : index
  %l = arith.maxsi %i, %c0 : index
  %at = arith.minsi %l, %c15 : index
  %s = tensor.extract_slice SLICE : tensor<32x16xf32> to KIND
  %r = arith.addf %s, %b : KIND"""


@pytest.mark.parametrize(
    ("slice_", "kind", "is_fused"),
    [
        ("%a[0, %at] [32, 1] [1, 1]", "tensor<32xf32>", True),
        ("%a[0, %at] [32, 1] [1, 1]", "tensor<32x1xf32>", True),
        # A row lies in memory as it is; another offset may be out of bounds, which the host tells.
        ("%a[%at, 0] [1, 16] [1, 1]", "tensor<16xf32>", False),
        ("%a[0, %l] [32, 1] [1, 1]", "tensor<32xf32>", False),
        ("%a[0, %at] [32, 2] [1, 1]", "tensor<32x2xf32>", False),
    ],
)
def test_a_column_at_a_clamped_place_is_read_where_it_is(
    slice_: str, kind: str, is_fused: bool
) -> None:
    text = CLAMPED.replace("SLICE", slice_).replace("KIND", kind)
    arguments = f"%a: tensor<32x16xf32>, %b: {kind}, %i: index"
    program = api.compile(
        f"func.func @main({arguments}) -> {kind} {{\n{text}\n  return %r : {kind}\n}}"
    )
    (function,) = program.module.ops
    block = function.regions[0].block
    plan = plan_block(block)
    (slice_operation,) = [each for each in block.ops if each.name == "tensor.extract_slice"]
    assert (slice_operation.results[0] in plan.fused) == is_fused


def test_what_a_convolution_adds_to_is_not_stored() -> None:
    """Its sums begin at a number."""
    image, result = "tensor<1x9x9x16xf32>", "tensor<1x9x9x8xf32>"
    body = f"""
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%z : f32) outs(%e : {result}) -> {result}
  %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : {image}, tensor<1x1x16x8xf32>)
    outs(%f : {result}) -> {result}"""
    arguments = f"%a: {image}, %b: tensor<1x1x16x8xf32>"
    assert kernels(body, arguments, result) == ["linalg.conv_2d_nhwc_hwcf"]


def test_a_product_reads_a_concatenation_from_memory() -> None:
    """It would choose the part of each element again for every product."""
    half, whole, result = "tensor<8x16xf32>", "tensor<8x32xf32>", "tensor<8x64xf32>"
    body = f"""
  %c = tensor.concat dim(1) %a, %b : ({half}, {half}) -> {whole}
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%z : f32) outs(%e : {result}) -> {result}
  %r = linalg.matmul ins(%c, %w : {whole}, tensor<32x64xf32>) outs(%f : {result}) -> {result}"""
    given = f"%a: {half}, %b: {half}, %w: tensor<32x64xf32>"
    assert kernels(body, given, result) == ["tensor.concat", "linalg.matmul"]


def test_a_step_of_a_scan_is_stored() -> None:
    """Two slices of its concatenation are read: each step would be computed twice in the next."""
    row, most, one = "tensor<9xf32>", "tensor<8xf32>", "tensor<1xf32>"
    steps: list[str] = []
    for now, after in (("a", "b"), ("b", "c"), ("c", "r")):
        steps += [
            f"%{now}0 = tensor.extract_slice %{now}[0] [8] [1] : {row} to {most}",
            f"%{now}1 = tensor.extract_slice %{now}[1] [8] [1] : {row} to {most}",
            f"%{now}2 = arith.maximumf %{now}0, %{now}1 : {most}",
            f"%{now}3 = tensor.extract_slice %{now}[0] [1] [1] : {row} to {one}",
            f"%{after} = tensor.concat dim(0) %{now}3, %{now}2 : ({one}, {most}) -> {row}",
        ]
    found = kernels("\n".join(steps), f"%a: {row}", row)
    assert found == ["tensor.concat", "arith.maximumf", "tensor.concat"]


def test_shared_value_is_stored_once() -> None:
    """The exponential is read by a reduction and by what follows from its result."""
    body = f"""
  %z = arith.constant 0.0 : f32
  %0 = math.exp %a : {MATRIX}
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce {{ arith.addf }} ins(%0 : {MATRIX}) outs(%f : tensor<4xf32>) dimensions = [1]
  %g = tensor.empty() : {MATRIX}
  %b = linalg.broadcast ins(%s : tensor<4xf32>) outs(%g : {MATRIX}) dimensions = [1]
  %r = arith.divf %0, %b : {MATRIX}"""
    assert kernels(body, f"%a: {MATRIX}", MATRIX) == ["math.exp", "linalg.reduce", "arith.divf"]


def test_readers_of_a_value_share_a_kernel() -> None:
    """One kernel stores three results of a sum, which it keeps in registers."""
    body = f"""
  %0 = arith.addf %a, %a : {MATRIX}
  %1 = math.exp %0 : {MATRIX}
  %2 = arith.mulf %0, %a : {MATRIX}
  %r = arith.subf %0, %2 : {MATRIX}"""
    results = f"{MATRIX}, {MATRIX}"
    text = f"func.func @main(%a: {MATRIX}) -> ({results}) {{{body}\n  return %1, %r : {results}\n}}"
    program = api.compile(text)
    (function,) = program.module.ops
    block = function.regions[0].block
    plan = plan_block(block)
    (root,) = plan.kernels
    _, exp, _, last, _ = block.ops
    assert root is last
    assert plan.kernels[root] == (exp.results[0], last.results[0])
    a = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)
    for found, wanted in zip(program.main.run([a]), program.main.reference([a]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


ROWS = """
  %x = tensor.extract_slice %a[0, 0] [1, N] [1, 1] : tensor<2xNxf32> to tensor<Nxf32>
  %1 = math.exp %x : tensor<Nxf32>
  BETWEEN
  %y = tensor.extract_slice %a[1, 0] [1, N] [1, 1] : tensor<2xNxf32> to tensor<Nxf32>
  %2 = arith.mulf %y, %x : tensor<Nxf32>"""


@pytest.mark.parametrize(
    ("size", "between", "count"),
    [
        (64, "%e = arith.addi %i, %i : index", 1),
        (64, "%r = func.call @f(%1) : (tensor<64xf32>) -> tensor<64xf32>", 2),
        (64, "%e = tensor.insert %z into %b[%i] : tensor<64xf32>", 2),
        (8192, "", 2),
    ],
)
def test_small_results_that_read_one_tensor_share_a_kernel(
    size: int, between: str, count: int
) -> None:
    """Not if one is read before the other could be, or a tensor would live while it is updated."""
    rest = "%e" if "insert" in between else "%b"
    text = f"""func.func private @f(%a: tensor<64xf32>) -> tensor<64xf32> {{
  return %a : tensor<64xf32>
}}
func.func @main(%a: tensor<2xNxf32>, %b: tensor<Nxf32>, %i: index)
    -> (tensor<Nxf32>, tensor<Nxf32>, tensor<Nxf32>) {{
  %z = arith.constant 2.0 : f32{ROWS.replace("BETWEEN", between)}
  return %1, %2, {rest} : tensor<Nxf32>, tensor<Nxf32>, tensor<Nxf32>
}}"""
    program = api.compile(re.sub(r"\bN\b|(?<=[<x])N(?=x)", str(size), text))
    block = list(program.module.ops)[-1].regions[0].block
    found = [each for each in plan_block(block).kernels if each.name in ("math.exp", "arith.mulf")]
    assert len(found) == count
    values = np.linspace(-1, 1, 2 * size, dtype=np.float32).reshape(2, size)
    given = [values, values[0], np.int64(3)]
    for got, want in zip(program.main.run(given), program.main.reference(given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    "reader",
    [
        "%m = linalg.matmul ins(%1, %b : T, T) outs(%b : T) -> T",
        "%m = linalg.transpose ins(%1 : T) outs(%b : T) permutation = [1, 0]",
        "%c = func.call @f(%1) : (T) -> T\n  %m = arith.addf %c, %c : T",
    ],
)
def test_kernels_stay_apart(reader: str) -> None:
    """The exponential is read before the other reader of the sum could store it."""
    body = """
  %0 = arith.addf %a, %b : T
  %1 = math.exp %0 : T
  READER
  %r = arith.subf %0, %m : T"""
    body = body.replace("READER", reader)
    text = f"""func.func private @f(%a: T) -> T {{
  return %a : T
}}
func.func @main(%a: T, %b: T) -> T {{{body}
  return %r : T
}}"""
    program = api.compile(text.replace("T", "tensor<4x4xf32>"))
    *_, function = program.module.ops
    plan = plan_block(function.regions[0].block)
    assert "arith.addf" in [root.name for root in plan.kernels]
    a = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    for found, wanted in zip(program.main.run([a, a]), program.main.reference([a, a]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_an_expensive_element_is_not_computed_again_for_every_use() -> None:
    """A broadcast would evaluate the square root five times."""
    body = f"""
  %0 = math.sqrt %a : tensor<4xf32>
  %g = tensor.empty() : {MATRIX}
  %b = linalg.broadcast ins(%0 : tensor<4xf32>) outs(%g : {MATRIX}) dimensions = [1]
  %r = arith.divf %b, %b : {MATRIX}"""
    assert kernels(body, "%a: tensor<4xf32>", MATRIX) == ["math.sqrt", "arith.divf"]


def test_shifted_slices_of_a_value_do_not_repeat_it() -> None:
    body = """
  %0 = math.exp %a : tensor<8xf32>
  %1 = tensor.extract_slice %0[0] [6] [1] : tensor<8xf32> to tensor<6xf32>
  %2 = tensor.extract_slice %0[2] [6] [1] : tensor<8xf32> to tensor<6xf32>
  %r = arith.addf %1, %2 : tensor<6xf32>"""
    assert kernels(body, "%a: tensor<8xf32>", "tensor<6xf32>") == ["math.exp", "arith.addf"]


def test_dead_operations_have_no_kernel() -> None:
    body = f"  %0 = math.exp %a : {MATRIX}\n  %r = math.sin %a : {MATRIX}"
    assert kernels(body, f"%a: {MATRIX}", MATRIX) == ["math.sin"]


@pytest.mark.parametrize(("name", "most"), [("mlp", 3), ("transformer_block", 38)])
def test_models_have_few_kernels(name: str, most: int) -> None:
    program = api.compile(MODELS / f"{name}.mlir")
    compiled = CompiledProgram(program.module)
    stored = np.load(MODELS / f"{name}.npz")
    compiled.run("main", [stored[f"in{i}"] for i in range(len(stored.files) - 1)])
    assert compiled.device_statistics[0].dispatches <= most


def test_equal_kernels_are_compiled_once() -> None:
    """Two layers of the same shape: the second costs no compilation."""
    text = """
func.func @main(%a: tensor<3x7xf32>, %b: tensor<3x7xf32>) -> (tensor<3x7xf32>, tensor<3x7xf32>) {
  %0 = math.exp %a : tensor<3x7xf32>
  %1 = math.exp %b : tensor<3x7xf32>
  return %0, %1 : tensor<3x7xf32>, tensor<3x7xf32>
}"""
    compiled = CompiledProgram(api.compile(text).module)
    zeros = np.zeros((3, 7), np.float32)
    compiled.run("main", [zeros, zeros])
    before = len(kernel_cache._loaded)
    CompiledProgram(api.compile(text).module).run("main", [zeros, zeros])
    assert len(kernel_cache._loaded) == before
    assert compiled.device_statistics[0].dispatches == 2


def test_shared_operand_is_visited_once() -> None:
    """Each of 16 sums adds a value to itself: there are 2^16 ways to the argument."""
    lines = ["%v0 = math.absf %a : tensor<4xf32>"]
    lines += [f"%v{n} = arith.addf %v{n - 1}, %v{n - 1} : tensor<4xf32>" for n in range(1, 17)]
    text = "\n  ".join(lines)
    type_ = "tensor<4xf32>"
    text = f"func.func @main(%a: {type_}) -> {type_} {{\n  {text}\n  return %v16 : {type_}\n}}"
    (function,) = api.compile(text).module.ops
    asked: list[SSAValue] = []

    def is_fused(value: SSAValue) -> bool:
        asked.append(value)
        return True

    last = function.regions[0].block.last_op
    assert last is not None
    assert share_linear_index(last.operands, is_fused)
    assert len(asked) < 100


def test_operands_that_a_result_may_overwrite_are_in_the_order_of_reading() -> None:
    """Which memory is used again must not depend on the addresses of Python objects."""
    text = f"""
func.func @main(%a: {MATRIX}, %b: {MATRIX}, %c: {MATRIX}) -> {MATRIX} {{
  %0 = arith.addf %c, %a : {MATRIX}
  %r = arith.mulf %0, %b : {MATRIX}
  return %r : {MATRIX}
}}"""
    (function,) = api.compile(text).module.ops
    block = function.regions[0].block
    (aligned,) = plan_block(block).aligned.values()
    a, b, c = block.args
    assert [each for each in aligned if each in block.args] == [b, c, a]


def test_an_integer_of_constants_is_a_constant_of_its_kernels() -> None:
    """So a division by it is no division; each kernel computes it again."""
    kind = "tensor<9xi32>"
    body = f"""
  %seven = arith.constant 7 : i64
  %c = arith.trunci %seven : i64 to i32
  %e = tensor.empty() : {kind}
  %d = linalg.fill ins(%c : i32) outs(%e : {kind}) -> {kind}
  %r = arith.remsi %a, %d : {kind}"""
    text = f"func.func @main(%a: {kind}) -> ({kind}) {{\n{body}\n  return %r : {kind}\n}}"
    (function,) = api.compile(text).module.ops
    block = function.regions[0].block
    plan = plan_block(block)
    assert [each.name for each in plan.host] == ["func.return"]
    assert [each.name for each in plan.kernels] == ["arith.remsi"]
    (root,) = plan.kernels
    assert share_linear_index(root.results, plan.fused.__contains__)


def test_an_index_of_constants_is_a_constant_of_bodies_alone() -> None:
    """The host checks the slice, and needs its own index for that."""
    kind = "tensor<9xi32>"
    text = f"""
func.func @main(%a: {kind}, %n: index) -> ({kind}, tensor<4xi32>) {{
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %low = arith.minsi %one, %two : index
  %at = arith.addi %low, %two : index
  %e = tensor.empty() : {kind}
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      outs(%e : {kind}) {{
  ^bb0(%old: i32):
    %i = linalg.index 0 : index
    %x = arith.addi %i, %low : index
    %m = arith.minsi %x, %two : index
    %y = tensor.extract %a[%m] : {kind}
    linalg.yield %y : i32
  }} -> {kind}
  %s = tensor.extract_slice %a[%at] [4] [1] : {kind} to tensor<4xi32>
  return %r, %s : {kind}, tensor<4xi32>
}}"""
    assert host_arithmetic(text) == ["arith.minsi", "arith.addi"]
    text = text.replace("%s = tensor.extract_slice %a[%at]", "%s = tensor.extract_slice %a[%n]")
    assert host_arithmetic(text) == []
    found, part = api.compile(text).main(np.arange(9, dtype=np.int32), np.int64(5))
    assert found.tolist() == [1, *[2] * 8]
    assert part.tolist() == [5, 6, 7, 8]


def host_arithmetic(text: str) -> list[str]:
    """The operations of `arith` in a function that run on the host, without constants."""
    (function,) = api.compile(text).module.ops
    block = function.regions[0].block
    host = [each.name for each in block.ops if each in plan_block(block).host]
    return [each for each in host if each.startswith("arith.") and each != "arith.constant"]


REFLECTED = """
func.func @main(%a: tensor<5x6x7xf32>) -> tensor<5x9x11xf32> {
  %0 = stablehlo.slice %a [0:5, 0:6, 1:3] : (tensor<5x6x7xf32>) -> tensor<5x6x2xf32>
  %1 = stablehlo.reverse %0, dims = [2] : tensor<5x6x2xf32>
  %2 = stablehlo.slice %a [0:5, 0:6, 4:6] : (tensor<5x6x7xf32>) -> tensor<5x6x2xf32>
  %3 = stablehlo.reverse %2, dims = [2] : tensor<5x6x2xf32>
  %4 = stablehlo.concatenate %1, %a, %3, dim = 2
    : (tensor<5x6x2xf32>, tensor<5x6x7xf32>, tensor<5x6x2xf32>) -> tensor<5x6x11xf32>
  %5 = stablehlo.slice %4 [0:5, 1:3, 0:11] : (tensor<5x6x11xf32>) -> tensor<5x2x11xf32>
  %6 = stablehlo.reverse %5, dims = [1] : tensor<5x2x11xf32>
  %7 = stablehlo.slice %4 [0:5, 4:5, 0:11] : (tensor<5x6x11xf32>) -> tensor<5x1x11xf32>
  %8 = stablehlo.reverse %7, dims = [1] : tensor<5x1x11xf32>
  %r = stablehlo.concatenate %6, %4, %8, dim = 1
    : (tensor<5x2x11xf32>, tensor<5x6x11xf32>, tensor<5x1x11xf32>) -> tensor<5x9x11xf32>
  return %r : tensor<5x9x11xf32>
}"""


def test_images_that_are_reflected_at_their_edges_are_one_kernel() -> None:
    """Reversed rows are read once, like others: nothing between is stored."""
    program = api.compile(REFLECTED)
    (function,) = program.module.ops
    assert len(plan_block(function.regions[0].block).kernels) == 1
    values = np.arange(5 * 6 * 7, dtype=np.float32).reshape(5, 6, 7)
    expected = np.pad(values, ((0, 0), (2, 1), (2, 2)), "reflect")
    np.testing.assert_array_equal(program["main"](values), expected)
