"""Packing arrays: against `linalg.pack`'s definition, back and forth, and down to bytes."""

import ml_dtypes
import numpy as np
import pytest
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.packed_arrays import from_bytes, pack, packed_extents, to_bytes, unpack
from mesh_opt.tiling.packed_layouts import (
    DYNAMIC_TILE,
    IDENTITY,
    PackedLayout,
    Swizzle,
    SwizzleDimension,
)

SWIZZLED = PackedLayout(
    (0, 1),
    (4, 6),
    (0, 1),
    swizzle=Swizzle(
        (
            (SwizzleDimension("CrossThread", 2), SwizzleDimension("Internal", 2)),
            (SwizzleDimension("CrossIntrinsic", 3), SwizzleDimension("Internal", 2)),
        ),
        (2, 0, 3, 1),
    ),
)
LAYOUTS = [
    IDENTITY,
    PackedLayout((0, 1), (4, 1), (0, 1)),
    PackedLayout((1, 0), (4, 3), (1, 0)),
    PackedLayout((1,), (2,), (1, 0)),
    PackedLayout((0, 1), (DYNAMIC_TILE, DYNAMIC_TILE), (0, 1)),
    PackedLayout((0, 1), (2, 1), (0, 1), scalable=(True, False)),
    SWIZZLED,
]


def test_pack_puts_elements_where_linalg_pack_does() -> None:
    array = np.arange(5 * 7).reshape(5, 7)
    packed = pack(array, PackedLayout((1, 0), (4, 2), (1, 0)), padding=-1)
    assert packed.shape == (2, 3, 4, 2)
    for i, j in np.ndindex(8, 6):
        expected = array[j, i] if i < 7 and j < 5 else -1
        assert packed[i // 4, j // 2, i % 4, j % 2] == expected


def test_swizzled_factors_are_permuted() -> None:
    array = np.arange(24).reshape(4, 6)
    packed = pack(array, SWIZZLED)
    assert packed.shape == (1, 1, 3, 2, 2, 2)
    for i, j in np.ndindex(4, 6):
        assert packed[0, 0, j // 2, i // 2, j % 2, i % 2] == array[i, j]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (16, 32), (0, 3)])
def test_unpack_undoes_pack(layout: PackedLayout, shape: tuple[int, int]) -> None:
    array = np.arange(shape[0] * shape[1]).reshape(shape)
    packed = pack(array, layout)
    assert packed.shape == packed_extents(shape, layout)
    np.testing.assert_array_equal(unpack(packed, layout, shape), array)


def test_a_layout_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="tiles dimension 1"):
        pack(np.zeros(3), PackedLayout((1,), (2,)))
    with pytest.raises(ValueError, match="the packed array has"):
        unpack(np.zeros((2, 2)), PackedLayout((0, 1), (2, 2), (0, 1)), (3, 3))


@pytest.mark.parametrize(
    ("name", "dtype", "numbers"),
    [
        ("i1", np.bool_, [True, False, True]),
        ("i2", np.int8, [-2, 1, 0, -1, 1]),
        ("i4", np.int8, [-8, 7, -1]),
        ("ui4", np.uint8, [15, 7, 0]),
        ("i3", np.int8, [-4, 3, -1]),
        ("i12", np.int16, [-2048, 2047, -1]),
        ("i24", np.int32, [-(1 << 23), (1 << 23) - 1]),
        ("i33", np.int64, [-(1 << 32), (1 << 32) - 1]),
        ("index", np.int64, [-1, 1 << 40]),
        ("bf16", ml_dtypes.bfloat16, [1.5, -2.0]),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn, [1.5, -2.0]),
        ("f4E2M1FN", ml_dtypes.float4_e2m1fn, [1.5, -2.0, 6.0]),
        ("complex<f32>", np.complex64, [1 + 2j, -3j]),
    ],
)
def test_elements_survive_their_bytes(name: str, dtype: type, numbers: list[float]) -> None:
    element = element_type(name)
    array = np.array(numbers).astype(dtype)
    data = to_bytes(array, element)
    assert data.size == -(-len(numbers) * element.storage_bits // 8)
    restored = from_bytes(data, element, array.dtype, len(numbers))
    assert restored.dtype == array.dtype
    np.testing.assert_array_equal(restored, array)


def test_small_elements_start_at_the_low_bits() -> None:
    assert to_bytes(np.array([1, 2, -1], np.int8), element_type("i4")).tolist() == [0x21, 0x0F]
    bits = to_bytes(np.array([True, False, True]), element_type("i1"), storage_bits=1)
    assert bits.tolist() == [0b101]


def test_bits_above_the_width_do_not_matter() -> None:
    data = np.array([0xFF, 0xFF], np.uint8)
    assert from_bytes(data, element_type("i12"), np.dtype(np.int16), 1).tolist() == [-1]
    assert from_bytes(data, element_type("i1"), np.dtype(np.bool_), 2).tolist() == [True, True]
