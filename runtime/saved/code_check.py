"""Check host code from a file before it runs.

Everything that an instruction refers to must exist: registers are in the frame, branch targets are
instructions of the same function, and kernels, checks and exchanges are in the tables. Register
values, such as addresses, are not checked: for these, as for the machine code of kernels, the file
is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...sharding.collective_matching import DYNAMIC_SIZE
from ..abi.arrays import Words
from ..host.entry import ADDRESS_AND_BLOCK
from ..host.exchanges import Exchange
from ..host.instructions import BY_OPCODE, NO_SUCCESSOR, SCALAR_WORDS, SCALARS, Kind
from ..host.pool import ACCOUNTS, pool_words
from ..host.program import FunctionCode
from ..host.size_rules import KnownSizes
from .fields import DamagedFile

_EXCHANGES = ("exchange", "start")


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that instructions refer to by number: their lengths, or their rows."""

    functions: Sequence[FunctionCode]
    kernels: int
    failures: int
    checks: Sequence[KnownSizes]
    exchanges: Sequence[Sequence[Exchange]]
    """For each exchange, its form on each process."""
    devices: int

    def numbers(self, name: str) -> range:
        """Return the range of numbers that an instruction may have."""
        counts = {
            "call": len(self.functions),
            "run": self.kernels,
            "fail": self.failures,
            "check": len(self.checks),
            "device": self.devices,
            **dict.fromkeys(_EXCHANGES, len(self.exchanges)),
        }
        if name == "count":
            return range(ACCOUNTS, pool_words(self.devices))
        return range(counts.get(name, 0))


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction at a word: its operands by name; register lists are sequences of words."""

    at: int
    kind: Kind
    operands: dict[str, int | Sequence[int]]
    end: int

    def values(self, name: str) -> Sequence[int]:
        """Return the words of an operand: one, or those of its list."""
        found = self.operands[name]
        return (found,) if isinstance(found, int) else found


def check_code(words: Words, tables: Tables, path: str) -> None:
    """Check the host code of a program. Raises DamagedFile with `path`, that of the program."""
    code: list[int] = words.tolist()
    functions = sorted(tables.functions, key=lambda each: each.start)
    starts = [*(each.start for each in functions), len(code)]
    for function, (start, end) in zip(functions, pairwise(starts), strict=True):
        found = list(decode(code, start, end, path))
        places = {each.at for each in found}
        for each in found:
            problem = _problem(each, function, tables, places)
            if problem is not None:
                raise _damaged(path, each.at, f"'{each.kind.name}' {problem}")
        if not found or found[-1].kind.name not in NO_SUCCESSOR:
            raise _damaged(path, end, "the end of a function, expected a return before it")


def _damaged(path: str, at: int, problem: str) -> DamagedFile:
    return DamagedFile(f"has host code for {path} that cannot be run: at word {at} {problem}")


def decode(code: Sequence[int], start: int, end: int, path: str) -> Iterator[Decoded]:
    """Yield the instructions of a function, which occupy the words `start` to `end`.

    Raises DamagedFile for an unknown or truncated instruction, or for words behind its operands.
    """
    at = start
    while at < end:
        kind = BY_OPCODE.get(code[at])
        if kind is None:
            raise _damaged(path, at, f"{code[at]} is not an instruction")
        operands: dict[str, int | Sequence[int]] = {}
        position = at + 1
        for name, access in kind.operands:
            count = 1
            if access in ("reads", "writes"):
                count = code[position] if position < end else -1
                position += 1
            if not 0 <= count <= end - position:
                raise _damaged(path, at, f"'{kind.name}' has {name} beyond the end of its function")
            rest = code[position : position + count]
            operands[name] = rest if access in ("reads", "writes") else rest[0]
            position += count
        last = at + SCALAR_WORDS if kind.name in SCALARS else position
        if last > end:
            raise _damaged(path, at, f"'{kind.name}' goes beyond the end of its function")
        if any(code[position:last]):
            raise _damaged(path, at, f"'{kind.name}' has words behind its operands, expected 0")
        yield Decoded(at, kind, operands, last)
        at = last


def _problem(
    found: Decoded, function: FunctionCode, tables: Tables, places: set[int]
) -> str | None:
    """Return what is wrong with an instruction; `None` if nothing.

    `places` are the positions of the function's instructions.
    """
    if found.kind.name == "python":
        return "is for programs that have Python"
    room = 8 * (function.size + function.outgoing)
    allowed = tables.numbers(found.kind.name)
    for name, access in found.kind.operands:
        for value in found.values(name):
            if access == "frame" and value != 8 * function.size:
                return f"has a frame of {value} bytes, expected {8 * function.size}"
            if access == "target" and (value % 8 or found.at + value // 8 not in places):
                return f"jumps by {value} bytes, where no instruction begins"
            if access == "number" and name != "amount" and value not in allowed:
                return (
                    f"names number {value}, expected one from {allowed.start} to {allowed.stop - 1}"
                )
            if access in ("read", "reads", "write", "writes") and (
                value % 8 or not 0 <= value < room
            ):
                return f"has {name} at {value} of a frame of {room} bytes"
    return _count_problem(found, function, tables)


def _count_problem(found: Decoded, function: FunctionCode, tables: Tables) -> str | None:
    """Return what is wrong with the number of registers of an instruction."""
    name = found.kind.name
    if name == "run":
        passed = len(found.values("bindings")) + len(found.values("constants"))
        if passed > function.outgoing:
            return f"passes {passed} words in a frame with room for {function.outgoing}"
    if name == "check":
        given = len(found.values("values"))
        sizes = tables.checks[found.values("number")[0]]
        needed = sizes.words
        if given < needed:
            return f"has {given} sizes, but its rules use {needed}"
    if name in _EXCHANGES:
        for each in tables.exchanges[found.values("number")[0]]:
            brought = 1 + each.shape.count(DYNAMIC_SIZE)
            if len(found.values("values")) < brought:
                return f"passes {len(found.values('values'))} words, expected {brought} or more"
            results = ADDRESS_AND_BLOCK + len(each.dynamic_results)
            if name == "exchange" and len(found.values("results")) != results:
                return f"has {len(found.values('results'))} results, expected {results}"
    return None
