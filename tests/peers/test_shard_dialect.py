"""Every operation, attribute and type of `shard` against mlir-opt 22, both ways and both forms.

What we refuse is compared too: the files of tests/lit/dialects/shard/invalid_*.mlir say which
of it upstream lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mesh_opt.dialects.shard.dialect import Shard
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from tool_runs import printed
from xdsl.dialects.builtin import ModuleOp

INVALID = Path(__file__).parent.parent / "lit" / "dialects" / "shard"

GRIDS = """
shard.grid @g(shape = 2x4x3)
shard.grid @any(shape = ?x4)
shard.grid @hidden(shape = ?) {sym_visibility = "private"}
"""

T, PIECE, TYPES = "tensor<8x24xf32>", "tensor<2x24xf32>", "tensor<8x24xf32> -> "
FORMS = [
    "%r:3 = shard.grid_shape @g : index, index, index",
    "%r:2 = shard.grid_shape @g axes = [1, 0] : index, index",
    "%r = shard.grid_shape @any axes = [0] {note} : index",
    "%r:3 = shard.process_multi_index on @g : index, index, index",
    '%r = shard.process_multi_index on @g axes = [2] {note = "x"} : index',
    "%r = shard.process_linear_index on @g : index",
    "%d, %u = shard.neighbors_linear_indices on @g[%i, %i, %i] split_axes = [1] : index, index",
    "%s = shard.sharding @g split_axes = [[]] : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[0]] {note} : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[], [2, 0]] : !shard.sharding",
    "%s = shard.sharding @any split_axes = [[0], [], [1]] : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [1, 2, 0, 1] : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[0]] halo_sizes = [%h, 2] : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding",
    "%s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, %h, 8] : !shard.sharding",
    f"%r = shard.get_sharding %t : {T} -> !shard.sharding",
    "%r:2 = shard.shard_shape dims = [8, 24] sharding = %s device = [0, 1, 2] : index, index",
    "%r:2 = shard.shard_shape dims = [%i, 24] sharding = %s device = [%i, 1, %i] : index, index",
    f"%r = shard.shard %t to %s : {T}",
    f"%r = shard.shard %t to %s annotate_for_users {{note}} : {T}",
    f"%r = shard.all_gather %t on @g grid_axes = [2, 0] gather_axis = 1 : {TYPES}tensor<8x144xf32>",
    f"%r = shard.all_gather %t on @any grid_axes = [0] gather_axis = 0 : {TYPES}tensor<?x24xf32>",
    f"%r = shard.all_gather %t on @g gather_axis = 0 : {TYPES}{T}",
    f"%r = shard.all_reduce %t on @g grid_axes = [0] : {TYPES}{T}",
    f"%r = shard.all_reduce %t on @g grid_axes = [0] reduction = product : {TYPES}tensor<8x24xf64>",
    "%r = shard.all_reduce %m on @g reduction = max : memref<8x24xi32> -> memref<8x24xi32>",
    f"%r = shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 {{note}} "
    f": {TYPES}tensor<8x6xf32>",
    f"%r = shard.all_slice %t on @any grid_axes = [0] slice_axis = 0 : {TYPES}tensor<?x24xf32>",
    "%r = shard.all_to_all %t on @g grid_axes = [1] split_axis = 1 concat_axis = 0 "
    f": {TYPES}tensor<32x6xf32>",
    f"%r = shard.all_to_all %t on @g grid_axes = [1] split_axis = 0 concat_axis = 0 : {TYPES}{T}",
    f"%r = shard.broadcast %t on @g grid_axes = [0, 2] root = [1, %i] : ({T}, index) -> {T}",
    f"%r = shard.broadcast %t on @g root = [] : ({T}) -> {T}",
    "%r = shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [3] "
    f": ({T}) -> tensor<8x96xf32>",
    f"%r = shard.reduce %t on @g grid_axes = [1] root = [%i] : ({T}, index) -> {T}",
    f"%r = shard.reduce %t on @g grid_axes = [1] root = [0] {{note}} : ({T}) -> {T}",
    f"%r = shard.reduce_scatter %t on @g grid_axes = [1] scatter_axis = 0 : {TYPES}{PIECE}",
    "%r = shard.reduce_scatter %t on @g grid_axes = [1] reduction = max scatter_axis = 0 "
    f": {TYPES}tensor<2x24xf64>",
    f"%r = shard.scatter %t on @g grid_axes = [1] scatter_axis = 0 root = [2] : ({T}) -> {PIECE}",
    f"%r = shard.send %t on @g grid_axes = [0, 1] destination = [1, %i] : ({T}, index) -> {T}",
    f"%r = shard.recv %t on @g grid_axes = [1] source = [2] : ({T}) -> {T}",
    f"%r = shard.recv %t on @g grid_axes = [1] source = [%i] : ({T}, index) -> {T}",
    f"%r = shard.recv %t on @g grid_axes = [1] : ({T}) -> {T}",
    f"%r = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -2 : {TYPES}{T}",
    f"%r = shard.shift %t on @g grid_axes = [0, 1] shift_axis = 0 offset = 1 rotate : {TYPES}{T}",
    f"%r = shard.update_halo %t on @g split_axes = [[0], [1]] halo_sizes = [1, 2, %h, 4] : {T}",
    "%r = shard.update_halo %m on @g split_axes = [[], [1]] : memref<8x24xi32>",
    *(
        "%r = shard.all_reduce %m on @g grid_axes = [0] "
        f"reduction = {kind} : memref<8x24xi32> -> memref<8x24xi32>"
        for kind in (
            *("sum", "max", "min", "product", "average", "bitwise_and", "bitwise_or"),
            *("bitwise_xor", "generic"),
        )
    ),
    '"test.attributes"() {axes = #shard<axisarray[[0, 1], [], [2]]>, none = #shard<axisarray[[]]>,'
    " kind = #shard<partial bitwise_xor>, type = !shard.sharding} : () -> ()",
]
"""Operations in the body of a function with an argument of each type that they need."""

ARGUMENTS = f"%t: {T}, %m: memref<8x24xi32>, %i: index, %h: i64, %s: !shard.sharding"


def program(forms: list[str]) -> str:
    """A module with a function for each form."""
    arguments = {
        True: ARGUMENTS.replace(", %s: !shard.sharding", ""),
        False: ARGUMENTS,
    }
    functions = (
        f"func.func @f{number}({arguments[form.startswith('%s')]}) {{\n  {form}\n  return\n}}"
        for number, form in enumerate(forms)
    )
    return GRIDS + "\n".join(functions)


PROGRAM = program(FORMS)


def mesh_opt(text: str, *options: str) -> str:
    """What our tool prints."""
    return printed("--allow-unregistered-dialect", *options, text=text)


def module(text: str) -> ModuleOp:
    """A text as IR."""
    return parse_module(new_context(allow_unregistered=True), Source(text, "test"))


def test_the_forms_cover_the_dialect() -> None:
    names = {operation.name for operation in module(PROGRAM).walk()}
    assert {operation.name for operation in Shard.operations} <= names


@pytest.mark.parametrize("form", [(), ("--mlir-print-op-generic",)], ids=["pretty", "generic"])
def test_upstream_reads_what_we_print(mlir_opt: Callable[..., str], form: tuple[str, ...]) -> None:
    as_written = mlir_opt(PROGRAM, "--allow-unregistered-dialect")
    assert mlir_opt(mesh_opt(PROGRAM, *form), "--allow-unregistered-dialect") == as_written


@pytest.mark.parametrize("form", [(), ("--mlir-print-op-generic",)], ids=["pretty", "generic"])
def test_we_read_what_upstream_prints(mlir_opt: Callable[..., str], form: tuple[str, ...]) -> None:
    theirs = module(mlir_opt(PROGRAM, "--allow-unregistered-dialect", *form))
    assert theirs.is_structurally_equivalent(module(PROGRAM))


def test_the_older_spelling_becomes_what_upstream_reads(mlir_opt: Callable[..., str]) -> None:
    forms = [form for form in FORMS if "shard.shard_shape" not in form]
    text = program(forms)
    older = re.sub(r"\bshard\.grid\b", "mesh.mesh", text)
    older = older.replace("shard.grid_shape", "mesh.mesh_shape").replace("grid_axes", "mesh_axes")
    older = re.sub(r"\bshard\.", "mesh.", older).replace("#shard<", "#mesh<")
    converted = mesh_opt(older, "--convert-mesh-to-shard")
    assert module(converted).is_structurally_equivalent(module(text))
    assert mlir_opt(converted, "--allow-unregistered-dialect") == mlir_opt(
        text, "--allow-unregistered-dialect"
    )


def invalid_programs() -> Iterator[tuple[str, str]]:
    """Names and texts of the programs that we refuse, without those in our own syntax."""
    for file in sorted(INVALID.glob("invalid_*.mlir")):
        if file.stem != "invalid_own_syntax":
            pieces = re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE)
            for number, piece in enumerate(pieces):
                yield f"{file.stem}-{number}", piece


def test_number_of_invalid_programs() -> None:
    assert len(list(invalid_programs())) >= 50


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in invalid_programs()])
def test_upstream_refuses_at_the_same_line(mlir_opt: Callable[..., str], text: str) -> None:
    lines = text.split("\n")
    expected = next(n for n, line in enumerate(lines, start=2) if "expected-error @+1" in line)
    if "// Upstream accepts this." in text:
        mlir_opt(text)
        return
    with pytest.raises(AssertionError) as refusal:
        mlir_opt(text)
    if "// Upstream crashes on this." in text:
        assert "Stack dump" in str(refusal.value)
        return
    places = re.findall(r"^<stdin>:(\d+):\d+: error:", str(refusal.value), flags=re.MULTILINE)
    assert str(expected) in places


AGREED_FOLDS = f"""
shard.grid @g(shape = 2x4)
func.func @alone(%t: {T}) -> ({", ".join([T] * 9)}, tensor<8x24xf64>) {{
  %0 = shard.all_reduce %t on @g : {TYPES}{T}
  %1 = shard.all_gather %t on @g gather_axis = 0 : {TYPES}{T}
  %2 = shard.all_slice %t on @g slice_axis = 0 : {TYPES}{T}
  %3 = shard.all_to_all %t on @g split_axis = 0 concat_axis = 0 : {TYPES}{T}
  %4 = shard.broadcast %t on @g root = [] : ({T}) -> {T}
  %5 = shard.gather %t on @g gather_axis = 0 root = [] : ({T}) -> {T}
  %6 = shard.reduce_scatter %t on @g scatter_axis = 0 : {TYPES}{T}
  %7 = shard.send %t on @g destination = [] : ({T}) -> {T}
  %8 = shard.recv %t on @g : ({T}) -> {T}
  %9 = shard.all_reduce %t on @g : {TYPES}tensor<8x24xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : {", ".join([T] * 9)}, tensor<8x24xf64>
}}
func.func @shardings(%h: i64) -> ({", ".join(["!shard.sharding"] * 4)}) {{
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %halo = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [%c3, %c0, %h, 1]
    : !shard.sharding
  %none = shard.sharding @g split_axes = [[0], []] halo_sizes = [0, %c0] : !shard.sharding
  %even = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, %c3, 6]
    : !shard.sharding
  %uneven = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, %c3, 8]
    : !shard.sharding
  return %halo, %none, %even, %uneven : {", ".join(["!shard.sharding"] * 4)}
}}
func.func @annotations(%t: {T}) -> ({T}, {T}) {{
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %t to %s : {T}
  %1 = shard.shard %t to %s : {T}
  return %0, %1 : {T}, {T}
}}
"""


def test_canonical_forms_are_upstreams_where_we_agree(mlir_opt: Callable[..., str]) -> None:
    ours = mesh_opt(AGREED_FOLDS, "--canonicalize")
    assert mlir_opt(ours) == mlir_opt(AGREED_FOLDS, "--canonicalize")
