"""Programs of tests as modules."""

from __future__ import annotations

from mesh_opt.dialects.registry import register_dialects
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp


def parse(text: str) -> tuple[Context, ModuleOp]:
    """A program with the context that it was read in."""
    context = Context()
    register_dialects(context)
    return context, parse_module(context, Source(text, "<test>"))


def parse_program(text: str) -> ModuleOp:
    """A program alone."""
    return parse(text)[1]


def parse_verified(text: str) -> tuple[Context, ModuleOp]:
    """The same, verified."""
    context, module = parse(text)
    module.verify()
    return context, module
