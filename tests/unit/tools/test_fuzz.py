"""Mutated programs: each is read or refused, without a crash, a hang or a blow-up of memory.

Whatever is accepted must print as a text that reads as the same program. Input N is the
same in every run.
"""

from __future__ import annotations

import random
import re
from functools import cache

import pytest
from breadth import NIGHTLY, cases
from fuzzing import limits, programs
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from tool_runs import mesh_opt

INPUTS = cases(30, 200_000)
PIPELINES = cases(8, 50_000)
BATCH = 200

_TOKEN = re.compile(
    r"[%@#!^]?[A-Za-z_][\w.$-]*|[%#^][0-9]+|[0-9]+(?:\.[0-9]+)?|\"[^\"\n]*\"|->|\s+|//[^\n]*|."
)
NASTY_TOKENS = [
    "-1", "0", "4294967296", "99999999999999999999", "0x7FC00000", "1.0e400", "-", "?", "*",
    "{", "}", "(", ")", "[", "]", "<", ">", ",", ":", "=", "->", "@g", "@m", '""', '"\\00"', "true",
    "unit", "loc(unknown)", "dense<>", "dense<1>", "array<i64>", "tensor<?x?xf32>", "tensor<f32>",
    "tensor<*xf32>", "vector<[4]xf32>", "index", "i0", "i1", "i16777216", "f8E4M3FN", "none",
    "affine_map<(d0) -> (d0 floordiv 0)>", "affine_map<() -> ()>", "^bb0", "^bb0:", "%0", "%0#1",
    "%0:2", "#shard<axisarray[[0]]>", "split_axes = [[0, 0]]", "{a}", "{a = 1}", "<{a = 1}>",
]  # fmt: skip
NASTY_CHARACTERS = "%@#!^\"'(){}[]<>,:=-+*/|?.0123456789abcxyz_ \n\t\\\x00\x7fé中\U0001f600"


@cache
def forms(text: str) -> list[str]:
    """A program as it is, and in the generic form unless it is refused."""
    code, output, _ = mesh_opt("--mlir-print-op-generic", text=text)
    return [text, text, output] if code == 0 else [text]


def original(chooser: random.Random) -> str:
    """A program to mutate; few are refused as they are."""
    found = forms(chooser.choice(programs()))
    if len(found) == 1 and chooser.random() < 0.7:
        return original(chooser)
    return chooser.choice(found)


def mutate(text: str, chooser: random.Random) -> str:
    """A program with one to four things changed in it."""
    for _ in range(chooser.choice((1, 1, 1, 2, 2, 3, 4))):
        text = chooser.choice(MUTATIONS)(text, chooser)
    return text


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _delete_token(text: str, chooser: random.Random) -> str:
    tokens = _tokens(text)
    if tokens:
        del tokens[chooser.randrange(len(tokens))]
    return "".join(tokens)


def _replace_token(text: str, chooser: random.Random) -> str:
    tokens = _tokens(text) or [""]
    other = _tokens(original(chooser)) or [""]
    pool = chooser.choice((NASTY_TOKENS, other, tokens))
    tokens[chooser.randrange(len(tokens))] = chooser.choice(pool)
    return "".join(tokens)


def _replace_by_its_like(text: str, chooser: random.Random) -> str:
    """Put another value for a value, a number for a number, a name for a name."""
    tokens = _tokens(text)
    words = [
        place for place, token in enumerate(tokens) if token[0].isalnum() or token[0] in "%@#!"
    ]
    if not words:
        return text
    place = chooser.choice(words)
    alike = [tokens[other] for other in words if _sort(tokens[other]) == _sort(tokens[place])]
    tokens[place] = chooser.choice(alike)
    return "".join(tokens)


def _sort(token: str) -> str:
    return "0" if token[0].isdigit() else "a" if token[0].isalpha() else token[0]


def _insert_token(text: str, chooser: random.Random) -> str:
    tokens = _tokens(text)
    place = chooser.randint(0, len(tokens))
    tokens[place:place] = [" ", chooser.choice(NASTY_TOKENS), " "]
    return "".join(tokens)


def _swap_tokens(text: str, chooser: random.Random) -> str:
    tokens = _tokens(text) or [""]
    first, second = chooser.randrange(len(tokens)), chooser.randrange(len(tokens))
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return "".join(tokens)


def _repeat_tokens(text: str, chooser: random.Random) -> str:
    tokens = _tokens(text)
    start = chooser.randint(0, len(tokens))
    part = tokens[start : start + chooser.randint(1, 12)]
    return "".join([*tokens[:start], *part * chooser.choice((2, 2, 3, 50)), *tokens[start:]])


def _delete_line(text: str, chooser: random.Random) -> str:
    lines = text.split("\n")
    del lines[chooser.randrange(len(lines))]
    return "\n".join(lines)


def _swap_lines(text: str, chooser: random.Random) -> str:
    lines = text.split("\n")
    first, second = chooser.randrange(len(lines)), chooser.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _splice(text: str, chooser: random.Random) -> str:
    lines, other = text.split("\n"), original(chooser).split("\n")
    rest = other[chooser.randrange(len(other)) :]
    return "\n".join([*lines[: chooser.randrange(len(lines))], *rest])


def _cut(text: str, chooser: random.Random) -> str:
    return text[: chooser.randint(0, len(text))]


def _change_characters(text: str, chooser: random.Random) -> str:
    place = chooser.randint(0, len(text))
    end = place + chooser.choice((0, 0, 1, 1, 2, 8))
    return (
        text[:place]
        + "".join(chooser.choices(NASTY_CHARACTERS, k=chooser.randint(0, 3)))
        + text[end:]
    )


def _change_number(text: str, chooser: random.Random) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    match = chooser.choice(numbers)
    return (
        text[: match.start()]
        + str(chooser.choice((0, 1, 2, 3, 5, 7, 2**31, 2**64)))
        + text[match.end() :]
    )


MUTATIONS = [
    *[_replace_by_its_like] * 5,
    *[_change_number] * 3,
    *[_change_characters, _replace_token] * 2,
    *[_delete_token, _insert_token, _swap_tokens, _repeat_tokens],
    *[_delete_line, _swap_lines, _splice, _cut],
]


def check(text: str, unregistered: bool) -> bool:
    """Read a text; whether it was accepted. Fails the test for anything but a verdict."""
    options = ["--allow-unregistered-dialect"] if unregistered else []
    code, printed, errors = mesh_opt(*options, text=text)
    assert code in (0, 1), text
    assert "a bug in" not in errors and "MemoryError" not in errors, f"{errors}\n{text}"
    if code == 1:
        assert re.search(r"^\S+:\d+:\d+: error: .", errors), f"{errors!r} for\n{text}"
        return False
    context = new_context(unregistered)
    module = parse_module(context, Source(text, "first"))
    try:
        again = parse_module(context, Source(printed, "second"))
    except Exception as problem:
        pytest.fail(f"does not read its own output: {problem}\n{printed}\n--- from\n{text}")
    assert module.is_structurally_equivalent(again), f"{printed}\n--- from\n{text}"
    return True


@pytest.mark.parametrize("start", INPUTS[::BATCH])
def test_mutated_programs(start: int) -> None:
    for number in range(start, min(start + BATCH, INPUTS.stop)):
        chooser = random.Random(number)
        text = mutate(original(chooser), chooser)
        with limits(text):
            check(text, chooser.random() < 0.3)


@pytest.mark.parametrize("passes", ["--spmd", "--canonicalize", "--data-tile"])
@pytest.mark.parametrize("start", PIPELINES[::BATCH])
def test_mutated_programs_through_passes(start: int, passes: str) -> None:
    """What can be read can be transformed, or is refused with a reason: no pass breaks down."""
    for number in range(start, min(start + BATCH, PIPELINES.stop)):
        chooser = random.Random(number)
        text = mutate(original(chooser), chooser)
        with limits(text):
            code, printed, errors = mesh_opt(passes, "--verify-each", text=text)
        assert "bug in mesh-opt" not in errors, f"{errors}\n{text}"
        assert "produced this" not in errors, f"{errors}\n{text}"
        if code == 0:
            parse_module(new_context(), Source(printed, "result"))
        else:
            assert re.search(r"^\S+:\d+:\d+: error: .", errors), f"{errors!r} for\n{text}"


def test_the_corpus_itself_is_mostly_accepted() -> None:
    """A corpus that is refused at its first line would make the test above see nothing."""
    corpus = programs()[:: 1 if NIGHTLY else 16]
    accepted = sum(check(text, False) for text in corpus)
    assert accepted > len(corpus) // 3
