"""Passes follow resources of long programs without taking each path, or a frame for each step."""

from __future__ import annotations

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import OWN_PASSES
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp

R = "!stream.resource<*>"
SIZED = f"{R}{{{{%c4}}}}"

CLONE = f"%r{{j}} = stream.async.clone %r{{i}} : {SIZED} -> {SIZED}"
FILL = f"stream.async.fill %v, %r{{i}}[%c0 to %c4 for %c4] : i32 -> %r{{i}} as {SIZED}"
CHOICE = f"""%r{{j}} = scf.if %c -> ({R}) {{{{
  %s{{i}} = {FILL}
  scf.yield %s{{i}} : {R}
}}}} else {{{{
  scf.yield %r{{i}} : {R}
}}}}"""


def run(pass_name: str, step: str, count: int) -> ModuleOp:
    """Run a pass on a program that makes %r0, %r1 of it, and so on, and copies the last one."""
    body = "\n".join(step.format(i=i, j=i + 1) for i in range(count))
    text = f"""
      util.func public @f(%v: i32, %c: i1) -> {R} {{
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %r0 = stream.async.splat %v : i32 -> {R}{{%c4}}
        {body}
        {CLONE.format(i=count, j="")}
        util.return %r : {R}
      }}"""
    context = new_context()
    module = parse_module(context, Source(text, "program"))
    OWN_PASSES[pass_name]()().apply(context, module)
    module.verify()
    return module


@pytest.mark.parametrize(("step", "count"), [(f"%r{{j}} = {FILL}", 1000), (CHOICE, 64)])
def test_copy_of_what_is_written_in_many_steps(step: str, count: int) -> None:
    assert "clone" not in str(run("iree-stream-elide-async-copies", step, count))


def test_copies_of_copies() -> None:
    assert str(run("iree-stream-clone-to-consumers", CLONE, 1000)).count("clone") == 1001


def test_collectives_of_functions_that_are_called_twice() -> None:
    functions = "\n".join(
        f"""util.func private @f{i}() {{
          util.call @f{i + 1}() : () -> ()
          util.call @f{i + 1}() : () -> ()
          util.return
        }}"""
        for i in range(64)
    )
    text = f"""
      shard.grid @g(shape = 2)
      util.global private @kind {{shard.grid = @g}} : index
      {functions}
      util.func private @f64() {{
        util.return
      }}
      util.func public @main() {{
        %kind = util.global.load @kind : index
        scf.index_switch %kind
        case 0 {{
          util.call @f0() : () -> ()
          scf.yield
        }}
        default {{
          util.call @f1() : () -> ()
        }}
        util.return
      }}"""
    context = new_context()
    module = parse_module(context, Source(text, "program"))
    OWN_PASSES["verify-collectives"]()().apply(context, module)
