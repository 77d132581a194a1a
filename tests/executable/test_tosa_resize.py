"""Images resized by tosa, against the loops of the specification, whole and on split images."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api
from mesh_opt.runtime.abi.errors import CompilationError, ExecutionError

Array = np.ndarray[Any, Any]
ELEMENTS = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16}
WIDE = {"f32": "f32", "f64": "f64", "i8": "i32", "i16": "i48"}


def program(
    element: str,
    image: tuple[int, ...],
    result: tuple[int, ...],
    numbers: Any,
    mode: str,
    axes: str,
) -> str:
    scale, offset, border = numbers
    source = "x".join(map(str, image)) + f"x{element}"
    target = "x".join(map(str, result)) + f"x{WIDE[element] if mode == 'BILINEAR' else element}"
    return f"""
    shard.grid @g(shape = 2x2)
    func.func @main(%x: tensor<{source}>) -> tensor<{target}> {{
      %s = shard.sharding @g split_axes = {axes} : !shard.sharding
      %a = shard.shard %x to %s : tensor<{source}>
      %scale = tosa.const_shape {{values = dense<{scale}> : tensor<4xindex>}} : () -> !tosa.shape<4>
      %offset = tosa.const_shape {{values = dense<{offset}> : tensor<2xindex>}}
          : () -> !tosa.shape<2>
      %border = tosa.const_shape {{values = dense<{border}> : tensor<2xindex>}}
          : () -> !tosa.shape<2>
      %y = tosa.resize %a, %scale, %offset, %border {{mode = {mode}}} : (tensor<{source}>,
          !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<{target}>
      return %y : tensor<{target}>
    }}"""


def by_loops(image: Array, result: tuple[int, ...], numbers: Any, mode: str) -> Array:
    """RESIZE of TOSA 1.0, element by element."""
    (up_y, down_y, up_x, down_x), (offset_y, offset_x), _ = numbers
    is_float = image.dtype.kind == "f"
    made = np.zeros(result, image.dtype if is_float or mode != "BILINEAR" else np.int64)
    for oy in range(result[1]):
        for ox in range(result[2]):
            y, x = oy * down_y + offset_y, ox * down_x + offset_x
            iy, ix = y // up_y, x // up_x
            dy, dx = y - iy * up_y, x - ix * up_x
            y0, y1 = max(iy, 0), min(iy + 1, image.shape[1] - 1)
            x0, x1 = max(ix, 0), min(ix + 1, image.shape[2] - 1)
            if mode == "NEAREST_NEIGHBOR":
                row, column = (y1 if 2 * dy >= up_y else y0), (x1 if 2 * dx >= up_x else x0)
                made[:, oy, ox] = image[:, row, column]
                continue
            corners = [image[:, r, c].astype(made.dtype) for r in (y0, y1) for c in (x0, x1)]
            heights, widths = (up_y - dy, dy), (up_x - dx, dx)
            terms = [h * w for h in heights for w in widths]
            total = sum(c * t for c, t in zip(corners, terms, strict=True))
            made[:, oy, ox] = total / (up_y * up_x) if is_float else total
    return made


def numbers_for(draw: random.Random, extents: tuple[int, int]) -> tuple[Any, list[int]]:
    """A scale, an offset and a border that are allowed, and the sizes that they give."""
    scale: list[int] = []
    offset: list[int] = []
    border: list[int] = []
    sizes: list[int] = []
    for extent in extents:
        up, down = draw.randint(1, 6), draw.randint(1, 4)
        first = draw.randint(-up, up)
        reach = (extent - 1) * up - first
        behind = min(-reach % down, up - 1)
        while reach + behind < 0 or (reach + behind) % down:
            behind -= 1
            if reach + behind < 0:
                return numbers_for(draw, extents)
        scale += [up, down]
        offset.append(first)
        border.append(behind)
        sizes.append((reach + behind) // down + 1)
    return (scale, offset, border), sizes


@pytest.mark.parametrize("seed", cases(6, 200))
@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_random_images(seed: int, backend: Any) -> None:
    draw = random.Random(seed)
    element = list(ELEMENTS)[seed % 4]
    image = (2, draw.randint(1, 7), draw.randint(1, 7), 4)
    numbers, sizes = numbers_for(draw, image[1:3])
    result = (2, *sizes, 4)
    mode = draw.choice(["NEAREST_NEIGHBOR", "BILINEAR"])
    axes = draw.choice(["[[0], [], [], [1]]", "[[0, 1]]", "[[], [], [], [0]]"])
    if axes == "[[0, 1]]":
        image, result = (4, *image[1:]), (4, *result[1:])
    values = np.random.default_rng(seed).integers(-100, 101, image).astype(ELEMENTS[element])
    text = program(element, image, result, numbers, mode, axes)
    found = api.compile(text, "spmd", backend=backend)["main"](values)
    np.testing.assert_allclose(found, by_loops(values, result, numbers, mode), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (([0, 1, 2, 1], [0, 0], [0, 0]), "expect all scale values to be > 0, got 0, 1, 2, 1"),
        (
            ([2, 1, 4, 3], [0, 0], [0, 0]),
            "expected .* to be wholly divisible by scale_d, got 8 / 3",
        ),
        (([2, 1, 4, 2], [0, 0], [1, 0]), "output height did not match expected: calculated=6"),
        (([2, 1, 2, 1], [-3, 0], [-3, 0]), "outside of the image"),
    ],
)
def test_invalid_resizes(numbers: Any, message: str) -> None:
    text = program("f32", (2, 3, 3, 4), (2, 5, 5, 4), numbers, "BILINEAR", "[[]]")
    with pytest.raises((CompilationError, ExecutionError), match=message):
        api.compile(text, "")["main"](np.zeros((2, 3, 3, 4), np.float32))


def test_a_table_of_16_bits_is_read_between_its_entries() -> None:
    text = """
    func.func @main(%x: tensor<4xi16>, %t: tensor<513xi16>) -> tensor<4xi32> {
      %y = tosa.table %x, %t : (tensor<4xi16>, tensor<513xi16>) -> tensor<4xi32>
      return %y : tensor<4xi32>
    }"""
    table = (np.arange(513) * 3 - 700).astype(np.int16)
    values = np.array([-32768, -1, 130, 32767], np.int16)
    found = api.compile(text, "")["main"](values, table)
    # Entry 256 is for 0, and entries are 128 apart: the table is 3 * (256 + x / 128) - 700.
    np.testing.assert_array_equal(found, 3 * (256 * 128 + values.astype(int)) - 700 * 128)
