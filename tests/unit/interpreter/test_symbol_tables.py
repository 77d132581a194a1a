"""Symbols are looked up by the threads of several devices at once."""

from __future__ import annotations

from unittest.mock import patch

from mesh_opt.interpreter.frames import Program
from mesh_opt.ir import symbols
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region


def test_a_table_is_seen_whole_or_not_at_all() -> None:
    functions = [FuncOp(name, ([], []), Region(Block())) for name in ("a", "b")]
    program = Program(ModuleOp(list(functions)))
    found: list[Operation | None] = []
    real = symbols.symbol_name

    def other_thread(op: Operation) -> str | None:
        if not found and op is functions[0]:
            found.append(None)
            found.append(program.lookup(functions[0], "b"))
        return real(op)

    with patch.object(symbols, "symbol_name", other_thread):
        assert program.lookup(functions[0], "a") is functions[0]
    assert found == [None, functions[1]]
