"""`mesh-lsp`: what is known of a text while it is written, and the protocol around it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mesh_opt.ir.text.parser import SourceParser
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.language_server.analysis import Analysis, analyse
from mesh_opt.tools.language_server.completion import Operations, completions_at
from mesh_opt.tools.language_server.definitions import definition_at
from mesh_opt.tools.language_server.hover import hover_at
from mesh_opt.tools.language_server.outline import outline
from mesh_opt.tools.language_server.positions import Positions
from mesh_opt.tools.language_server.recovering_parser import Cancelled
from mesh_opt.tools.language_server.shardings import find_shardings
from xdsl.ir import Operation

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
    return [(each.place.line if each.place else 0, each.message) for each in found]


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


def test_what_was_lost_is_no_error_twice() -> None:
    text = "func.func @f() {\n  %a = arith.nope\n  %b = arith.addi %a, %a : i32\n  return\n}\n"
    assert [line for line, _ in messages(text)] == [2]
    text = "func.func @f(%a: nope) {\n  return\n}\nfunc.func @g() {\n  call @f() : () -> ()\n"
    assert [line for line, _ in messages(text + "  return\n}\n")] == [1]
    text = "#m = affine_map<(d0) -> (d1)>\nfunc.func private @f(tensor<4xf32, #m>)\n"
    assert [line for line, _ in messages(text)] == [1]


def test_pieces_are_read_apart() -> None:
    text = "func.func @f() { return }\n// -----\nfunc.func @f() { return %a : i32 }\n// -----\n"
    first = look(text)
    assert [(each.place.line, each.message) for each in first.diagnostics() if each.place] == [
        (3, "use of undefined value '%a'")
    ]
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
    from mesh_opt.tools.language_server.recovering_parser import Cancelled

    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 10

    with pytest.raises(Cancelled):
        analyse(EXAMPLE, "program.mlir", CONTEXT, None, is_cancelled)
    assert asked == 11


# The protocol -------------------------------------------------------------------------------------


class Client:
    """Speaks the protocol with a server as an editor does, one message after the other."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "mesh_opt.tools.mesh_lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0
        self.diagnostics: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
        """By document and version."""

    def send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._server.stdin.flush()

    def receive(self) -> dict[str, Any]:
        stdout = self._server.stdout
        assert stdout is not None
        length = 0
        while line := stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has gone"
        message = json.loads(stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            found = message["params"]
            self.diagnostics[found["uri"], found.get("version")] = found["diagnostics"]
        return message

    def request(self, method: str, **params: Any) -> Any:
        self._number += 1
        number = self._number
        self.send(id=number, method=method, params=params)
        while (message := self.receive()).get("id") != number or "method" in message:
            pass
        assert "error" not in message, message
        return message["result"]

    def notify(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def at(self, method: str, uri: str, line: int, character: int) -> Any:
        position = {"line": line, "character": character}
        return self.request(method, textDocument={"uri": uri}, position=position)

    def diagnostics_of(self, uri: str, number: int) -> list[dict[str, Any]]:
        while (uri, number) not in self.diagnostics:
            self.receive()
        return self.diagnostics[uri, number]

    def change(self, uri: str, number: int, *edits: tuple[int, int, int, int, str]) -> None:
        changes = [
            {
                "range": {
                    "start": {"line": a, "character": b},
                    "end": {"line": c, "character": d},
                },
                "text": text,
            }
            for a, b, c, d, text in edits
        ]
        document = {"uri": uri, "version": number}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=changes)

    def open(self, uri: str, text: str) -> None:
        item = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)

    def close(self) -> int:
        self.request("shutdown")
        self.notify("exit")
        return self._server.wait(30)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    pytest.importorskip("pygls")
    made = Client()
    result = made.request("initialize", processId=None, rootUri=None, capabilities={})
    assert result["serverInfo"]["name"] == "mesh-lsp"
    assert {"hoverProvider", "definitionProvider", "documentSymbolProvider"} <= set(
        result["capabilities"]
    )
    made.notify("initialized")
    yield made
    assert made.close() == 0


URI = "file:///tmp/program.mlir"


def test_a_session(client: Client) -> None:
    client.open(URI, EXAMPLE)
    assert client.diagnostics_of(URI, 1) == []
    line = EXAMPLE[: EXAMPLE.index("%h = ")].count("\n")
    shown = client.at("textDocument/hover", URI, line, 3)["contents"]
    assert shown["kind"] == "markdown" and "256 bytes on each device" in shown["value"]
    # A letter is typed, and taken back.
    client.change(URI, 2, (line, 7, line, 7, "x"))
    (error,) = client.diagnostics_of(URI, 2)
    assert error["message"].startswith("unknown operation 'xlinalg.matmul'")
    assert error["range"] == {
        "start": {"line": line, "character": 7},
        "end": {"line": line, "character": 21},
    }
    client.change(URI, 3, (line, 7, line, 8, ""))
    assert client.diagnostics_of(URI, 3) == []
    use = EXAMPLE[: EXAMPLE.index("ins(%h,")].count("\n") if "ins(%h," in EXAMPLE else line
    place = client.at("textDocument/definition", URI, line, 28)
    assert place["uri"] == URI and use >= 0
    assert place["range"]["start"]["line"] == EXAMPLE[: EXAMPLE.index("%x_s = ")].count("\n")
    symbols = client.request("textDocument/documentSymbol", textDocument={"uri": URI})
    assert [each["name"] for each in symbols] == ["@devices", "@mlp"]
    client.change(URI, 4, (line, 0, line, 0, "  shard.all_r\n"))
    items = client.at("textDocument/completion", URI, line, 13)
    assert [item["label"] for item in items] == ["shard.all_reduce"]
    assert items[0]["textEdit"]["range"]["start"] == {"line": line, "character": 2}


def test_only_the_last_of_quick_changes_is_looked_at(client: Client) -> None:
    uri = "file:///tmp/quick.mlir"
    text = "".join(
        f"func.func @f{n}(%a: i32) -> i32 {{\n  %b = arith.addi %a, %a : i32\n"
        "  return %b : i32\n}\n"
        for n in range(300)
    )
    client.open(uri, text)
    assert client.diagnostics_of(uri, 1) == []
    for number in range(2, 30):
        client.change(uri, number, (0, 0, 0, 0, " "))
    begin = time.monotonic()
    # The protocol is answered while the text is looked at.
    assert (
        client.request(
            "textDocument/hover",
            **{
                "textDocument": {"uri": "file:///tmp/none.mlir"},
                "position": {"line": 0, "character": 0},
            },
        )
        is None
    )
    assert time.monotonic() - begin < 1
    assert client.diagnostics_of(uri, 29) == []
    seen = [number for name, number in client.diagnostics if name == uri]
    assert seen[0] == 1 and seen[-1] == 29 and len(seen) < 10
    client.notify("textDocument/didClose", textDocument={"uri": uri})
    assert client.diagnostics_of(uri, None) == []  # pyright: ignore[reportArgumentType]


def test_texts_that_are_nested_too_deeply_end_nothing(client: Client) -> None:
    uri = "file:///tmp/deep.mlir"
    client.open(uri, "module {\n" * 1100)
    messages = [each["message"] for each in client.diagnostics_of(uri, 1)]
    assert "nested deeper than 256 levels" in messages
    client.open("file:///tmp/next.mlir", "func.func @f() { return }\u2028")
    assert client.diagnostics_of("file:///tmp/next.mlir", 1)


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
    for _ in range(12):
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
    for _ in range(12):
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
