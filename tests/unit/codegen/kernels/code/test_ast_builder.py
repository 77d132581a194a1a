"""Index arithmetic while a kernel is written."""

from __future__ import annotations

import ast

from mesh_opt.codegen.kernels.code.ast_builder import AstBuilder, term_expression


def text(code: AstBuilder) -> str:
    return ast.unparse(ast.Module([ast.fix_missing_locations(each) for each in code.body], []))


def test_sums_share_what_is_no_number() -> None:
    code = AstBuilder()
    with code.loop(0, 8) as row, code.loop(0, 8) as column:
        first = code.linear((row, column), (8, 64))
        assert code.linear((code.add(row, 1), column), (8, 64)) == f"{first}+64"
        assert code.linear((row, code.subtract(column, 3)), (8, 64)) == f"{first}-3"
        assert code.subtract(code.add(row, 5), row) == 5
        code.run("use", f"{first}-3", code.multiply(code.add(column, 2), row))
    assert text(code).count("=") == 3
    assert f"use({first} + -3, " in text(code)


def test_numbers_are_modulo_two_to_the_64() -> None:
    code = AstBuilder()
    with code.loop(0, 8) as index:
        term = code.multiply(code.add(index, 3), 1 << 62)
    assert ast.unparse(term_expression(term)) == f"v2 + -{1 << 62}"
