"""Dispatches that write to an operand: in its place if nothing else reads it, else to a copy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from breadth import sampled
from mesh_opt.api import compile
from mesh_opt.codegen.compile import CompiledProgram

KERNELS = {
    "doubled": "%s = arith.addf %l, %l : !t",
    "reversed": """%e = tensor.empty() : !t
      %s = linalg.generic {indexing_maps = [affine_map<(i) -> (5 - i)>, affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]} ins(%l : !t) outs(%e : !t) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> !t""",
    # The operand is read once more behind its exponentials.
    "summed": """%z = arith.constant dense<0.0> : tensor<f32>
      %d = math.exp %l : !t
      %a = linalg.reduce {arith.addf} ins(%l : !t) outs(%z : tensor<f32>) dimensions = [0]
      %e = tensor.empty() : !t
      %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%d, %a : !t, tensor<f32>) outs(%e : !t) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %v = arith.addf %p, %q : f32
        linalg.yield %v : f32
      } -> !t""",
}
"""What becomes of `%l`, which is loaded from where `%s` is stored to."""

PROGRAMS = {
    "chain": "%0 = @k(%y) %1 = @k(%0) util.return %1 : !t",
    "read_later": "%0 = @k(%y) %1 = arith.mulf %0, %y : !t util.return %1 : !t",
    "returned": "%0 = @k(%y) util.return %0, %y : !t, !t",
    "argument": "%0 = @k(%x) util.return %0, %x : !t, !t",
    "other_name": """%b = util.optimization_barrier %y : !t
      %0 = @k(%y) %1 = @k(%b) %2 = @k(%1) util.return %0, %2 : !t, !t""",
    "reshaped": """%s = tensor.expand_shape %y [[0, 1]] output_shape [2, 3]
        : !t into tensor<2x3xf32>
      %0 = @k(%y) %1 = arith.addf %s, %s : tensor<2x3xf32>
      util.return %0, %1 : !t, tensor<2x3xf32>""",
    "stored": """util.global.store %y, @g : !t
      %0 = @k(%y) %1 = util.global.load @g : !t util.return %0, %1 : !t, !t""",
    "element": """%c2 = arith.constant 2 : index %s = tensor.extract %y[%c2] : !t
      %0 = @k(%y) %1 = arith.addf %s, %s : f32 util.return %0, %1 : !t, f32""",
    "given_twice": """%0 = flow.dispatch @kernels::@two(%y, %y) : (!t, !t) -> %y
      util.return %0 : !t""",
    "carried_twice": """%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %y, %q = %y) -> (!t, !t) {
        %0 = @k(%p) %1 = @k(%0)
        scf.yield %1, %p : !t, !t
      }
      util.return %r#0, %r#1 : !t, !t""",
    "in_a_branch": """%c = arith.constant true
      %r = scf.if %c -> (!t) {
        %0 = @k(%y)
        scf.yield %0 : !t
      } else {
        scf.yield %y : !t
      }
      %1 = @k(%r) util.return %1, %y : !t, !t""",
    "called": """%0 = util.call @step(%y) : (!t) -> !t
      %1 = util.call @step(%0) : (!t) -> !t util.return %1, %0 : !t, !t""",
}
"""What happens to `%y`, which is computed; `%0 = @k(%y)` writes the result where `%y` lies."""

PROGRAM = """
!t = tensor<6xf32>
!both = !iree_tensor_ext.dispatch.tensor<readwrite:tensor<6xf32>>
!read = !iree_tensor_ext.dispatch.tensor<readonly:tensor<6xf32>>
util.global private mutable @g = dense<0.0> : !t
flow.executable private @kernels {
  flow.executable.export public @k workgroups() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    flow.return %c1, %c1, %c1 : index, index, index
  }
  flow.executable.export public @two workgroups() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    flow.return %c1, %c1, %c1 : index, index, index
  }
  builtin.module {
    func.func @k(%x: !both) {
      %l = iree_tensor_ext.dispatch.tensor.load %x, offsets = [0], sizes = [6], strides = [1]
        : !both -> !t
      KERNEL
      iree_tensor_ext.dispatch.tensor.store %s, %x, offsets = [0], sizes = [6], strides = [1]
        : !t -> !both
      return
    }
    func.func @two(%x: !both, %y: !read) {
      %l = iree_tensor_ext.dispatch.tensor.load %x, offsets = [0], sizes = [6], strides = [1]
        : !both -> !t
      %m = iree_tensor_ext.dispatch.tensor.load %y, offsets = [0], sizes = [6], strides = [1]
        : !read -> !t
      %e = tensor.empty() : !t
      %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (5 - i)>,
          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%l, %m : !t, !t) outs(%e : !t) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %t = arith.addf %p, %q : f32
        linalg.yield %t : f32
      } -> !t
      iree_tensor_ext.dispatch.tensor.store %s, %x, offsets = [0], sizes = [6], strides = [1]
        : !t -> !both
      return
    }
  }
}
util.func private @step(%y: !t) -> !t {
  %0 = @k(%y) util.return %0 : !t
}
util.func public @main(%x: !t) -> (RESULTS) {
  %y = arith.addf %x, %x : !t
  BODY
}
"""


def program_of(name: str, kernel: str) -> str:
    body = PROGRAMS[name]
    text = PROGRAM.replace("BODY", body).replace("KERNEL", KERNELS[kernel])
    text = text.replace("RESULTS", body.rpartition("util.return")[2].rpartition(" : ")[2])
    words = text.split("@k(")
    for index, rest in enumerate(words[1:], 1):
        operand, _, behind = rest.partition(")")
        if words[index - 1].endswith("= "):
            call = f"flow.dispatch @kernels::@k({operand}) : (!t) -> {operand}\n"
            words[index] = call + behind
        else:
            words[index] = f"@k({rest}"
    return "".join(words)


@pytest.mark.parametrize(("name", "kernel"), sampled(list(product(PROGRAMS, KERNELS)), 2))
def test_live_operand_is_not_overwritten(name: str, kernel: str) -> None:
    program = compile(program_of(name, kernel), "data-tile")
    given = np.linspace(-1, 1, 6, dtype=np.float32)
    expected = program["main"].reference([given])
    for guard in (False, True):
        compiled = CompiledProgram(program.module, guard=guard)
        for found, wanted in zip(compiled.run("main", [given]), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_dead_operand_is_overwritten() -> None:
    program = compile(program_of("chain", "doubled"), "data-tile")
    compiled = CompiledProgram(program.module)
    compiled.run("main", [np.zeros(6, np.float32)])
    (found,) = compiled.device_statistics
    # The sum and two kernels, all in the memory of the result.
    assert found.dispatches == 3
    assert found.memory.transient_bytes == 0


ROWS = """
func.func @main(%x: tensor<200x64xf32>, %r: tensor<1x64xf32>) -> (RESULTS) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = arith.addf %x, %x : tensor<200x64xf32>
  %0:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %y, %s = %r)
      -> (tensor<200x64xf32>, tensor<1x64xf32>) {
    %row = arith.addf %s, %s : tensor<1x64xf32>
    BODY
  }
  return RETURNED
}
"""
"""A loop whose body writes rows of a table."""

WRITES = {
    "one": ("%n = tensor.insert_slice %row into %t[%i, 0] [1, 64] [1, 1] : !row into !t", "%n", 0),
    "two": (
        "%m = tensor.insert_slice %row into %t[%i, 0] [1, 64] [1, 1] : !row into !t "
        "%n = tensor.insert_slice %row into %m[7, 0] [1, 64] [1, 1] : !row into !t",
        "%n",
        0,
    ),
    "column": (
        "%q = tensor.collapse_shape %row [[0, 1]] : !row into tensor<64xf32> "
        "%n = tensor.insert_slice %q into %t[%i, 3] [64, 1] [1, 1] : tensor<64xf32> into !t",
        "%n",
        0,
    ),
    # The old table is read after a row of it was written.
    "old_table": (
        "%n = tensor.insert_slice %row into %t[%i, 0] [1, 64] [1, 1] : !row into !t "
        "%b = util.optimization_barrier %n : !t %z = arith.addf %b, %t : !t",
        "%z",
        1,
    ),
    # A slice of the old table is written to the table.
    "itself": (
        "%e = tensor.extract_slice %t[%i, 0] [1, 64] [1, 1] : !t to !row "
        "%g = arith.addf %e, %row : !row "
        "%n = tensor.insert_slice %g into %t[9, 0] [1, 64] [1, 1] : !row into !t",
        "%n",
        0,
    ),
}
"""How a body writes to `%t`, what it yields, and the copies of the table in a turn."""


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_a_loop_that_writes_rows_does_not_copy_the_table(name: str, kept: bool) -> None:
    body, new, copies = WRITES[name]
    text = ROWS.replace("BODY", f"{body} scf.yield {new}, %row : !t, !row")
    text = text.replace("RESULTS", "!t, !t" if kept else "!t")
    text = text.replace("RETURNED", "%0#0, %y : !t, !t" if kept else "%0#0 : !t")
    text = text.replace("!row", "tensor<1x64xf32>").replace("!t", "tensor<200x64xf32>")
    program = compile(text, "data-tile")
    given = [np.linspace(-1, 1, n * 64, dtype=np.float32).reshape(n, 64) for n in (200, 1)]
    expected = program["main"].reference(given)
    for guard in (False, True):
        compiled = CompiledProgram(program.module, guard=guard)
        for found, wanted in zip(compiled.run("main", given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        (used,) = compiled.device_statistics
        # One table if the old one is returned, and one for each copy in five turns.
        tables = used.memory.transient_bytes / given[0].nbytes
        assert tables < kept + 5 * copies + 1
