"""Tensors whose dimensions change places: squares in registers, and their edges."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from backend_checks import check, function
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen import cache
from mesh_opt.codegen.host_code import kernel_steps
from mesh_opt.codegen.kernels.equal_kernels import EqualKernels
from mesh_opt.codegen.kernels.moves import transposes as kernels
from mesh_opt.codegen.kernels.moves.permuted_operands import fold_rearranged
from mesh_opt.codegen.kernels.schedule import schedule_block
from mesh_opt.codegen.microkernels import transpose_squares
from mesh_opt.dialects.linalg.structured_view import StructuredView, structured_view
from mesh_opt.runtime.abi.native_code import Native
from xdsl.ir import SSAValue


def reversed_map(rank: int, shape: tuple[int, ...], dimensions: Sequence[int]) -> str:
    indices = [f"d{i} * -1 + {shape[i] - 1}" if i in dimensions else f"d{i}" for i in range(rank)]
    return ", ".join(indices)


def kind(shape: tuple[int, ...], element: str, is_open: bool = False) -> str:
    return f"tensor<{'x'.join([*('?' if is_open else str(each) for each in shape), element])}>"


def transpose(
    shape: tuple[int, ...], permutation: tuple[int, ...], element: str, is_open: bool = False
) -> str:
    source = kind(shape, element, is_open)
    result = kind(tuple(shape[each] for each in permutation), element, is_open)
    return function(
        [source, result],
        result,
        f"""  %0 = linalg.transpose ins(%a0 : {source}) outs(%a1 : {result})
      permutation = {list(permutation)}
  return %0 : {result}""",
    )


@pytest.mark.parametrize(
    ("shape", "permutation", "element"),
    [
        ((37, 50), (1, 0), "f32"),
        ((33, 41), (1, 0), "f64"),
        ((32, 71), (1, 0), "i8"),
        ((40, 33), (1, 0), "i1"),
        ((3, 32, 2, 35), (0, 2, 3, 1), "bf16"),
        ((17, 5, 33), (2, 1, 0), "f32"),
        ((16, 16), (1, 0), "i64"),
        ((5, 3), (1, 0), "f32"),
        # Neighbours that stay together are one dimension.
        ((7, 5, 3, 8), (3, 0, 1, 2), "f32"),
        ((2, 1, 7, 5, 9), (0, 4, 1, 2, 3), "i16"),
        ((4, 1, 70), (2, 1, 0), "f32"),
        ((6, 70), (1, 0), "f64"),
        # The last dimension stays: runs of elements change places.
        ((33, 5, 8), (1, 0, 2), "f32"),
        ((31, 17, 2, 3), (2, 1, 0, 3), "i8"),
        ((9, 3, 67), (1, 0, 2), "f32"),
        ((2, 19, 35, 1), (0, 2, 1, 3), "i1"),
        # Two or three rows are interleaved, or taken apart.
        ((5, 7, 3), (2, 0, 1), "f32"),
        ((3, 9, 15), (1, 2, 0), "f32"),
        ((2, 65, 3), (0, 2, 1), "i8"),
        ((2, 33), (1, 0), "f64"),
        ((4, 3, 31), (0, 2, 1), "bf16"),
        ((37, 2), (1, 0), "complex<f32>"),
        ((3, 4, 40), (2, 1, 0), "f32"),
        ((3, 0, 8), (1, 0, 2), "f32"),
        ((8, 33, 0), (1, 0, 2), "i8"),
        ((0, 3), (1, 0), "f32"),
    ],
)
def test_permutation(shape: tuple[int, ...], permutation: tuple[int, ...], element: str) -> None:
    check(transpose(shape, permutation, element))


@pytest.mark.parametrize(
    ("shape", "permutation", "turned", "element"),
    [
        ((37, 50), (1, 0), (0,), "f32"),
        ((64, 48), (1, 0), (1,), "f32"),
        ((33, 41), (1, 0), (0, 1), "f64"),
        ((1024, 130), (1, 0), (0,), "f32"),  # blocks on the stack
        ((1024, 130), (1, 0), (1,), "f32"),
        ((40, 33), (1, 0), (1,), "i8"),
        ((3, 20, 24), (0, 2, 1), (1, 2), "bf16"),
        ((2, 17, 33), (2, 1, 0), (0, 1), "f32"),
        ((5, 7, 16), (1, 0, 2), (0,), "f32"),
        ((5, 7, 16), (1, 0, 2), (2,), "f32"),
        ((2, 3, 17, 18), (2, 3, 0, 1), (3,), "f32"),
        ((3, 9, 15), (1, 2, 0), (1,), "f32"),
        ((1, 9), (1, 0), (0, 1), "f32"),
        ((0, 9), (1, 0), (1,), "f32"),
    ],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_reversed_dimensions(
    shape: tuple[int, ...],
    permutation: tuple[int, ...],
    turned: tuple[int, ...],
    element: str,
    is_first: bool,
) -> None:
    """A rotated image: some dimensions are reversed before or after they change places."""
    check(rotation(shape, permutation, turned, element, is_first))


def rotation(
    shape: tuple[int, ...],
    permutation: tuple[int, ...],
    turned: tuple[int, ...],
    element: str,
    is_first: bool,
) -> str:
    after = tuple(shape[each] for each in permutation)
    source, result = kind(shape, element), kind(after, element)
    moved = "%0" if is_first else "%a0"
    transposed = f"""  %e = tensor.empty() : {result}
  %1 = linalg.transpose ins({moved} : {source}) outs(%e : {result})
      permutation = {list(permutation)}"""
    sizes, where = (shape, turned) if is_first else (after, [*map(permutation.index, turned)])
    whole = source if is_first else result
    loops = ", ".join(f"d{i}" for i in range(len(shape)))
    reverse = f"""  %f = tensor.empty() : {whole}
  %0 = linalg.generic {{indexing_maps = [
      affine_map<({loops}) -> ({reversed_map(len(shape), sizes, where)})>,
      affine_map<({loops}) -> ({loops})>], iterator_types = {["parallel"] * len(shape)}}}
      ins({"%a0" if is_first else "%1"} : {whole}) outs(%f : {whole}) {{
  ^bb0(%x: {element}, %y: {element}):
    linalg.yield %x : {element}
  }} -> {whole}""".replace("'", '"')
    lines = [reverse, transposed] if is_first else [transposed, reverse]
    end = f"  return {'%1' if is_first else '%0'} : {result}"
    return function([source], result, "\n".join([*lines, end]))


def test_a_rotation_moves_squares() -> None:
    """A reversal and a permutation are one move, of squares in registers."""
    for turned in ((0,), (1,)):
        for is_first in (False, True):
            program = api.compile(rotation((64, 64), (1, 0), turned, "f32", is_first))
            (main,) = program.module.ops
            block, is_end = main.regions[0].block, "func.return".__eq__
            steps = schedule_block(block, is_end, EqualKernels()).steps
            (text,) = [each.kernel for each in steps if each.kernel is not None]
            assert "transpose_4_" in ast.dump(text.function)


STREAMED = [
    (shape, permutation, element)
    for shape, permutation in (
        ((128, 70), (1, 0)),
        ((3, 64, 2, 51), (0, 2, 3, 1)),
        ((192, 128), (1, 0)),
        # Runs of elements, of one streaming store and of several.
        ((64, 3, 41, 16), (2, 1, 0, 3)),
        ((36, 5, 48), (1, 0, 2)),
    )
    for element in ("f32", "f64", "i8")
]


@pytest.mark.parametrize(("shape", "permutation", "element"), sampled(STREAMED, 2))
def test_streamed(
    shape: tuple[int, ...],
    permutation: tuple[int, ...],
    element: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large results go past the caches, in whole lines."""
    monkeypatch.setattr(kernels, "MIN_STREAMED_BYTES", 0)
    check(transpose(shape, permutation, element))


@pytest.mark.parametrize(
    ("shape", "element"),
    [
        ((512, 70), "f32"),
        ((1024, 262), "f32"),
        ((256, 37), "f64"),
        ((1024, 600), "bf16"),
        ((512, 300), "i8"),
        ((128, 49), "complex<f64>"),
        ((1024, 20), "f32"),
    ],
)
def test_rows_that_put_each_other_out(shape: tuple[int, int], element: str) -> None:
    """Rows of a result are 2 or 4 KB apart: blocks of it are put together on the stack."""
    check(transpose(shape, (1, 0), element))


@pytest.mark.parametrize(
    ("permutation", "shapes"),
    [
        ((1, 0), [(0, 20), (20, 0), (1, 1), (15, 17), (70, 131)]),
        # The length of what stays together may be open, too.
        ((1, 0, 2), [(3, 4, 0), (1, 20, 5), (9, 17, 33), (40, 3, 1)]),
        # Dimensions that stay neighbours count as one, whose size is a product of open sizes.
        ((2, 0, 1), [(0, 3, 5), (1, 20, 70), (9, 17, 33), (40, 3, 70)]),
    ],
    ids=["rows", "runs", "neighbours"],
)
def test_open_sizes(permutation: tuple[int, ...], shapes: list[tuple[int, ...]]) -> None:
    """One kernel for all sizes."""
    rng = np.random.default_rng(0)
    several = [
        [rng.integers(-9, 9, each).astype(np.float32) for each in (shape, turned)]
        for shape in shapes
        for turned in [tuple(shape[dimension] for dimension in permutation)]
    ]
    check(transpose(shapes[0], permutation, "f32", is_open=True), *several)


def test_bits_of_special_numbers() -> None:
    """A copy keeps the payload of a NaN and the sign of a zero."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, (24, 40), dtype=np.uint32)
    bits[::3] |= 0x7F800001
    check(transpose((24, 40), (1, 0), "i32"), [bits.view(np.int32), np.zeros((40, 24), np.int32)])


def test_one_after_the_other() -> None:
    """Two permutations are one copy; one of a part that nobody stores has plain loops."""
    a, b, c = (kind(shape, "f32") for shape in ((3, 20, 24), (24, 3, 20), (24, 20, 3)))
    text = function(
        [a, b, c],
        f"{c}, {b}",
        f"""  %0 = linalg.transpose ins(%a0 : {a}) outs(%a1 : {b}) permutation = [2, 0, 1]
  %1 = linalg.transpose ins(%0 : {b}) outs(%a2 : {c}) permutation = [0, 2, 1]
  %2 = math.absf %a0 : {a}
  %3 = linalg.transpose ins(%2 : {a}) outs(%a1 : {b}) permutation = [2, 0, 1]
  return %1, %3 : {c}, {b}""",
    )
    check(text)


SQUARES = {128: [16, 8, 4, 2], 256: [16, 16, 8, 4], 512: [16, 16, 16, 8]}
"""By the width of vectors: the sides for elements of 1, 2, 4 and 8 bytes."""


@pytest.mark.parametrize("bits", SQUARES)
def test_squares_fill_vectors(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transpose_squares, "vector_bits", lambda: bits)
    assert [transpose_squares.square_of(size) for size in (1, 2, 4, 8)] == SQUARES[bits]


def folded(
    name: str, shapes: Sequence[str], body: str
) -> tuple[StructuredView, Sequence[SSAValue]]:
    """Check a program whose last argument is the result's initial value.

    Return its product after folding, and the arguments.
    """
    kinds = [f"tensor<{each}xf32>" for each in shapes]
    text = function(kinds, kinds[-1], body)
    check(text)
    block = api.compile(text).module.body.block.first_op.regions[0].block
    product = next(each for each in block.ops if each.name == name)
    view = fold_rearranged(structured_view(product), lambda value: value not in block.args)
    return view, block.args


PRODUCT = """  %e = tensor.empty() : tensor<70x130xf32>
  %t = linalg.transpose ins(%a0 : tensor<130x70xf32>) outs(%e : tensor<70x130xf32>)
    permutation = [1, 0]
  %0 = linalg.matmul ins(%t, %a1 : tensor<70x130xf32>, tensor<130x90xf32>)
    outs(%a2 : tensor<70x90xf32>) -> tensor<70x90xf32>
  return %0 : tensor<70x90xf32>"""


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["in panels", "in registers"])
def test_products_read_what_is_transposed(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transposed operand is not stored, and its elements are found to lie side by side."""
    monkeypatch.setattr(kernel_steps, "MIN_PANEL_PRODUCT", least)
    view, arguments = folded("linalg.matmul", ("130x70", "130x90", "70x90"), PRODUCT)
    assert view.inputs[0] is arguments[0]
    assert str(view.maps[0]) == "(d0, d1, d2) -> (d2, d0)"


BATCH = """  %e = tensor.empty() : tensor<130x90xf32>
  %t = linalg.transpose ins(%a1 : tensor<90x130xf32>) outs(%e : tensor<130x90xf32>)
    permutation = [1, 0]
  %f = tensor.empty() : tensor<7x130x90xf32>
  %b = linalg.broadcast ins(%t : tensor<130x90xf32>) outs(%f : tensor<7x130x90xf32>)
    dimensions = [0]
  %0 = linalg.batch_matmul ins(%a0, %b : tensor<7x5x130xf32>, tensor<7x130x90xf32>)
    outs(%a2 : tensor<7x5x90xf32>) -> tensor<7x5x90xf32>
  return %0 : tensor<7x5x90xf32>"""


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["in panels", "in registers"])
def test_a_matrix_for_a_batch_is_read_once(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `torch.export` writes a linear layer: the batch becomes rows of one product."""
    monkeypatch.setattr(kernel_steps, "MIN_PANEL_PRODUCT", least)
    view, arguments = folded("linalg.batch_matmul", ("7x5x130", "90x130", "7x5x90"), BATCH)
    assert view.inputs[1] is arguments[1]
    assert str(view.maps[1]) == "(d0, d1, d2, d3) -> (d2, d3)"


def test_a_broadcast_gives_the_terms_of_a_sum() -> None:
    """No other operand determines how many there are."""
    body = """  %e = tensor.empty() : tensor<9x40xf32>
  %b = linalg.broadcast ins(%a0 : tensor<40xf32>) outs(%e : tensor<9x40xf32>) dimensions = [0]
  %0 = linalg.reduce { arith.addf } ins(%b : tensor<9x40xf32>) outs(%a1 : tensor<40xf32>)
    dimensions = [0]
  return %0 : tensor<40xf32>"""
    check(function(["tensor<40xf32>", "tensor<40xf32>"], "tensor<40xf32>", body))


@pytest.mark.parametrize(
    ("shape", "permutation", "element", "is_open"),
    [
        ((70, 131), (1, 0), "f32", False),
        ((70, 131), (1, 0), "f32", True),
        ((33, 40), (1, 0), "f64", True),
        ((140, 130), (1, 0), "i8", False),
        ((65, 3, 2, 66), (3, 2, 1, 0), "f32", False),
        ((5, 70, 66), (0, 2, 1), "bf16", False),
    ],
)
def test_with_arithmetic(
    shape: tuple[int, ...], permutation: tuple[int, ...], element: str, is_open: bool
) -> None:
    """A step of a gradient: what is computed from a transposed tensor and others at the element."""
    source = kind(shape, element, is_open)
    result = kind(tuple(shape[each] for each in permutation), element, is_open)
    form = "i" if element[0] == "i" else "f"
    text = function(
        [source, source, result],
        f"{result}, {result}",
        f"""  %0 = linalg.transpose ins(%a0 : {source}) outs(%a2 : {result})
      permutation = {list(permutation)}
  %1 = linalg.transpose ins(%a1 : {source}) outs(%a2 : {result})
      permutation = {list(permutation)}
  %2 = arith.mul{form} %0, %a2 : {result}
  %3 = arith.sub{form} %2, %1 : {result}
  %4 = arith.add{form} %0, %0 : {result}
  return %3, %4 : {result}, {result}""",
    )
    rng = np.random.default_rng(0)
    numpy_type = {"bf16": ml_dtypes.bfloat16, "f32": "f4", "f64": "f8", "i8": "i1"}[element]
    shapes = (shape, shape, tuple(shape[each] for each in permutation))
    check(text, [rng.integers(-9, 9, each).astype(numpy_type) for each in shapes])


def test_blocks_of_bytes_are_loops_over_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 squares of shuffles in a row took LLVM 13 seconds."""
    texts: list[str] = []
    original = cache.compile_sources

    def compile_sources(sources: Sequence[cache.FunctionSource]) -> list[Native]:
        texts.extend(each.key for each in sources)
        return original(sources)

    monkeypatch.setattr(cache, "compile_sources", compile_sources)
    test_with_arithmetic((140, 130), (1, 0), "i8", False)
    assert sum("transpose_1" in text for text in texts) == 2
    assert max(text.count("transpose_1") for text in texts) == 2
