"""Layout origins through control flow, calls and globals, and what specialisation leaves alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.stream.analysis.layout_origin import LayoutOrigins
from mesh_opt.passes.stream.specialize_encodings import SpecializeEncodingsPass
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[4]

DEVICES = "\n".join(
    f'util.global private @{name} = #hal.device.target<"local", [#hal.executable.target<"x", '
    f'"{name}", {{iree.encoding.resolver = #iree_encoding.specialization_resolver<{seed}>}}>]> '
    ": !hal.device"
    for name, seed in (("a", 1), ("b", 2))
)
A, B = "on(#hal.device.affinity<@a>)", "on(#hal.device.affinity<@b>)"
EMPTY = "tensor<4xf32> in !stream.resource<*>{%s}"


def read(text: str) -> ModuleOp:
    return parse_module(new_context(), Source(f"{DEVICES}\n{text}", "test.mlir"))


def origins_of_last_return(text: str) -> list[str]:
    module = read(text)
    origins = LayoutOrigins(module)
    returns = [op for op in module.walk() if op.name == "util.return" and op.operands]
    return [str(origin.affinity) for origin in origins.of(returns[-1].operands[0])]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"%r = stream.tensor.empty {A} : {EMPTY}", "a"),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\n"
            "%r = stream.async.transfer %0 : !stream.resource<*>{%s} from(#hal.device.affinity<@a>)"
            " -> to(#hal.device.affinity<@b>) !stream.resource<*>{%s}",
            "a",
        ),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\n%1 = stream.tensor.empty {B} : {EMPTY}\n"
            "%r = scf.if %p -> (!stream.resource<*>) {\nscf.yield %0 : !stream.resource<*>\n"
            "} else {\nscf.yield %1 : !stream.resource<*>\n}",
            "ab",
        ),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\n%1 = stream.tensor.empty {B} : {EMPTY}\n"
            "%r, %q = scf.while (%x = %0, %y = %1) : (!stream.resource<*>, !stream.resource<*>) -> "
            "(!stream.resource<*>, !stream.resource<*>) {\n"
            "scf.condition(%p) %x, %y : !stream.resource<*>, !stream.resource<*>\n} do {\n"
            "^bb0(%u: !stream.resource<*>, %v: !stream.resource<*>):\n"
            "scf.yield %v, %u : !stream.resource<*>, !stream.resource<*>\n}",
            "ab",
        ),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\n%1 = stream.tensor.empty {B} : {EMPTY}\n"
            f"%r = stream.tensor.update {B} %1, %0[%s] : {EMPTY} -> "
            "tensor<4xf32> in %0 as !stream.resource<*>{%s}",
            "a",
        ),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\n"
            f"%r = stream.async.dispatch {B} @e::@f(%0[%s to %s for %s]) : "
            "(!stream.resource<*>{%s}) -> %0{%s}",
            "a",
        ),
        (
            f"%0 = stream.tensor.empty {A} : {EMPTY}\ncf.br ^end(%0 : !stream.resource<*>)\n"
            "^end(%r: !stream.resource<*>):",
            "a",
        ),
    ],
)
def test_origin_of_layouts(body: str, expected: str) -> None:
    text = (
        "util.func public @f(%s: index, %p: i1) -> !stream.resource<*> {\n"
        f"{body}\nutil.return %r : !stream.resource<*>\n}}"
    )
    wanted = [f"#hal.device.affinity<@{name}>" for name in expected]
    assert sorted(origins_of_last_return(text)) == wanted


def test_through_a_mutable_global_and_calls() -> None:
    text = f"""
util.global private mutable @g : !stream.resource<variable>
util.func private @store(%r: !stream.resource<variable>) {{
  util.global.store %r, @g : !stream.resource<variable>
  util.return
}}
util.func public @main(%s: index) -> !stream.resource<variable> {{
  %0 = stream.tensor.empty {A} : tensor<4xf32> in !stream.resource<variable>{{%s}}
  %1 = stream.tensor.empty {B} : tensor<4xf32> in !stream.resource<variable>{{%s}}
  util.call @store(%0) : (!stream.resource<variable>) -> ()
  util.call @store(%1) : (!stream.resource<variable>) -> ()
  %r = util.global.load @g : !stream.resource<variable>
  util.return %r : !stream.resource<variable>
}}"""
    found = origins_of_last_return(text)
    assert sorted(found) == ["#hal.device.affinity<@a>", "#hal.device.affinity<@b>"]


@pytest.mark.parametrize("caller_first", [True, False])
def test_a_public_function_is_called_from_outside_as_well(caller_first: bool) -> None:
    callee = """
util.func public @f(%r: !stream.resource<*> {iree.abi.affinity = #hal.device.affinity<@b>})
    -> !stream.resource<*> {
  util.return %r : !stream.resource<*>
}"""
    caller = f"""
util.func public @main(%s: index) {{
  %0 = stream.tensor.empty {A} : {EMPTY}
  %1 = util.call @f(%0) : (!stream.resource<*>) -> !stream.resource<*>
  util.return
}}"""
    found = origins_of_last_return(caller + callee if caller_first else callee + caller)
    assert sorted(found) == ["#hal.device.affinity<@a>", "#hal.device.affinity<@b>"]


def test_a_program_with_an_error_is_left_as_it_was() -> None:
    text = f"""
util.func public @f(%s: index) {{
  %0 = stream.tensor.sizeof {A} tensor<4xf32, #iree_encoding.testing<>> : index
  %1 = stream.tensor.sizeof tensor<4xf32, #iree_encoding.testing<>> : index
  util.return
}}"""
    module, context = read(text), new_context()
    context.load_registered_dialect("hal")
    before = str(module)
    with pytest.raises(OperationError, match="no affinity"):
        SpecializeEncodingsPass().apply(context, module)
    assert str(module) == before


def test_two_dialects_of_affinities() -> None:
    text = f"""
util.func public @f(%s: index) {{
  %0 = stream.tensor.sizeof {A} tensor<4xf32, #iree_encoding.testing<>> : index
  %1 = stream.tensor.sizeof on(#util.inline.never) tensor<4xf32, #iree_encoding.testing<>> : index
  util.return
}}"""
    module, context = read(text), new_context()
    context.load_registered_dialect("hal")
    with pytest.raises(OperationError, match="others in the module are of 'hal'"):
        SpecializeEncodingsPass().apply(context, module)


def test_stream_imports_nothing_of_hal() -> None:
    """The dependency that the design forbids: stream knows affinities as attributes only."""
    seen: set[str] = set()
    stack = [
        *(ROOT / "dialects" / "stream").glob("*.py"),
        *(ROOT / "passes" / "stream").rglob("*.py"),
    ]
    while stack:
        path = stack.pop()
        if str(path) in seen or not path.exists():
            continue
        seen.add(str(path))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1]
                stack.append(base.joinpath(*(node.module or "").split(".")).with_suffix(".py"))
    names = {Path(path).relative_to(ROOT).with_suffix("").as_posix() for path in seen}
    assert {"dialects/stream/affinity", "dialects/iree_encoding/interfaces"} <= names
    assert not [name for name in names if "/hal" in name]
