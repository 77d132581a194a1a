"""Pipelines as text, and options by the types of a pass's fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from mesh_opt.passes.manager.pass_manager import build_root_steps, describe_steps
from mesh_opt.passes.manager.pass_options import build_pass, describe_pass
from mesh_opt.passes.manager.pipeline_text import (
    PassEntry,
    PipelineError,
    parse_options,
    parse_pipeline,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class ManyOptions(ModulePass):
    """A pass that does nothing, with an option of every type."""

    name = "many-options"

    count: int = 0
    ratio: float = 1.0
    enable_it: bool = False
    grid: str = ""
    sizes: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    traversal: Literal["forward", "backward"] = "forward"
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Required(ModulePass):
    name = "required"

    target: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


TABLE = {
    "many-options": lambda: ManyOptions,
    "alias": lambda: ManyOptions,
    "required": lambda: Required,
}


def build(text: str) -> ModulePass:
    (entry,) = parse_pipeline(text)
    assert isinstance(entry, PassEntry)
    return build_pass(entry, text, TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a,b",
        "builtin.module(a,func.func(b{k=v,w l=[1,2] m},c),any(d))",
        'a{k={x=y z=w} l="a b, }"}',
        "func.func()",
    ],
)
def test_pipelines_print_as_they_are_read(text: str) -> None:
    assert ",".join(map(str, parse_pipeline(text))) == text


def test_blanks_do_not_matter() -> None:
    spaced = " builtin.module ( a { k=v } ,\n func.func( b ) ) "
    assert ",".join(map(str, parse_pipeline(spaced))) == "builtin.module(a{k=v},func.func(b))"


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("a,(b)", 2, "expected the name"),
        ("builtin.module(a", 16, "expected ')'"),
        ("a{k=v", 5, "expected the name of an option, or '}'"),
        ("a{k='v}", 4, "not closed"),
        ("a{k=[1,2}", 4, "expected ']'"),
        ("a)b", 1, "expected ',' or the end"),
        ("a b", 2, "expected ',' or the end"),
        ("a,", 2, "expected the name"),
        ("m(a,)", 4, "expected the name"),
        ("(" * 5000, 0, "expected the name"),
        ("m(" * 5000, 130, "nested deeper"),
    ],
)
def test_errors_have_an_offset(text: str, offset: int, message: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_pipeline(text)
    assert raised.value.offset == offset
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ManyOptions()),
        ("count=3", ManyOptions(count=3)),
        ("count=-0x10", ManyOptions(count=-16)),
        ("ratio=1", ManyOptions(ratio=1.0)),
        ("ratio=2.5e3", ManyOptions(ratio=2500.0)),
        ("enable-it", ManyOptions(enable_it=True)),
        ("enable_it=false", ManyOptions(enable_it=False)),
        ("grid=@g", ManyOptions(grid="@g")),
        ('grid="a b"', ManyOptions(grid="a b")),
        ("grid=true", ManyOptions(grid="true")),
        ("grid=5", ManyOptions(grid="5")),
        ("sizes=1,2", ManyOptions(sizes=(1, 2))),
        ("sizes=[1, 2]", ManyOptions(sizes=(1, 2))),
        ("sizes=", ManyOptions(sizes=())),
        ("sizes=7", ManyOptions(sizes=(7,))),
        ("words=a,'b,c'", ManyOptions(words=("a", "b,c"))),
        ("words=1,true", ManyOptions(words=("1", "true"))),
        ("traversal=backward", ManyOptions(traversal="backward")),
        ("limit=4 count=5", ManyOptions(limit=4, count=5)),
        ("limit", ManyOptions(limit=None)),
        ("count=1 count=2", ManyOptions(count=2)),
        ("sizes=1,2 sizes=3", ManyOptions(sizes=(1, 2, 3))),
        ("count={3} sizes={1, 2} words={a,b}", ManyOptions(3, sizes=(1, 2), words=("a", "b"))),
    ],
)
def test_values_by_the_type_of_the_field(options: str, expected: ManyOptions) -> None:
    built = build(f"many-options{{{options}}}")
    assert built == expected
    assert build(describe_pass(built)) == expected
    assert build("alias") == ManyOptions()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("many-optoins", "there is no pass 'many-optoins'; did you mean 'many-options'?"),
        ("many-options{coutn=1}", "no option 'coutn'; did you mean 'count'?"),
        ("many-options{zzz=1}", "no option 'zzz'; its options are count, ratio"),
        ("many-options{count=x}", "option 'count' cannot be 'x'; expected an integer"),
        ("many-options{count}", "option 'count' needs a value"),
        ("many-options{enable-it=maybe}", "expected true or false"),
        ("many-options{traversal=up}", "expected 'forward' or 'backward'"),
        ("many-options{sizes=1,x}", "expected a list of an integer"),
        ("required", 'requires argument "target"'),
    ],
)
def test_invalid_options(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as raised:
        build(text)
    assert message in raised.value.message


def test_options_of_a_pass_flag() -> None:
    assert parse_options("a=1 b") == (("a", "1"), ("b", None))
    with pytest.raises(PipelineError):
        parse_options("a=1},x{b")


def test_whole_pipeline_prints_back() -> None:
    text = "builtin.module(many-options{sizes=1,2 grid=@g},func.func(alias))"
    steps = build_root_steps(parse_pipeline(text), text, TABLE)
    assert (
        describe_steps(steps)
        == "builtin.module(many-options{grid=@g sizes=1,2},func.func(many-options))"
    )
