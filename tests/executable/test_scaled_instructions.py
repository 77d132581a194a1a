"""Products of block-scaled factors on matrix instructions: `inner_tiled` computes what they are."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.runtime.abi.values import dtype_of
from xdsl.dialects.builtin import StringAttr

MAPS = ("(m, g, i)", "(n, g, i)", "(m, g)", "(n, g)", "(m, n)")
MATERIALIZE = "iree-codegen-materialize-device-encoding"


def target(instruction: str, element: str) -> str:
    return (
        '#hal.executable.target<"rocm", "x", {iree.encoding.resolver ='
        " #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch ="
        ' "gfx950", features = "", wgp = <compute = fp32, storage = b32, subgroup = none,'
        f" scaled_mma = [<intrinsic = {instruction}, lhs_elem_type = {element}, rhs_elem_type ="
        f" {element}, acc_elem_type = f32>], subgroup_size_choices = [64], max_workgroup_sizes ="
        " [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes ="
        " 65536, max_workgroup_counts = [1, 1, 1], max_load_instruction_bits = 128, simds_per_wgp"
        " = 4, wgp_count = 1, vgpr_space_bits = 16384>>}>"
    )


def program(sizes: tuple[int, int, int, int], instruction: str, element: str) -> str:
    """Encode five tensors, multiply the factors with their scales, and decode the result."""
    extent = dict(zip("mngi", map(str, sizes), strict=True))
    types = (element, element, "f8E8M0FNU", "f8E8M0FNU", "f32")
    shapes = ["x".join(extent[loop] for loop in map_[1:-1].split(", ")) for map_ in MAPS]
    plain = [f"tensor<{shape}x{type_}>" for shape, type_ in zip(shapes, types, strict=True)]
    encoded = [f"{one[:-1]}, #e{index}>" for index, one in enumerate(plain)]
    maps = ", ".join(f"affine_map<(m, n, g, i) -> {map_}>" for map_ in MAPS)
    encodings = "\n".join(
        f"#e{index} = #iree_encoding.encoding<operand_index = {index}, op_type = scaled_matmul,"
        f" element_types = [{', '.join(types)}], user_indexing_maps = [{maps}], iteration_sizes ="
        f" [{', '.join(map(str, sizes))}]>"
        for index in range(5)
    )
    sets = "\n".join(
        f"%e{index} = iree_encoding.set_encoding %a{index} : {one} -> {encoded[index]}"
        for index, one in enumerate(plain)
    )
    arguments = ", ".join(f"%a{index}: {one}" for index, one in enumerate(plain))
    return f"""
{encodings}
func.func @main({arguments}) -> {plain[-1]} attributes {{hal.executable.target =
    {target(instruction, element)}}} {{
  {sets}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel",
    "reduction", "reduction"]}} ins(%e0, %e1, %e2, %e3 : {", ".join(encoded[:-1])})
    outs(%e4 : {encoded[-1]}) {{
  ^bb0(%x: {element}, %y: {element}, %s: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %x, %s : {element}, f8E8M0FNU to f32
    %1 = arith.scaling_extf %y, %t : {element}, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  }} -> {encoded[-1]}
  %d = iree_encoding.unset_encoding %r : {encoded[-1]} -> {plain[-1]}
  return %d : {plain[-1]}
}}"""


@pytest.mark.parametrize(
    ("sizes", "instruction", "element"),
    [
        ((70, 37, 9, 32), "MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN"),
        ((200, 130, 17, 32), "MFMA_SCALE_F32_32x32x64_B32", "f8E5M2"),
        ((5, 300, 3, 20), "MFMA_SCALE_F32_16x16x128_B32", "f8E4M3FN"),
    ],
    ids=["16x16", "32x32", "short_blocks"],
)
def test_scaled_product(sizes: tuple[int, int, int, int], instruction: str, element: str) -> None:
    text = program(sizes, instruction, element)
    reference = compile(text, "")
    tiled = compile(text, MATERIALIZE)
    used = [operation.name for operation in tiled.module.walk()]
    assert used.count("iree_codegen.inner_tiled") == 1
    assert not any(name.startswith("iree_encoding.") for name in used)
    numbers = np.random.default_rng(0)
    types = [
        operand.type.element_type
        for operand in next(one for one in reference.module.walk() if one.name == "func.func")
        .regions[0]
        .blocks[0]
        .args
    ]
    m, n, g, i = sizes
    arrays = [
        numbers.integers(-2, 3, shape).astype(dtype_of(type_))
        for shape, type_ in zip([(m, g, i), (n, g, i)], types[:2], strict=True)
    ]
    arrays += [
        (2.0 ** numbers.integers(-2, 3, shape)).astype(dtype_of(type_))
        for shape, type_ in zip([(m, g), (n, g)], types[2:4], strict=True)
    ]
    arrays.append(numbers.integers(-2, 3, (m, n)).astype(np.float32))
    (wanted,) = reference["main"].run(arrays)
    (found,) = tiled["main"].run(arrays)
    np.testing.assert_array_equal(found, wanted)


def test_text_of_a_tile() -> None:
    """The operation names its instruction as IREE does."""
    text = program((16, 16, 16, 32), "MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN")
    module = compile(text, MATERIALIZE).module
    (product,) = (one for one in module.walk() if one.name == "iree_codegen.inner_tiled")
    kind = product.properties["kind"]
    assert isinstance(kind.description, StringAttr)
    assert kind.description.data == (
        "intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type ="
        " f4E2M1FN, acc_elem_type = f32, intrinsics_k = 4,"
        " operands_interleaving_intrinsics_k = [2, 3]"
    )
