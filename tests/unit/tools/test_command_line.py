"""Tables of options: how arguments are read, and the help that is made of a table."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.tools.command_line import (
    Information,
    choice,
    flag,
    help_text,
    integer,
    listed,
    option_names,
    optional,
    parse_arguments,
    positional,
    real,
    repeated,
    text,
)
from mesh_opt.tools.opt.options import Options
from mesh_opt.tools.run.options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Group:
    """What is tried.

    More about it.
    """

    switch: bool = flag("switch it on", "s")
    name: str | None = text("a name", default="x", shown="NAME")
    maybe: str | None = optional("perhaps", "bare", "FILE")
    color: str = choice("which", "red", "blue")
    display: str | None = choice("how", "list", "tree", bare="tree")
    words: tuple[str, ...] = listed("words")
    a_very_long_name_of_an_option: tuple[str, ...] = repeated("texts")
    count: int | None = integer("how many")
    size: float | None = real("how much")


@dataclass(frozen=True, kw_only=True)
class Table(Group, Information):
    """The options of a test."""

    file: str = positional("-")


def parse(*arguments: str) -> Table:
    return parse_arguments(Table, arguments, {})[0]


def test_dashes_and_equals_signs() -> None:
    for spelling in (["--name=y"], ["-name=y"], ["--name", "y"], ["-name", "y"]):
        assert parse(*spelling).name == "y"
    assert parse("-s").switch and not parse("-s=false").switch and parse("--switch=1").switch
    assert parse("--", "--name").file == "--name"
    assert parse("--name", "--switch").name == "--switch"


def test_kinds() -> None:
    assert (parse().maybe, parse("--maybe", "f").maybe, parse("--maybe=").maybe) == (
        *(None, "bare", ""),
    )
    assert parse("--maybe", "f").file == "f"
    assert (parse().display, parse("--display").display) == (None, "tree")
    assert parse("--words=a,b", "--words=c").words == ("a", "b", "c")
    options = ["--a-very-long-name-of-an-option=a,b", "-a-very-long-name-of-an-option", "c"]
    assert parse(*options).a_very_long_name_of_an_option == ("a,b", "c")
    assert (parse("--count=-3").count, parse("--size=1e-3").size) == (-3, 1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nmae=x"], "there is no option '--nmae'; did you mean '--name'?"),
        (["--color=green"], "option '--color' is red or blue, not 'green'"),
        (["--display=flat"], "option '--display' is list or tree, not 'flat'"),
        (["--count=1.5"], "option '--count' takes an integer, not '1.5'"),
        (["--size=big"], "option '--size' takes a number, not 'big'"),
        (["--name"], "option '--name' needs a value"),
        (["--switch=maybe"], "option '--switch' is true or false, not 'maybe'"),
        (["a", "b"], "more than one input: 'a' and 'b'"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(*arguments)
    assert str(caught.value) == message


def test_names_of_passes_keep_their_order() -> None:
    passes = {"b": None, "a": None}
    assert parse_arguments(Table, ["-b", "--a=k=v", "f"], passes)[1] == [("b", None), ("a", "k=v")]


def test_help_is_in_groups() -> None:
    text = help_text(Table, "a tool\n")
    assert text.startswith("a tool\n\nInformation:\n  --help, -h ")
    assert text.partition("What is tried:\n")[2] == (
        "  --switch, -s                    switch it on\n"
        "  --name=NAME                     a name\n"
        "  --maybe[=FILE]                  perhaps\n"
        "  --color=red|blue                which\n"
        "  --display[=list|tree]           how\n"
        "  --words=a,b                     words\n"
        "  --a-very-long-name-of-an-option=...\n"
        "                                  texts\n"
        "  --count=N                       how many\n"
        "  --size=X                        how much\n"
    )
    names = [line.split()[0] for line in help_text(Table, "", grouped=False).splitlines()[2:]]
    assert [name for name in names if name.startswith("--")] == sorted(
        name for name in names if name.startswith("--")
    )


@pytest.mark.parametrize("table", [Options, RunOptions])
def test_every_option_of_the_tools_is_explained(table: type[Information]) -> None:
    text = help_text(table, "")
    assert [name for name in option_names(table) if f"-{name}" not in text] == []
    assert max(map(len, text.splitlines())) <= 100
    headings = [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert len(headings) == len(set(headings)) > 5
