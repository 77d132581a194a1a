"""Attributes of StableHLO with named fields: defaults, and the attributes that they contain."""

from __future__ import annotations

from mesh_opt.ir.symbols import references_of
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp


def _module(attribute: str) -> ModuleOp:
    text = f"module attributes {{test.x = {attribute}}} {{}}"
    return parse_module(new_context(), Source(text, "program"))


def test_a_default_equals_a_field_that_is_left_out() -> None:
    given = _module("#stablehlo.gather<offset_dims = [], index_vector_dim = 0>")
    assert given.attributes == _module("#stablehlo.gather<>").attributes


def test_symbols_in_fields_are_found() -> None:
    module = _module("#stablehlo.replica_group_mesh_axes<mesh = @m, axes = []>")
    assert [found.string_value() for found in references_of(module)] == ["m"]
