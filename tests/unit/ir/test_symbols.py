"""Names of symbols that are free."""

from __future__ import annotations

from mesh_opt.ir.symbols import defined_name, fresh_name, names_in, numbered_name, root_symbol
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context

PROGRAM = """
module @outer {
  func.func private @f()
  module @inner { func.func private @g() }
  func.func @h() { func.call @f() : () -> () func.return }
}
"""


def test_names_of_a_module() -> None:
    module = parse_module(new_context(), Source(PROGRAM, "x"))
    assert names_in(module) == {"f", "inner", "h"}
    call = next(operation for operation in module.walk() if operation.name == "func.call")
    assert root_symbol(call, "callee") == "f"
    assert defined_name(call) == ""


def test_free_names() -> None:
    assert fresh_name("a", {"b"}) == "a"
    assert fresh_name("a", {"a", "a_0"}) == "a_1"
    assert numbered_name("a_dup", {"a_dup0"}) == "a_dup1"
    assert numbered_name("a", (), first=3) == "a3"
