"""`mesh-lsp`: the protocol, as an editor speaks it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "examples" / "mlp_dp_tp.mlir").read_text(encoding="utf-8")


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
        message = self._answer(method, params)
        assert "error" not in message, message
        return message["result"]

    def error(self, method: str, **params: Any) -> Any:
        return self._answer(method, params)["error"]

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self.send(id=number, method=method, params=params)
        while (message := self.receive()).get("id") != number or "method" in message:
            pass
        return message

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


def test_references_and_other_names(client: Client) -> None:
    uri = "file:///tmp/references.mlir"
    text = "// \U0001d538\nfunc.func @f(%x: i32) -> i32 {\n"
    text += "  %y = arith.addi %x, %x : i32\n  return %y : i32\n}\n"
    client.open(uri, text)
    document, position = {"uri": uri}, {"line": 2, "character": 19}
    places = [(1, 13, 15), (2, 18, 20), (2, 22, 24)]

    def place(line: int, first: int, last: int) -> dict[str, Any]:
        return {
            "start": {"line": line, "character": first},
            "end": {"line": line, "character": last},
        }

    for include in (True, False):
        found = client.request(
            "textDocument/references",
            textDocument=document,
            position=position,
            context={"includeDeclaration": include},
        )
        assert found == [
            {"uri": uri, "range": place(*each)} for each in places[0 if include else 1 :]
        ]
    shown = client.at("textDocument/documentHighlight", uri, 2, 19)
    assert [each["kind"] for each in shown] == [3, 2, 2]
    asked = client.at("textDocument/prepareRename", uri, 2, 19)
    assert asked == {"range": place(2, 18, 20), "placeholder": "%x"}
    assert client.at("textDocument/prepareRename", uri, 2, 10) is None
    edit = client.request(
        "textDocument/rename", textDocument=document, position=position, newName="z"
    )
    assert edit["changes"][uri] == [{"range": place(*each), "newText": "%z"} for each in places]
    problem = client.error(
        "textDocument/rename", textDocument=document, position=position, newName="y"
    )
    assert problem["message"] == "%y is in use in line 3"


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
