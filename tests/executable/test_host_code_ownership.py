"""A tensor that is written to in its place is never seen through another value."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run

HEAD = """
func.func @main(%p: tensor<3xi32>, %n: index) -> (tensor<3xi32>, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %k = arith.constant 7 : i32
  %a = tensor.insert %k into %p[%c1] : tensor<3xi32>
"""

BODIES = {
    "a_loop_carries_what_it_also_reads": """
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %s = %z) -> (tensor<3xi32>, i32) {
    %g = tensor.extract %a[%i] : tensor<3xi32>
    %u = tensor.insert %k into %x[%i] : tensor<3xi32>
    %e = tensor.extract %a[%i] : tensor<3xi32>
    %t = arith.addi %g, %s : i32
    %f = arith.addi %e, %t : i32
    scf.yield %u, %f : tensor<3xi32>, i32
  }
  return %r#0, %r#1 : tensor<3xi32>, i32
}""",
    "a_while_carries_what_it_also_reads": """
  %r:3 = scf.while (%x = %a, %s = %z, %i = %c0) : (tensor<3xi32>, i32, index)
      -> (tensor<3xi32>, i32, index) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %x, %s, %i : tensor<3xi32>, i32, index
  } do {
  ^bb0(%x: tensor<3xi32>, %s: i32, %i: index):
    %u = tensor.insert %k into %x[%i] : tensor<3xi32>
    %e = tensor.extract %a[%i] : tensor<3xi32>
    %f = arith.addi %e, %s : i32
    %j = arith.addi %i, %c1 : index
    scf.yield %u, %f, %j : tensor<3xi32>, i32, index
  }
  return %r#0, %r#1 : tensor<3xi32>, i32
}""",
    "a_forall_writes_to_what_it_also_reads": """
  %r = scf.forall (%i) in (3) shared_outs(%o = %a) -> (tensor<3xi32>) {
    %q = tensor.extract_slice %a[1] [1] [1] : tensor<3xi32> to tensor<1xi32>
    %w = arith.addi %q, %q : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %o[%i] [1] [1] : tensor<1xi32> into tensor<3xi32>
    }
  }
  return %r, %z : tensor<3xi32>, i32
}""",
    "a_forall_writes_to_what_it_reads_as_another_output": """
  %r:2 = scf.forall (%i) in (3) shared_outs(%o = %a, %q = %a)
      -> (tensor<3xi32>, tensor<3xi32>) {
    %e = tensor.extract_slice %q[1] [1] [1] : tensor<3xi32> to tensor<1xi32>
    %w = arith.addi %e, %e : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %o[%i] [1] [1] : tensor<1xi32> into tensor<3xi32>
    }
  }
  return %r#0, %z : tensor<3xi32>, i32
}""",
    "a_reduction_takes_what_it_also_reads": """
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%p) -> tensor<3xi32> {
    %b = tensor.insert %z into %a[%i] : tensor<3xi32>
    scf.reduce(%b : tensor<3xi32>) {
    ^bb0(%l: tensor<3xi32>, %m: tensor<3xi32>):
      %u = tensor.insert %k into %m[%c0] : tensor<3xi32>
      %e = tensor.extract %b[%c0] : tensor<3xi32>
      %v = tensor.insert %e into %u[%c1] : tensor<3xi32>
      %w = arith.addi %v, %l : tensor<3xi32>
      scf.reduce.return %w : tensor<3xi32>
    }
  }
  return %r, %z : tensor<3xi32>, i32
}""",
}

SWITCH = """
func.func @main(%p: tensor<3xi32>, %n: index) -> (tensor<3xi32>, tensor<3xi32>) {
  %c1 = arith.constant 1 : index
  %k = arith.constant 7 : i32
  %e = tensor.empty() : tensor<3xi32>
  %u = tensor.insert %k into %p[%c1] : tensor<3xi32>
  %i = arith.index_cast %n : index to i32
  cf.switch %i : i32, [
    default: ^c,
    0: ^b,
    1: ^c,
    3: ^d(%u : tensor<3xi32>)
  ]
^b:
  %x = tensor.insert_slice %p into %e[0] [3] [1] : tensor<3xi32> into tensor<3xi32>
  cf.br ^d(%x : tensor<3xi32>)
^c:
  %y = tensor.insert_slice %p into %e[0] [3] [1] : tensor<3xi32> into tensor<3xi32>
  %w = tensor.insert %k into %y[%c1] : tensor<3xi32>
  cf.br ^d(%w : tensor<3xi32>)
^d(%z: tensor<3xi32>):
  return %z, %u : tensor<3xi32>, tensor<3xi32>
}"""

BLOCKS_IN_ANY_ORDER = """
func.func @main(%p: tensor<3xi32>, %n: index) -> (tensor<3xi32>, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 7 : i32
  cf.br ^first
^head(%i: index):
  %e = tensor.extract %a[%i] : tensor<3xi32>
  %j = arith.addi %i, %c1 : index
  %c = arith.cmpi slt, %j, %n : index
  cf.cond_br %c, ^head(%j : index), ^end
^unreachable:
  %q = tensor.insert %k into %a[%c0] : tensor<3xi32>
  cf.br ^head(%c0 : index)
^end:
  return %a, %e : tensor<3xi32>, i32
^first:
  %a = tensor.insert %k into %p[%c1] : tensor<3xi32>
  cf.br ^head(%c0 : index)
}"""

PROGRAMS = {
    **{name: HEAD + body for name, body in BODIES.items()},
    "a_block_is_allocated_before_all_cases_of_a_switch": SWITCH,
    "blocks_in_any_order": BLOCKS_IN_ANY_ORDER,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    module = api.compile(PROGRAMS[name]).module
    program = CompiledProgram(module)
    target = program.symbols.lookup(module, "main")
    assert target is not None and program.has_host_code(target, None)
    for count in (3, 1, 0):
        inputs = [np.arange(4, 7, dtype=np.int32), np.int64(count)]
        expected = run(module, "main", inputs)
        for got, want in zip(program.run("main", inputs), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(inputs[0], [4, 5, 6])
