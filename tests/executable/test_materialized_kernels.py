"""Kernels mean the same once their encodings are packed tensors, whatever their bindings hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from breadth import covering, sampled
from mesh_opt.api import CompilationError, compile
from mesh_opt.ir.symbols import defined_name
from mesh_opt.runtime.abi.errors import ExecutionError

MAPS = """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
"""
TARGETS = {
    "avx512": 'target_triple = "x86_64-none-elf", cpu_features = "+avx512f",'
    " iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>",
    "instructions": 'target_triple = "x86_64-none-elf", cpu_features = "+avx512f",'
    " enable_inner_tiled = true, iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>",
    "vmvx": 'ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>',
    "plain": "",
}
GPU = (
    "iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info ="
    ' #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32,'
    " subgroup = shuffle, mma = [<MFMA_F32_16x16x4_F32>, <MFMA_F32_16x16x16_F16>,"
    " <MFMA_I32_16x16x32_I8>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024,"
    " 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536,"
    " max_workgroup_counts = [2147483647, 2147483647, 2147483647], max_load_instruction_bits ="
    " 128, simds_per_wgp = 4, vgpr_space_bits = 16384>>"
)


def layout(positions: str, tiles: str, order: str, swizzle: str = "") -> str:
    return (
        "#iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {"
        f"innerDimsPos = {positions}, innerTileSizes = {tiles}, outerDimsPerm = {order}{swizzle}"
        "}}>]>"
    )


SWIZZLE = (
    ', swizzle = {expandShape = [[["CrossThread", 4 : i16], ["Internal", 2 : i16]],'
    ' [["CrossIntrinsic", 2 : i16]]], permutation = [2, 0, 1]}'
)
LAYOUTS = {
    "rows": None,
    "own": layout("[0, 1]", "[16, 1]", "[0, 1]"),
    "other": layout("[0, 1]", "[3, 2]", "[0, 1]"),
    "columns": layout("[1, 0]", "[2, 5]", "[1, 0]"),
    "swizzled": layout("[0, 1]", "[8, 2]", "[0, 1]", SWIZZLE),
}


def program(bound: str | None, target: str, dynamic: bool, load: str = "") -> str:
    """`encode` to the binding's layout, then a kernel that multiplies what it finds there."""
    m, k, n = ("?", "?", "?") if dynamic else ("17", "5", "9")
    sizes = "?, ?, ?" if dynamic else "17, 9, 5"
    encodings = "\n".join(
        f"#e{index} = #iree_encoding.encoding<operand_index = {index}, op_type = matmul,"
        " element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn],"
        f" iteration_sizes = [{sizes}]>"
        for index in range(3)
    )
    encoded = f", {bound}" if bound else ""
    lhs, rhs, result = f"tensor<{m}x{k}xf32", f"tensor<{k}x{n}xf32", f"tensor<{m}x{n}xf32"
    dims = ["{%m, %k}", "{%k, %n}", "{%m, %n}"] if dynamic else ["", "", ""]
    extra = "encoding_dims{%m, %n, %k}" if dynamic else ""
    sizes_of = ["%m, %k", "%k, %n", "%m, %n"] if dynamic else ["17, 5", "5, 9", "17, 9"]
    empty = "%m, %n" if dynamic else ""
    access = "offsets = [0, 0], sizes = [{}], strides = [1, 1]"
    bind = "!iree_tensor_ext.dispatch.tensor"
    return f"""{MAPS}{encodings}
#target = #hal.executable.target<"llvm-cpu", "x", {{{TARGETS[target]}}}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
#on = #hal.device.affinity<@d>
stream.executable private @ex {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f(%a: !stream.binding, %b: !stream.binding, %m: index, %k: index, %n: index,
                 %out: !stream.binding) {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %0 = stream.binding.subspan %a[%c0] : !stream.binding
        -> {bind}<readonly:{lhs}{encoded}>>{dims[0]}
      %1 = stream.binding.subspan %b[%c0] : !stream.binding -> {bind}<readonly:{rhs}>>{dims[1]}
      %2 = stream.binding.subspan %out[%c0] : !stream.binding
        -> {bind}<writeonly:{result}>>{dims[2]}
      %3 = iree_tensor_ext.dispatch.tensor.load %0, {load or access.format(sizes_of[0])}
        : {bind}<readonly:{lhs}{encoded}>>{dims[0]} -> {lhs}, #e0>
      %4 = iree_tensor_ext.dispatch.tensor.load %1, {access.format(sizes_of[1])}
        : {bind}<readonly:{rhs}>>{dims[1]} -> {rhs}>
      %5 = iree_encoding.set_encoding %4 {extra} : {rhs}> -> {rhs}, #e1>
      %6 = tensor.empty({empty}) : {result}, #e2>
      %7 = linalg.fill ins(%zero : f32) outs(%6 : {result}, #e2>) -> {result}, #e2>
      %8 = linalg.matmul ins(%3, %5 : {lhs}, #e0>, {rhs}, #e1>) outs(%7 : {result}, #e2>)
        -> {result}, #e2>
      %9 = iree_encoding.unset_encoding %8 {extra} : {result}, #e2> -> {result}>{dims[2]}
      iree_tensor_ext.dispatch.tensor.store %9, %2, {access.format(sizes_of[2])}
        : {result}> -> {bind}<writeonly:{result}>>{dims[2]}
      return
    }}
  }}
}}
util.func public @main(%x: !hal.buffer_view, %y: !hal.buffer_view) -> !hal.buffer_view {{
  %m = hal.buffer_view.dim<%x : !hal.buffer_view>[0] : index
  %k = hal.buffer_view.dim<%x : !hal.buffer_view>[1] : index
  %n = hal.buffer_view.dim<%y : !hal.buffer_view>[1] : index
  %s0 = stream.tensor.sizeof on(#on) {lhs}>{dims[0]} : index
  %s1 = stream.tensor.sizeof on(#on) {rhs}>{dims[1]} : index
  %s2 = stream.tensor.sizeof on(#on) {result}>{dims[2]} : index
  %s3 = stream.tensor.sizeof on(#on) {lhs}{encoded}>{dims[0]} : index
  %0 = stream.tensor.import on(#on) %x : !hal.buffer_view -> {lhs}>{dims[0]}
    in !stream.resource<*>{{%s0}}
  %1 = stream.tensor.import on(#on) %y : !hal.buffer_view -> {rhs}>{dims[1]}
    in !stream.resource<*>{{%s1}}
  %2 = stream.tensor.encode on(#on) %0 : {lhs}>{dims[0]} in !stream.resource<*>{{%s0}}
    -> {lhs}{encoded}>{dims[0]} in !stream.resource<*>{{%s3}}
  %3 = stream.tensor.dispatch on(#on) @ex::@f(%2, %1, %m, %k, %n)
    : ({lhs}{encoded}>{dims[0]} in !stream.resource<*>{{%s3}},
       {rhs}>{dims[1]} in !stream.resource<*>{{%s1}}, index, index, index)
    -> {result}>{dims[2]} in !stream.resource<*>{{%s2}}
  %4 = stream.tensor.export on(#on) %3 : {result}>{dims[2]} in !stream.resource<*>{{%s2}}
    -> !hal.buffer_view
  util.return %4 : !hal.buffer_view
}}
"""


def inputs() -> list[np.ndarray]:
    numbers = np.random.default_rng(0)
    shapes = [(17, 5), (5, 9)]
    return [numbers.integers(-4, 5, shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("bound", "target", "dynamic"), covering(list(LAYOUTS), list(TARGETS), (False, True))
)
def test_any_layout_may_be_bound(bound: str, target: str, dynamic: bool) -> None:
    text = program(LAYOUTS[bound], target, dynamic)
    x, y = inputs()
    for pipeline in ("", "materialize-encodings"):
        compiled = compile(text, pipeline)
        (result,) = compiled["main"].run([x, y])
        np.testing.assert_array_equal(result, x @ y)
    names = {op.name for op in compiled.module.walk()}
    assert ("linalg.mmt4d" in names) == (target != "plain")
    assert "iree_encoding.set_encoding" not in names


def test_a_part_of_a_packed_binding_is_unpacked_first() -> None:
    load = "offsets = [3, 0], sizes = [2, 5], strides = [2, 1]"
    text = program(LAYOUTS["other"], "avx512", dynamic=False, load=load)
    text = text.replace("17, 9, 5", "2, 9, 5").replace(
        "-> tensor<17x5xf32, #e0>", "-> tensor<2x5xf32, #e0>"
    )
    start, end = text.index("%4 ="), text.index("      return")
    kernel = text[start:end].replace("tensor<17x", "tensor<2x").replace("[17, 9]", "[2, 9]")
    kernel = kernel.replace("writeonly:tensor<2x9xf32>", "writeonly:tensor<17x9xf32>")
    text = text[:start] + kernel + text[end:]
    x, y = inputs()
    for pipeline in ("", "materialize-encodings"):
        (result,) = compile(text, pipeline)["main"].run([x, y])
        np.testing.assert_array_equal(result[:2], x[[3, 5]] @ y)


def test_a_part_of_a_packed_result_cannot_be_stored() -> None:
    text = program(None, "avx512", dynamic=False)
    whole = "tensor<17x9xf32>"
    packed = f"tensor<17x9xf32, {LAYOUTS['other']}>"
    text = text.replace(f"writeonly:{whole}", f"writeonly:{packed}")
    text = text.replace(
        "sizes = [17, 9], strides = [1, 1]\n        : tensor<17x9xf32>",
        "sizes = [17, 9], strides = [2, 1]\n        : tensor<17x9xf32>",
    )
    with pytest.raises(CompilationError, match="stores a slice of a packed tensor"):
        compile(text, "materialize-encodings")


def test_an_open_layout_needs_a_device() -> None:
    text = program(None, "avx512", dynamic=False)
    text = text[: text.index("util.func public")]
    with pytest.raises(CompilationError, match="in a kernel that no device runs"):
        compile(text, "materialize-encodings")


def functions(lhs_layout: str | None, target: str, dynamic: bool) -> str:
    """Functions that pack, multiply and unpack: what lies between them is passed in tiles."""
    m, k, n = ("?", "?", "?") if dynamic else ("17", "5", "9")
    sizes = "?, ?, ?" if dynamic else "17, 9, 5"
    encodings = "\n".join(
        f"#e{index} = #iree_encoding.encoding<operand_index = {index}, op_type = matmul,"
        " element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn],"
        f" iteration_sizes = [{sizes}]>"
        for index in range(3)
    )
    lhs, rhs, result = f"tensor<{m}x{k}xf32", f"tensor<{k}x{n}xf32", f"tensor<{m}x{n}xf32"
    dims = "encoding_dims{%m, %n, %k}" if dynamic else ""
    sizes_of_result = "{%m, %n}" if dynamic else ""
    passed = f"{lhs}, {lhs_layout}>" if lhs_layout else f"{lhs}, #e0>"
    relaid = ""
    if lhs_layout is not None:
        relaid = f"""%p = iree_encoding.unset_encoding %x : {passed} -> {lhs}>
          {"{%m, %k}" if dynamic else ""}
        %l = iree_encoding.set_encoding %p {dims} : {lhs}> -> {lhs}, #e0>"""
    numbers = "%m: index, %n: index, %k: index"
    on = "attributes {hal.executable.target = #target}"
    pack = (
        "func.func @pack_{0}(%x: {1}>, {2}) -> {3} {4} {{\n"
        "  %0 = iree_encoding.set_encoding %x {5} : {1}> -> {3}\n  return %0 : {3}\n}}\n"
    )
    dims_of_passed = "" if lhs_layout else dims
    return f"""{MAPS}{encodings}
#target = #hal.executable.target<"llvm-cpu", "x", {{{TARGETS.get(target, GPU)}}}>
{pack.format("lhs", lhs, numbers, passed, on, dims_of_passed)}
{pack.format("rhs", rhs, numbers, f"{rhs}, #e1>", on, dims)}
{pack.format("acc", result, numbers, f"{result}, #e2>", on, dims)}
func.func @product(%x: {passed}, %y: {rhs}, #e1>, %z: {result}, #e2>, {numbers})
    -> {result}, #e2> {on} {{
  {relaid}
  %0 = linalg.matmul ins({"%l" if relaid else "%x"}, %y : {lhs}, #e0>, {rhs}, #e1>)
    outs(%z : {result}, #e2>) -> {result}, #e2>
  return %0 : {result}, #e2>
}}
func.func @unpack(%x: {result}, #e2>, {numbers}) -> {result}> {on} {{
  %0 = iree_encoding.unset_encoding %x {dims} : {result}, #e2> -> {result}>{sizes_of_result}
  return %0 : {result}>
}}
"""


PASSED = list(product(["open", "other", "swizzled"], [*TARGETS, "gpu"], [False, True]))


@pytest.mark.parametrize(("passed", "target", "dynamic"), sampled(PASSED, 6))
def test_functions_pass_tensors_in_tiles(passed: str, target: str, dynamic: bool) -> None:
    text = functions(LAYOUTS.get(passed), target, dynamic)
    x, y = inputs()
    z = np.arange(17 * 9, dtype=np.float32).reshape(17, 9)
    sizes = [17, 9, 5]
    for backend in ("interpreter", "native"):
        program_ = compile(text, "materialize-encodings", backend=backend)
        assert not [op for op in program_.module.walk() if op.name.startswith("iree_encoding.")]
        tiles = [
            program_[f"pack_{name}"].run([value, *sizes])[0]
            for name, value in (("lhs", x), ("rhs", y), ("acc", z))
        ]
        if target != "plain" or passed != "open":
            assert tiles[0].ndim > 2
        used = {op.name for op in program_.module.walk()}
        assert ("iree_codegen.inner_tiled" in used) == (target in ("gpu", "instructions"))
        (packed,) = program_["product"].run([*tiles, *sizes])
        (result,) = program_["unpack"].run([packed, *sizes])
        np.testing.assert_array_equal(result, x @ y + z)


INDEXED = """
func.func @main(%x: TENSOR) -> TENSOR attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %x : TENSOR -> ENCODED
  %1 = tensor.empty() : ENCODED
  %2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%0 : ENCODED) outs(%1 : ENCODED) {
    ^bb0(%a: f32, %b: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c100 = arith.constant 100 : index
      %rows = arith.muli %i, %c100 : index
      %s = arith.addi %rows, %j : index
      %t = arith.index_cast %s : index to i32
      %u = arith.sitofp %t : i32 to f32
      %v = arith.addf %a, %u : f32
      linalg.yield %v : f32
  } -> ENCODED
  %3 = iree_encoding.unset_encoding %2 : ENCODED -> TENSOR
  return %3 : TENSOR
}
"""


@pytest.mark.parametrize("target", ["avx512", "instructions", "vmvx"])
@pytest.mark.parametrize(("operand", "rows", "columns"), [(0, 17, 5), (1, 5, 9), (2, 17, 9)])
def test_indices_count_elements_of_tensors(
    operand: int, rows: int, columns: int, target: str
) -> None:
    head, _, _ = functions(None, target, dynamic=False).partition("func.func @pack_lhs")
    tensor = f"tensor<{rows}x{columns}xf32>"
    encoded = f"{tensor.removesuffix('>')}, #e{operand}>"
    text = head + INDEXED.replace("TENSOR", tensor).replace("ENCODED", encoded)
    x = np.zeros((rows, columns), dtype=np.float32)
    i, j = np.indices(x.shape)
    for backend in ("interpreter", "native"):
        program_ = compile(text, "materialize-encodings", backend=backend)
        (found,) = program_["main"].run([x])
        np.testing.assert_array_equal(found, 100 * i + j)


@pytest.mark.parametrize("target", ["avx512", "gpu"])
@pytest.mark.parametrize(("loop", "size"), [("m", 40), ("n", 33)])
def test_scalars_vectors_and_indices_meet_tiles(loop: str, size: int, target: str) -> None:
    text = functions(None, target, dynamic=False).replace("17", "40").replace("x9x", "x33x")
    text = text.replace("[40, 9, 5]", "[40, 33, 5]")
    tensor, vector = "tensor<40x33xf32, #e2>", f"tensor<{size}xf32, #v>"
    text += f"""
#of = affine_map<(m, n) -> ({loop})>
#v = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, [#mn, #of]], iteration_sizes = [40, 33, 5]>
func.func @main(%x: {tensor}, %y: tensor<{size}xf32>, %s: f32) -> {tensor}
    attributes {{hal.executable.target = #target}} {{
  %1 = iree_encoding.set_encoding %y : tensor<{size}xf32> -> {vector}
  %2 = tensor.empty() : {tensor}
  %3 = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, #of,
      affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}} ins(%x, %1, %s : {tensor}, {vector}, f32)
      outs(%2 : {tensor}) {{
    ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
      %i = linalg.index 0 : index
      %k = arith.index_cast %i : index to i32
      %d = arith.sitofp %k : i32 to f32
      %p = arith.mulf %d, %c : f32
      %q = arith.addf %p, %b : f32
      %r = arith.addf %q, %a : f32
      linalg.yield %r : f32
  }} -> {tensor}
  return %3 : {tensor}
}}
"""
    x = np.arange(40 * 33, dtype=np.float32).reshape(40, 33)
    y = np.arange(size, dtype=np.float32)
    expected = x + 3 * np.arange(40)[:, None] + (y[:, None] if loop == "m" else y)
    sizes = [40, 33, 5]
    for backend in ("interpreter", "native"):
        program_ = compile(text, "materialize-encodings", backend=backend)
        (tiles,) = program_["pack_acc"].run([x, *sizes])
        (tiles,) = program_["main"].run([tiles, y, np.float32(3)])
        (found,) = program_["unpack"].run([tiles, *sizes])
        np.testing.assert_array_equal(found, expected)
    # Rows of a GPU's tiles are split: tiles are put in order for a vector along them.
    main = next(op for op in program_.module.body.block.ops if defined_name(op) == "main")
    orders = [op for op in main.walk() if op.name == "linalg.transpose"]
    assert len(orders) == (2 if (target, loop) == ("gpu", "m") else 0)


@pytest.mark.parametrize("target", ["avx512", "instructions", "vmvx"])
def test_open_sizes_are_known_behind_a_barrier(target: str) -> None:
    text = functions(None, target, dynamic=True).replace('"none"', '"all"')
    head, _, _ = text.partition("func.func @pack_lhs")
    tensor = "tensor<?x?xf32, #e2>"
    dims = "encoding_dims{%m, %n, %k}"
    text = f"""{head}
func.func @main(%x: tensor<?x?xf32>, %m: index, %n: index, %k: index) -> tensor<?x?xf32>
    attributes {{hal.executable.target = #target}} {{
  %0 = iree_encoding.set_encoding %x {dims} : tensor<?x?xf32> -> {tensor}
  %1 = util.optimization_barrier %0 : {tensor}
  %2 = tensor.empty(%m, %n) : {tensor}
  %3 = linalg.add ins(%1, %1 : {tensor}, {tensor}) outs(%2 : {tensor}) -> {tensor}
  %4 = iree_encoding.unset_encoding %3 {dims} : {tensor} -> tensor<?x?xf32>{{%m, %n}}
  return %4 : tensor<?x?xf32>
}}
"""
    x = np.arange(17 * 9, dtype=np.float32).reshape(17, 9)
    for backend in ("interpreter", "native"):
        program_ = compile(text, "materialize-encodings", backend=backend)
        (found,) = program_["main"].run([x, 17, 9, 5])
        np.testing.assert_array_equal(found, x + x)


def test_a_size_of_what_is_passed_in_tiles_is_not_known() -> None:
    text = functions(None, "avx512", dynamic=True)
    start = text.index("func.func @product")
    text = text[:start] + text[text.index("func.func @unpack") :]
    text = text.replace("return %0 : tensor<?x?xf32>\n", "return %c : index\n")
    text = text.replace("-> tensor<?x?xf32> attributes", "-> index attributes")
    dim = "%o = arith.constant 1 : index\n  %c = tensor.dim %x, %o : tensor<?x?xf32, #e2>\n  return"
    start = text.index("func.func @unpack")
    text = text[:start] + text[start:].replace("return", dim)
    with pytest.raises(CompilationError, match="needs a size of the packed argument"):
        compile(text, "materialize-encodings")


@pytest.mark.parametrize(
    ("left", "result", "maps", "shapes"),
    [
        ("f32", "f32", ("m, k", "k, n", "m, n"), ((200, 70), (70, 130), (200, 130))),
        ("f32", "f32", ("k, m", "n, k", "n, m"), ((70, 90), (33, 70), (33, 90))),
        ("f16", "f32", ("b, m, k", "b, k, n", "b, m, n"), ((3, 17, 40), (3, 40, 9), (3, 17, 9))),
        ("i8", "i32", ("b, m, k", "b, n, k", "b, m, n"), ((2, 1, 300), (2, 66, 300), (2, 1, 66))),
    ],
    ids=["matmul", "transposed", "batched", "integers"],
)
def test_instructions_of_a_graphics_processor_multiply(
    left: str, result: str, maps: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]
) -> None:
    loops = "b, m, n, k" if "b" in maps[0] else "m, n, k"
    known = dict(zip(", ".join(maps).split(", "), (n for s in shapes for n in s), strict=True))
    affine = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
    sizes = ", ".join(str(known[loop]) for loop in loops.split(", "))
    elements = (left, left, result)
    encodings = "\n".join(
        f"#e{i} = #iree_encoding.encoding<operand_index = {i}, op_type = matmul, element_types ="
        f" [{left}, {left}, {result}], user_indexing_maps = [{affine}],"
        f" iteration_sizes = [{sizes}]>"
        for i in range(3)
    )
    x, y, z = (
        f"tensor<{'x'.join(map(str, shape))}x{element}"
        for shape, element in zip(shapes, elements, strict=True)
    )
    text = f"""{encodings}
func.func @main(%x: {x}>, %y: {y}>, %z: {z}>) -> {z}> attributes {{hal.executable.target =
    #hal.executable.target<"rocm", "rocm-hsaco-fb", {{{GPU}}}>}} {{
  %0 = iree_encoding.set_encoding %x : {x}> -> {x}, #e0>
  %1 = iree_encoding.set_encoding %y : {y}> -> {y}, #e1>
  %2 = iree_encoding.set_encoding %z : {z}> -> {z}, #e2>
  %3 = linalg.contract indexing_maps = [{affine}] ins(%0, %1 : {x}, #e0>, {y}, #e1>)
    outs(%2 : {z}, #e2>) -> {z}, #e2>
  %4 = tensor.empty() : {z}, #e2>
  %5 = linalg.add ins(%3, %3 : {z}, #e2>, {z}, #e2>) outs(%4 : {z}, #e2>) -> {z}, #e2>
  %6 = iree_encoding.unset_encoding %5 : {z}, #e2> -> {z}>
  return %6 : {z}>
}}"""
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(-4, 5, shape).astype({"f": "float", "i": "int"}[e[0]] + e[1:])
        for shape, e in zip(shapes, elements, strict=True)
    ]
    notation = "{},{}->{}".format(*(each.replace(", ", "") for each in maps))
    expected = arrays[2] + np.einsum(notation, *(a.astype(np.float64) for a in arrays[:2]))
    for backend in ("interpreter", "native"):
        program_ = compile(text, "materialize-encodings", backend=backend)
        used = [op.name for op in program_.module.walk()]
        assert used.count("iree_codegen.inner_tiled") == 1
        # Tiles are put in order for three encodes and a decode, and not for the sum.
        assert used.count("linalg.transpose") == 4
        (found,) = program_["main"].run(arrays)
        np.testing.assert_array_equal(found, 2 * expected)


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        (
            "intrinsic = MFMA_F32_4x4x4x16B_F16",
            "2x3x4x16",
            "expected a product by a known instruction",
        ),
        ("intrinsic = MFMA_F32_16x16x4_F32", "2x3x16x4", "expects tiles of"),
    ],
    ids=["instruction", "tiles"],
)
def test_instructions_without_meaning(kind: str, shape: str, message: str) -> None:
    tensors = f"tensor<{shape}xf32>", "tensor<5x3x4x16xf32>", "tensor<2x5x4x16x4xf32>"
    text = f"""{MAPS}
#nk = affine_map<(m, n, k) -> (n, k)>
#p = #linalg.iterator_type<parallel>
func.func @main(%a: {tensors[0]}, %b: {tensors[1]}, %c: {tensors[2]}) -> {tensors[2]} {{
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [#mk, #nk, #mn],
    iterator_types = [#p, #p, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.data_tiled_mma_layout<{kind}>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
    : {tensors[0]}, {tensors[1]} into {tensors[2]}
  return %0 : {tensors[2]}
}}"""
    shapes = [tuple(map(int, t[7:-1].split("x")[:-1])) for t in tensors]
    program_ = compile(text, "")
    with pytest.raises(ExecutionError, match=message):
        program_["main"].run([np.zeros(shape, np.float32) for shape in shapes])
