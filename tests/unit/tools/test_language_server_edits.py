"""`mesh-lsp`: an edit finds what a look at the whole text finds, and reads only what changed."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from functools import partial

import pytest
from breadth import breadth
from mesh_opt.ir.text.parser import SourceParser
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.language_server.analysis import Analysis, analyse
from mesh_opt.tools.language_server.recovering_parser import Cancelled
from xdsl.ir import Operation

CONTEXT = new_context()

FUNCTIONS = "#map = affine_map<(d0) -> (d0)>\nshard.grid @g(shape = 2x4)\n" + "\n".join(
    f"""func.func @f{number}(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %s = shard.sharding @g split_axes = [[{number % 2}]] : !shard.sharding
  %b = shard.shard %a to %s : tensor<8xf32>
  %c = func.call @f{(number + 1) % 4}(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%c : tensor<8xf32>) outs(%c : tensor<8xf32>) {{
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }} -> tensor<8xf32>
  return %d : tensor<8xf32>
}}"""
    for number in range(4)
)
EDITS = (
    ("%b = shard.shard", "\n  %b = shard.shard"),
    ("  return %d", "  return %e"),
    ("linalg.yield %x : f32", "linalg.yield %x : f64"),
    ("@f2(%a: tensor<8xf32>) ->", "@f2(%a: tensor<9xf32>) ->"),
    ("shape = 2x4", "shape = 2"),
    ("#map = affine_map<(d0) -> (d0)>", "#map = affine_map<(d0, d1) -> (d0)>"),
    ("func.func @f1", "\n\nfunc.func @f1"),
    ("func.func @f3", "// -----\nfunc.func @f3"),
    ("\n  return %d : tensor<8xf32>\n}\nfunc.func @f2", "\nfunc.func @f2"),
    ("func.func @f0", "module {\nfunc.func @f0"),
)


def look(text: str) -> Analysis:
    return analyse(text, "program.mlir", CONTEXT)


def seen(analysis: Analysis) -> list[object]:
    """All that an editor could ask of a text."""
    found: list[object] = [str(each) for each in analysis.diagnostics()]
    for piece in analysis.pieces:
        places = piece.parser.places
        found += [(op.name, str(op.location), at) for op, at in places.extents.items()]
        found += [(start, end, str(value.type)) for start, end, value in places.uses]
        found += [(start, end, len(values)) for start, end, values in places.definitions]
        found.append(str(piece.module))
    return found


def test_an_edit_finds_what_a_look_at_the_whole_finds() -> None:
    """Functions that did not change are taken as they were read."""
    random_edits = random.Random(0)
    for _ in range(breadth(6, 60)):
        text, last = FUNCTIONS, look(FUNCTIONS)
        for _ in range(4):
            old, new = random_edits.choice(EDITS)
            if random_edits.random() < 0.3:
                old, new = new, old
            count = text.count(old)
            if not count:
                continue
            begin = -1
            for _ in range(random_edits.randrange(count) + 1):
                begin = text.find(old, begin + 1)
            text = text[:begin] + new + text[begin + len(old) :]
            if random_edits.random() < 0.3:
                # A look that is given up leaves the last one usable.
                answers = iter([False] * random_edits.randrange(20))
                with suppress(Cancelled):
                    analyse(text, "program.mlir", CONTEXT, last, partial(next, answers, True))
            last = analyse(text, "program.mlir", CONTEXT, last)
            assert seen(last) == seen(look(text)), text


def reading(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operations that are read from now on, as they are read."""
    read: list[str] = []
    parse = SourceParser.parse_operation

    def counted(self: SourceParser) -> Operation:
        operation = parse(self)
        read.append(operation.name)
        return operation

    monkeypatch.setattr(SourceParser, "parse_operation", counted)
    return read


def test_an_edit_reads_one_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(FUNCTIONS)
    read = reading(monkeypatch)
    edited = FUNCTIONS.replace("%b = shard.shard", "\n  %b = shard.shard", 1)
    again = analyse(edited, "program.mlir", CONTEXT, first)
    assert read.count("func.func") == 1 and not list(again.diagnostics())


def test_an_edit_reads_what_it_changes_in_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements around it are taken as they were read, with the values of the new text."""
    first = look(FUNCTIONS)
    edited = FUNCTIONS.replace("split_axes = [[0]]", "split_axes = [[1]]", 1)
    read = reading(monkeypatch)
    again = analyse(edited, "program.mlir", CONTEXT, first)
    assert read == ["shard.sharding", "func.func"], read
    assert not list(again.diagnostics())
    monkeypatch.undo()
    assert str(again.pieces[0].module) == str(look(edited).pieces[0].module)


STATEMENT_EDITS = (
    ("%c = func.call", "%b = func.call"),
    ("linalg.yield %x", "linalg.yield %y"),
    ("  return %d : tensor<8xf32>", "  return %d : tensor<8xf32>\n  return %c : tensor<8xf32>"),
    ("%b = shard.shard %a", "%b = shard.shard %c"),
    ("  } -> tensor<8xf32>", "  -> tensor<8xf32>"),
    ("  %s = shard.sharding", "  // nothing\n  %s = shard.sharding"),
    ("(%a: tensor<8xf32>) ->", "(%a: tensor<8xf64>) ->"),
    ("func.func @f2", "return\nfunc.func @f2"),
    ("\nfunc.func @f3", "\n  func.func @f3"),
)


@pytest.mark.parametrize("seed", range(4))
def test_edits_of_statements_find_what_a_look_at_the_whole_finds(seed: int) -> None:
    chance = random.Random(seed)
    text, last = FUNCTIONS, look(FUNCTIONS)
    for _ in range(breadth(6, 60)):
        old, new = chance.choice(STATEMENT_EDITS)
        if chance.random() < 0.4:
            old, new = new, old
        places = [match.start() for match in re.finditer(re.escape(old), text)]
        if not places:
            continue
        begin = chance.choice(places)
        text = text[:begin] + new + text[begin + len(old) :]
        last = analyse(text, "program.mlir", CONTEXT, last)
        assert sorted(map(str, seen(last))) == sorted(map(str, seen(look(text)))), text
