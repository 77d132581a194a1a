"""Storage sizes by element type, and where we differ from IREE 3.13 on purpose."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.packed_layouts import DYNAMIC_TILE, IDENTITY, LayoutError, PackedLayout
from mesh_opt.tiling.storage_sizes import (
    MAX_SIZE,
    StorageSizeError,
    bit_packed_formula,
    dense_formula,
    padded_formula,
    storage_formula,
)

# Bytes of 16x16 elements; then what IREE 3.13 computes with a resolver that has no tile, with the
# identity resolver, and without an encoding. Where they differ the least that holds the data as
# devices store it is right.
EXCEPTIONS = {
    "i1": (256, 32, 256, 256),  # the device stores a byte: the resolver's 32 is too few
    "i12": (512, 256, 512, 512),  # bits / 8 is truncated
    "i24": (1024, 768, 1024, 1024),
    "i33": (2048, 1024, 2048, 2048),
    "i2": (64, 64, 256, 64),  # the identity resolver wastes
    "i4": (128, 128, 256, 128),
    "f4E2M1FN": (128, 128, 256, 128),
    "f6E3M2FN": (256, None, 256, 256),  # the resolver fails
    "complex<f32>": (2048, None, 2048, 2048),  # the resolver crashes
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(name: str) -> None:
    ours, resolver, identity, plain = EXCEPTIONS[name]
    element = element_type(name)
    assert storage_formula([16, 16], element, IDENTITY).evaluate() == ours
    assert dense_formula([16, 16], element).evaluate() == ours == plain
    assert ours != resolver or ours != identity


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("i8", 8),
        ("i7", 8),
        ("i9", 16),
        ("i65", 128),
        ("si4", 4),
        ("ui16", 16),
        ("f8E5M2", 8),
        ("f8E8M0FNU", 8),
        ("bf16", 16),
        ("tf32", 32),
        ("f80", 128),
        ("complex<f64>", 128),
        ("index", 64),
    ],
)
def test_storage_bits(name: str, bits: int) -> None:
    assert element_type(name).storage_bits == bits


@pytest.mark.parametrize("name", ["i0", "f", "tensor<4xi8>", "complex<i>", "I8", "i08"])
def test_unknown_element_type(name: str) -> None:
    with pytest.raises(ValueError, match="unknown element type"):
        element_type(name)


def test_sub_byte_elements_round_up_once() -> None:
    assert dense_formula([31, 31], element_type("i4")).evaluate() == 481
    assert bit_packed_formula([3, 3], element_type("i1")).evaluate() == 2


def test_dynamic_sizes() -> None:
    layout = PackedLayout((0, 1), (16, 2), (0, 1))
    formula = storage_formula([None, None], element_type("i8"), layout)
    assert not formula.is_static
    assert formula.evaluate([17, 3]) == 32 * 4
    with pytest.raises(StorageSizeError, match="expected 2 dynamic sizes, found 1"):
        formula.evaluate([17])


def test_dynamic_and_scalable_tiles() -> None:
    run_time = PackedLayout((0, 1), (DYNAMIC_TILE, DYNAMIC_TILE), (0, 1))
    assert storage_formula([17, 3], element_type("f32"), run_time).evaluate() == 32 * 16 * 4
    scalable = PackedLayout((0, 1), (8, 1), (0, 1), (True, False))
    formula = storage_formula([17, 3], element_type("f32"), scalable)
    assert formula.evaluate(vector_scale=2) == 32 * 3 * 4
    assert formula.evaluate() == 128 * 3 * 4


def test_padding() -> None:
    assert padded_formula([2048, 4096], element_type("f16"), [0, 64]).evaluate() == 17_039_360


def test_overflow() -> None:
    at_most = MAX_SIZE // 4
    assert dense_formula([at_most], element_type("f32")).evaluate() == at_most * 4
    with pytest.raises(StorageSizeError, match="exceeds"):
        dense_formula([at_most + 1], element_type("f32")).evaluate()


def test_layout_beyond_rank() -> None:
    with pytest.raises(StorageSizeError, match="dimension 1 of a tensor of rank 1"):
        storage_formula([4], element_type("f32"), PackedLayout((1,), (4,)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0,), (1, 2)), "1 inner positions but 2 inner tiles"),
        (((0, 0), (1, 2)), "not unique"),
        (((0,), (0,)), "not all positive"),
        (((0,), (4,), (0, 2)), "not a permutation"),
        (((3,), (4,), (0, 1)), "exceed the rank 2"),
        (((0,), (4,), (0,), (True, False)), "2 scalable flags"),
    ],
)
def test_contradictory_layouts(arguments: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        PackedLayout(*arguments)


def test_packed_shape() -> None:
    layout = PackedLayout((1, 0), (16, 1), (1, 0))
    assert layout.packed_shape([40, 33]) == (3, 40, 16, 1)
    assert layout.packed_shape([None, 33]) == (3, None, 16, 1)
    assert not layout.is_identity
    assert PackedLayout(outer_permutation=(0, 1)).is_identity
