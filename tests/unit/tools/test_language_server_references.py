"""`mesh-lsp`: the occurrences of a name, and other names for it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.language_server.analysis import Analysis, analyse
from mesh_opt.tools.language_server.references import (
    InvalidName,
    References,
    references_at,
    renamed,
)

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "examples" / "mlp_dp_tp.mlir").read_text(encoding="utf-8")
CONTEXT = new_context(True)

TEXT = """\
#map = affine_map<(d0) -> (d0)>
func.func @f(%a: i32, %c: i1) -> i32 {
  // %a and @f, in a comment
  %b:2 = "t.t"(%a) {text = "%a #map"} : (i32) -> (i32, i32)
  %r = scf.if %c -> (i32) {
    %s = arith.addi %a, %b#0 : i32
    scf.yield %s : i32
  } else {
    %s = arith.addi %a, %b#1 : i32
    scf.yield %s : i32
  }
  cf.cond_br %c, ^bb1(%a : i32),
    ^bb2
^bb1(%k: i32):
  cf.br ^bb2
^bb2:
  return %a : i32
}
func.func @"f g"(%a: i32) -> i32 {
  %x = func.call @f(%a, %a) : (i32, i32) -> i32
  "t.u"() {m = #map, f = @f, g = @"f g"} : () -> ()
  return %a : i32
}
// -----
func.func @f() { return }
"""


def look(text: str) -> Analysis:
    return analyse(text, "program.mlir", CONTEXT)


def find(text: str, part: str) -> References | None:
    return references_at(look(text), text.index(part) + 1)


def lines(text: str, part: str) -> list[int]:
    found = find(text, part)
    return [] if found is None else [text[: e.start].count("\n") + 1 for e in found.occurrences]


def test_occurrences() -> None:
    assert lines(TEXT, "%a)") == [2, 4, 6, 9, 12, 17]
    assert lines(TEXT, "%b#1") == [4, 6, 9]
    assert lines(TEXT, "%s : i32\n  } else") == [6, 7]
    assert lines(TEXT, "%k") == [14]
    assert lines(TEXT, "^bb2\n^bb1") == [13, 15, 16]
    assert lines(TEXT, "^bb1(%a") == [12, 14]
    assert lines(TEXT, "@f(%a, %a)") == [2, 20, 21]
    assert lines(TEXT, '@"f g"}') == [19, 21]
    assert lines(TEXT, "#map,") == [1, 21]
    assert lines(TEXT, "@f() {") == [25]
    for part in ("%a and", "@f, in", "%a #map", "return", " #map", "t.u"):
        assert lines(TEXT, part) == []


def test_the_definition_is_marked() -> None:
    found = find(TEXT, "%b#1")
    assert found is not None and found.definition == found.occurrences[0]
    assert TEXT[found.asked.start :].startswith("%b#1")
    # A symbol in the generic form is written as a string, which has no prefix.
    assert find('"t.m"() {sym_name = "f"} : () -> ()\n"t.u"() {f = @f} : () -> ()', "@f") is None


def test_statements_with_errors() -> None:
    text = "func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a,\n  return %b : i32\n}\n"
    assert lines(text, "%b =") == lines(text, "%b :") == [2, 3]
    assert lines(text, "%a,") == [1, 2]
    # The name means nothing else in another function.
    assert lines("func.func @g(%b: i32) { return }\n" + text, "%b :") == [3, 4]


def test_blocks_of_nested_regions() -> None:
    text = (
        'func.func @f() {\n  cf.br ^a\n^b:\n  "t.r"() ({\n    cf.br ^a\n'
        '  ^a:\n    "t.e"() : () -> ()\n'
        "  }) : () -> ()\n  cf.br ^a\n^a:\n  return\n}\n"
    )
    assert lines(text, "^a\n^b") == [2, 9, 10]
    assert lines(text, "^a\n  ^a") == [5, 6]
    branch = '^a:\n  "t.br"()[^a] : () -> ()\n}'
    text = f'"t.if"() ({{\n{branch}, {{\n{branch}) : () -> ()\n'
    assert lines(text, "^a") == [2, 3]
    assert lines(text, f"{branch})") == [5, 6]


def rename(part: str, name: str) -> str:
    analysis = look(TEXT)
    found = references_at(analysis, TEXT.index(part) + 1)
    assert found is not None
    return renamed(analysis, found, name)


@pytest.mark.parametrize(
    ("part", "name", "new"),
    [
        ("%a:", "x", "%x"),
        ("%a:", "%x.1", "%x.1"),
        ("%a:", "0", "%0"),
        ("%a:", "%a", "%a"),
        ("^bb1", "next", "^next"),
        ("#map", "m", "#m"),
        ("@f(", "h", "@h"),
        ("@f(", "a b", '@"a b"'),
        ('@"f g"(', '@"k"', "@k"),
    ],
)
def test_new_names(part: str, name: str, new: str) -> None:
    assert rename(part, name) == new


@pytest.mark.parametrize(
    ("part", "name", "message"),
    [
        ("%a:", "a b", "'a b' is not a name of a value"),
        ("%a:", "", "'' is not a name of a value"),
        ("%a:", "k", "%k is in use in line 14"),
        ("%a:", "%b", "%b is in use in line 4"),
        ("^bb1", "bb2", r"\^bb2 is in use in line 13"),
        ("#map", "0", "'0' is not a name of an alias"),
        ("@f(", 'a"b', "is not a name of a symbol"),
        ("@f(", "f g", '@"f g" is in use in line 19'),
    ],
)
def test_names_that_are_refused(part: str, name: str, message: str) -> None:
    with pytest.raises(InvalidName, match=message):
        rename(part, name)


def test_a_renamed_program_is_the_same_program() -> None:
    """Rename random names of a program, and compare the operations."""
    chance = random.Random(5)
    text = EXAMPLE
    for number in range(12):
        analysis = look(text)
        places = [at for at, char in enumerate(text) if char in "%@"]
        found = references_at(analysis, chance.choice(places) + 1)
        if found is None:
            continue
        new = renamed(analysis, found, f"name{number}")
        for each in reversed(found.occurrences):
            text = text[: each.start] + new + text[each.end :]
        after = look(text)
        assert not list(after.diagnostics())
        before_ops, after_ops = (
            [op.name for op in each.pieces[0].parser.places.extents] for each in (analysis, after)
        )
        assert before_ops == after_ops
    assert "name" in text
