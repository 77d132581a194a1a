"""Which values go on under other names: through branches, loops, regions, selections and calls."""

from __future__ import annotations

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.value_flow import forwarded_to, loop_inputs, value_flow
from mesh_opt.tools.driver import new_context

TEXT = """
func.func private @outside(i32) -> i32
func.func private @called(%b: i32) -> i32 {
  return %b : i32
}
func.func @main(%c: i1, %a: i32, %n: index) -> i32 {
  %f = scf.for %i = %n to %n step %n iter_args(%x = %a) -> (i32) {
    scf.yield %x : i32
  }
  %w = scf.while (%p = %f) : (i32) -> i32 {
    scf.condition(%c) %p : i32
  } do {
  ^bb0(%q: i32):
    scf.yield %q : i32
  }
  %s = arith.select %c, %w, %a : i32
  %k = func.call @called(%s) : (i32) -> i32
  %o = func.call @outside(%k) : (i32) -> i32
  cf.cond_br %c, ^one(%o : i32), ^two(%k : i32)
^one(%y: i32):
  return %y : i32
^two(%z: i32):
  return %z : i32
}
"""


def test_every_way_on() -> None:
    module = parse_module(new_context(), Source(TEXT, "test.mlir"))
    operations = list(module.walk())
    found = {f"{one.name_hint}->{other.name_hint}" for one, other in value_flow(operations)}
    assert found == {
        *("a->f", "a->x", "x->f", "x->x"),
        *("f->p", "p->w", "p->q", "q->p"),
        *("w->s", "a->s", "s->b", "b->k"),
        *("o->y", "k->z"),
    }


def test_of_one_operation() -> None:
    module = parse_module(new_context(), Source(TEXT, "test.mlir"))
    loop, branch = (
        next(each for each in module.walk() if each.name == name)
        for name in ("scf.for", "cf.cond_br")
    )
    assert [value.name_hint for value in forwarded_to(loop, 3)] == ["f", "x"]
    assert [value.name_hint for value in loop_inputs(loop)] == ["x"]
    assert forwarded_to(loop, 0) == [] and forwarded_to(branch, 0) == []
    assert [value.name_hint for value in forwarded_to(branch, 2)] == ["z"]
    assert loop_inputs(branch) == ()
