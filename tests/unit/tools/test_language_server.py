"""`mesh-lsp`: what is known of a text while it is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.language_server.analysis import Analysis, analyse
from mesh_opt.tools.language_server.completion import Operations, completions_at
from mesh_opt.tools.language_server.definitions import definition_at
from mesh_opt.tools.language_server.hover import hover_at
from mesh_opt.tools.language_server.outline import outline
from mesh_opt.tools.language_server.positions import Positions
from mesh_opt.tools.language_server.recovering_parser import Cancelled
from mesh_opt.tools.language_server.shardings import find_shardings

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "examples" / "mlp_dp_tp.mlir").read_text(encoding="utf-8")
CONTEXT = new_context()
OPERATIONS = Operations(CONTEXT)

WRONG = """\
#map = affine_map<(d0) -> (d0)>
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a,
  %c = arith.muli %b, %nowhere : i32
  %d = arith.mulii %c : i32
  %e = arith.addi %d, %c : i32
  scf.if %b {
    %f = arith.muli %c %c : i32
    scf.yield
  }
  return %e : i32
}
func.func @g(%a: i32) -> i64 {
  return %a : i32
}
func.func @h() {
  call @f(%x) : (i32) -> i32
  call @missing() : () -> ()
  return
"""


def look(text: str) -> Analysis:
    return analyse(text, "program.mlir", CONTEXT)


def messages(text: str) -> list[tuple[int, str]]:
    found = look(text).diagnostics()
    return [(each.position.line if each.position else 0, each.message) for each in found]


def hover(text: str, part: str, at: int = 0) -> str:
    analysis = look(text)
    shown = hover_at(
        analysis,
        text.index(part) + at,
        CONTEXT,
        lambda piece: find_shardings(piece.module, CONTEXT, piece.broken),
    )
    return shown or ""


def test_errors_of_all_statements() -> None:
    assert messages(EXAMPLE) == []
    # Who verifies `func.return`, and in which words, depends on the version of xDSL.
    found = [(line, text[:16] if line == 14 else text) for line, text in messages(WRONG)]
    assert found == [
        (4, "expected ':'"),
        (4, "use of undefined value '%nowhere'"),
        (5, "unknown operation 'arith.mulii'; did you mean 'arith.muli'?"),
        (8, "expected ','"),
        (14, "'func.return' op"),
        (17, "use of undefined value '%x'"),
        (20, "expected '}' before the end"),
    ]


def test_follow_up_errors_are_omitted() -> None:
    text = "func.func @f() {\n  %a = arith.nope\n  %b = arith.addi %a, %a : i32\n  return\n}\n"
    assert [line for line, _ in messages(text)] == [2]
    text = "func.func @f(%a: nope) {\n  return\n}\nfunc.func @g() {\n  call @f() : () -> ()\n"
    assert [line for line, _ in messages(text + "  return\n}\n")] == [1]
    text = "#m = affine_map<(d0) -> (d1)>\nfunc.func private @f(tensor<4xf32, #m>)\n"
    assert [line for line, _ in messages(text)] == [1]


def test_pieces_are_read_apart() -> None:
    text = "func.func @f() { return }\n// -----\nfunc.func @f() { return %a : i32 }\n// -----\n"
    first = look(text)
    assert [
        (each.position.line, each.message) for each in first.diagnostics() if each.position
    ] == [(3, "use of undefined value '%a'")]
    again = analyse(text + "x", "program.mlir", CONTEXT, first)
    assert [a is b for a, b in zip(first.pieces, again.pieces, strict=True)] == [True, True, False]


@pytest.mark.parametrize(
    "text", ["", "\0", "\ud800", "}", "{" * 3000, '"', "\\" * 100, "^a:\r%", "%", "#a = [[?\n}"]
)
def test_odd_texts(text: str) -> None:
    analysis = look(text)
    assert list(analysis.diagnostics()) or not text
    for offset in (0, len(text) // 2, len(text)):
        definition_at(analysis, offset)
        completions_at(f"%{text}", offset, analysis, OPERATIONS)
    outline(analysis)


def test_half_typed_and_mutated_texts() -> None:
    chance = random.Random(3)
    words = ["{", "}", "(", ")", '"', "%h", "@mlp", "#map", "^bb0", "=", ":", "->", "\n", "<", "//"]
    for text in (EXAMPLE, WRONG):
        for _ in range(15):
            at, end = chance.randrange(len(text)), chance.randrange(len(text))
            changed = text[:at] + chance.choice(words) * chance.randrange(3)
            changed += text[at:] if chance.random() < 0.7 else text[end:]
            analysis = look(changed)
            list(analysis.diagnostics())
            outline(analysis)
            for offset in (at, end):
                definition_at(analysis, offset)
                hover_at(
                    analysis,
                    offset,
                    CONTEXT,
                    lambda piece: find_shardings(piece.module, CONTEXT, piece.broken),
                )


def test_hover_tells_where_a_value_is_and_why() -> None:
    shown = hover(EXAMPLE, "%h = ")
    assert shown.startswith("```mlir\n%h : tensor<8x32xf32>\n```")
    assert "1,024 bytes in all, 256 bytes on each device (4x16)" in shown
    assert "8x32 by @devices [[0], [1]] on 4 devices: 4 parts" in shown
    assert "*sharding*: result #0 is placed @devices [[0], [1]]" in shown
    assert "through factor 1 (pass-through) of 'linalg.generic'" in shown and "(line 32)" in shown
    argument = hover(EXAMPLE, "%w1: tensor", 1)
    assert "2,048 bytes in all, 1,024 bytes on each device (16x16)" in argument
    assert "*sharding*: argument #1 is placed @devices [[], [1]]" in argument
    assert "*sharding*: result #0 is placed" in hover(EXAMPLE, "linalg.matmul", 3)
    assert hover(EXAMPLE, "@devices split", 2) == "```mlir\nshard.grid @devices(shape = 2x2)\n```"
    # An error elsewhere hides nothing.
    assert hover(EXAMPLE + "func.func @g() { nope }", "%h = ") == shown
    assert hover("#map = affine_map<(d0) -> (d0)>", "#map", 2).startswith("```mlir\n#map = affine")
    assert hover("func.func @f(%a: i32) {", "%a") == "```mlir\n%a : i32\n```"


def definition(text: str, use: str, at: int = 1) -> str:
    extent = definition_at(look(text), text.rindex(use) + at)
    return "" if extent is None else text[extent.start :][:20]


def test_definitions() -> None:
    assert definition(EXAMPLE, "%h_biased : ").startswith("%h_biased = linalg")
    assert definition(EXAMPLE, "@devices").startswith("@devices(shape = 2x2")
    assert definition(EXAMPLE, "%x to").startswith("%x: tensor<8x16xf32>")
    # Names mean what they do where they stand, and in statements with errors most likely that.
    assert definition(WRONG, "%a : i32").startswith("%a: i32) -> i64")
    assert definition(WRONG, "%b, %nowhere").startswith("%b = arith.addi")
    text = "#map = affine_map<(d0) -> (d0)>\nfunc.func private @f() attributes {m = #map}\n"
    assert definition(text, "#map}").startswith("#map = affine")
    text = "func.func @f() {\n  cf.br ^bb1\n^bb1:\n  return\n}\n"
    assert definition(text, "^bb1\n").startswith("^bb1:\n  return")
    nested = (
        "module @m {\n  module @a {\n    func.func @f() { return }\n  }\n"
        '  "x.y"() {to = @a::@f} : () -> ()\n  func.func @f() { return }\n}\n'
    )
    assert definition(nested, "@f}").startswith("@f() { return }\n  }")
    assert definition(nested, "@a::").startswith("@a {")
    assert definition(WRONG, "@missing") == ""


def completions(text: str) -> list[str]:
    at = text.index("|")
    text = text.replace("|", "")
    return [entry.label for entry in completions_at(text, at, look(text), OPERATIONS)]


def test_completions() -> None:
    assert {"linalg.matmul", "linalg.generic"} <= set(completions("func.func @f() {\n  %a = lin|"))
    assert "linalg" in completions("  lin|")
    assert completions("  shard.all_r|") == ["shard.all_reduce"]
    names = set(completions("func.func @f() {\n  %a = |\n}"))
    assert {"stablehlo.add", "sdy.mesh", "flow.dispatch", "func.call", "scf.for"} <= names
    text = "func.func @f(%abc: i32) {\n  return %|\n}\nfunc.func @g(%other: i32) { return }"
    assert completions(text) == ["%abc"]
    assert completions("func.func @f() { return }\nfunc.func @g() { call @| }") == ["@f", "@g"]
    assert completions("#map = affine_map<(d0) -> (d0)>\n#m|") == ["#map"]
    assert completions("// arith.|") == []


def test_outline() -> None:
    (grid, mlp) = outline(look(EXAMPLE))
    assert (grid.name, mlp.name, mlp.operation) == ("@devices", "@mlp", "func.func")
    assert EXAMPLE[mlp.extent.start :].startswith("func.func @mlp")
    assert EXAMPLE[mlp.place.start : mlp.place.end] == "@mlp"
    assert EXAMPLE[: mlp.extent.end].rstrip().endswith("}")
    (module,) = outline(look("module @m {\n  module {\n    func.func @f() { return }\n  }\n}"))
    assert [each.name for each in module.children] == ["builtin.module"]
    assert [each.name for each in module.children[0].children] == ["@f"]
    assert [each.name for each in outline(look(WRONG))] == ["@f", "@g", "@h"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions(encoding: str) -> None:
    text = "a\u00e9\U0001f600b\r\n\nx\ry"
    positions = Positions(text, encoding)
    for offset in range(len(text)):
        if text[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(*positions.position(offset)) == offset
    widths = {"utf-8": 7, "utf-16": 4, "utf-32": 3}
    assert positions.position(3) == (0, widths[encoding])
    assert positions.position(len(text)) == (3, 1)
    assert positions.offset(0, 99) == 4 and positions.offset(99, 0) == len(text)
    assert positions.replaced((1, 0), (2, 1), "z").endswith("\nz\ry")


def test_a_large_text_is_given_up_when_it_changes() -> None:
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 10

    with pytest.raises(Cancelled):
        analyse(EXAMPLE, "program.mlir", CONTEXT, None, is_cancelled)
    assert asked == 11
