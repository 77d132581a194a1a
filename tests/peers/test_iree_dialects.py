"""Operations, types and attributes of IREE's dialects: what iree-opt makes of our text.

Files in `iree_forms/` are as those in `forms/` (`test_forms.py`), `.mlir` files hold whole modules.
Each is read in the form it is written in, in the generic form, and with an attribute that no
operation knows; what we print has to read as the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

import pytest
from mesh_opt.dialects.registry import OWN_DIALECTS
from tool_runs import printed
from xdsl.irdl import IRDLOperation

FORMS = sorted((Path(__file__).parent / "iree_forms").iterdir())
DIALECTS = ("flow", "hal", "iree_tensor_ext", "stream", "util")
FORMED = (*DIALECTS, "iree_linalg_ext")
"""Those whose operations are in the files; Python has no list of those of the last."""
SPLIT, UNREGISTERED = "--split-input-file", "--allow-unregistered-dialect"
GENERIC = "--mlir-print-op-generic"
BETWEEN = "// -----\n"
ONE_LINE = re.compile(rf'(?P<head>.*"(?:{"|".join(FORMED)})\..*?(?:\)|}}>))(?P<types> : \([^{{]*)')
"""An operation without regions or attributes of its own, in the generic form."""

GENERIC_NAME = re.compile(rf'"(?:{"|".join(FORMED)})\.(?!\w*\.?func")[\w.]+"\(')
"""A function is written so where it says that its arguments have no attributes."""


def modules(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".mlir":
        yield from text.split(BETWEEN)
        return
    header, below = "", ""
    for line in text.splitlines():
        if line.startswith("## "):
            header = line[3:]
        elif line.startswith("#> "):
            below += line[3:] + "\n"
        elif line.strip():
            yield f"{header} {{\n  {line}\n  util.return\n}}\n{below}"


def with_attribute(text: str) -> str:
    lines = text.splitlines()
    found = (ONE_LINE.fullmatch(line) for line in lines)
    return "\n".join(
        line if match is None else f"{match['head']} {{an.attribute}}{match['types']}"
        for line, match in zip(lines, found, strict=True)
    )


def ours(text: str, *options: str) -> str:
    return printed(SPLIT, UNREGISTERED, *options, text=text)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms(path: Path, iree_opt: Callable[..., str]) -> None:
    pieces = list(modules(path))
    written = BETWEEN.join(pieces)
    generic = iree_opt(written, GENERIC)
    marked = BETWEEN.join(map(with_attribute, generic.split(BETWEEN)))
    assert "an.attribute" in marked
    marked_generic = iree_opt(marked, GENERIC)
    for wanted, spelling in (
        (generic, ours(written)),
        (generic, ours(generic)),
        (generic, ours(iree_opt(written))),
        (marked_generic, ours(marked_generic)),
    ):
        assert not GENERIC_NAME.search(spelling), spelling
        found = iree_opt(spelling, GENERIC)
        for piece, want, is_now in zip_longest(
            pieces, wanted.split(BETWEEN), found.split(BETWEEN), fillvalue="nothing"
        ):
            assert is_now.strip() == want.strip(), piece


def test_every_operation_is_known(peers_python: Callable[[str], str]) -> None:
    names = peers_python(
        "import importlib, re, inspect\n"
        f"for dialect in {DIALECTS}:\n"
        "    module = importlib.import_module(f'iree.compiler.dialects._{dialect}_ops_gen')\n"
        "    source = inspect.getsource(module)\n"
        "    print(*re.findall('OPERATION_NAME = \"(.*)\"', source))\n"
    ).split()
    known = {operation.name for name in DIALECTS for operation in OWN_DIALECTS[name]().operations}
    assert len(names) > 300
    assert set(names) - known == set()


OPERANDS = """
import importlib, inspect, re
for dialect in {}:
    module = importlib.import_module(f"iree.compiler.dialects._{{dialect}}_ops_gen")
    for text in inspect.getsource(module).split("register_operation(_Dialect)")[1:]:
        name = re.search('OPERATION_NAME = "(.*)"', text)[1]
        print(name, len(re.findall(r"operands\\.(?:append|extend)\\(", text)))
"""


def test_operands_have_as_many_names(peers_python: Callable[[str], str]) -> None:
    lines = peers_python(OPERANDS.format(DIALECTS)).splitlines()
    wanted = {name: int(count) for name, count in map(str.split, lines)}
    known = {
        operation.name: len(cast("type[IRDLOperation]", operation).get_irdl_definition().operands)
        for name in DIALECTS
        for operation in OWN_DIALECTS[name]().operations
    }
    assert len(wanted) > 290
    assert {name: known[name] for name in wanted} == wanted
