"""Programs with loops, branches, calls and run-time offsets: host code does what the interpreter
does, errors included.
"""

from __future__ import annotations

import numpy as np
import pytest
from host_code_checks import Compiled, check
from mesh_opt import api
from mesh_opt.interpreter.run import run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime.host.machine_errors import VirtualMachineError
from mesh_opt.runtime.host.pool import TAKEN

PROGRAMS: dict[str, tuple[str, list]] = {
    "swapped": (
        """
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>, %n: index) -> (tensor<3xi32>, tensor<3xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b)
      -> (tensor<3xi32>, tensor<3xi32>) {
    scf.yield %y, %x : tensor<3xi32>, tensor<3xi32>
  }
  return %r#0, %r#1 : tensor<3xi32>, tensor<3xi32>
}""",
        [np.arange(3, dtype=np.int32), np.arange(3, 6, dtype=np.int32), np.int64(5)],
    ),
    "sizes_multiply": (
        """
func.func @main(%a: tensor<?x?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %size = affine.apply affine_map<(d0)[s0] -> (d0 * s0 + s0 * 2)>(%m)[%n]
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %0, %size : tensor<?xf32>, index
}""",
        [np.ones((3, 5), np.float32)],
    ),
    "factorial": (
        """
func.func @factorial(%n: i64) -> i64 {
  %c1 = arith.constant 1 : i64
  %p = arith.cmpi sle, %n, %c1 : i64
  cf.cond_br %p, ^end(%c1 : i64), ^more
^more:
  %m = arith.subi %n, %c1 : i64
  %f = func.call @factorial(%m) : (i64) -> i64
  %g = arith.muli %n, %f : i64
  cf.br ^end(%g : i64)
^end(%r: i64):
  return %r : i64
}
func.func @main(%n: i64) -> i64 {
  %r = func.call @factorial(%n) : (i64) -> i64
  return %r : i64
}""",
        [np.int64(12)],
    ),
    "a_size_of_one_is_as_long_as_none": (
        """
func.func @main(%a: tensor<?x0xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = tosa.sub %a, %b : (tensor<?x0xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}""",
        [np.zeros((2, 0), np.float32), np.ones((1, 1), np.float32)],
    ),
    "functions_as_values": (
        """
func.func private @twice(%x: tensor<3xi32>) -> tensor<3xi32> {
  %y = arith.addi %x, %x : tensor<3xi32>
  return %y : tensor<3xi32>
}
func.func private @square(%x: tensor<3xi32>) -> tensor<3xi32> {
  %y = arith.muli %x, %x : tensor<3xi32>
  return %y : tensor<3xi32>
}
func.func @main(%x: tensor<3xi32>, %c: i1) -> (tensor<3xi32>, tensor<3xi32>) {
  %f = func.constant @twice : (tensor<3xi32>) -> tensor<3xi32>
  %g = func.constant @square : (tensor<3xi32>) -> tensor<3xi32>
  %h = scf.if %c -> ((tensor<3xi32>) -> tensor<3xi32>) {
    scf.yield %f : (tensor<3xi32>) -> tensor<3xi32>
  } else {
    scf.yield %g : (tensor<3xi32>) -> tensor<3xi32>
  }
  %y = func.call_indirect %h(%x) : (tensor<3xi32>) -> tensor<3xi32>
  %z = func.call_indirect %g(%y) : (tensor<3xi32>) -> tensor<3xi32>
  return %y, %z : tensor<3xi32>, tensor<3xi32>
}""",
        [np.arange(3, dtype=np.int32), np.bool_(True)],
    ),
    "decode": (
        """
func.func @main(%cache: tensor<6x4xf32>, %row: tensor<1x4xf32>, %at: index)
    -> (tensor<6x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>) {
  %u = tensor.insert_slice %row into %cache[%at, 0] [1, 4] [1, 1]
    : tensor<1x4xf32> into tensor<6x4xf32>
  %p = tensor.extract_slice %u[%at, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %v = tensor.insert_slice %row into %u[0, 0] [1, 4] [1, 1]
    : tensor<1x4xf32> into tensor<6x4xf32>
  return %u, %p, %v : tensor<6x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>
}""",
        [np.arange(24, dtype=np.float32).reshape(6, 4), np.ones((1, 4), np.float32), np.int64(3)],
    ),
    "columns": (
        """
func.func @main(%a: tensor<4x5xf32>, %b: tensor<4x2xf32>, %at: index) -> (tensor<4x5xf32>,
    tensor<4x2xf32>) {
  %u = tensor.insert_slice %b into %a[0, %at] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x5xf32>
  %p = tensor.extract_slice %u[0, %at] [4, 2] [1, 1] : tensor<4x5xf32> to tensor<4x2xf32>
  return %u, %p : tensor<4x5xf32>, tensor<4x2xf32>
}""",
        [np.zeros((4, 5), np.float32), np.ones((4, 2), np.float32), np.int64(2)],
    ),
    "growing": (
        """
func.func @main(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<?xf32>) {
    %j = tensor.concat dim(0) %t, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %j : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""",
        [np.arange(3, dtype=np.float32), np.int64(4)],
    ),
    "elements": (
        """
func.func @main(%a: tensor<5xi8>, %k: tensor<5xindex>, %f: tensor<2xf64>) -> (tensor<5xi8>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %a) -> (tensor<5xi8>) {
    %j = tensor.extract %k[%i] : tensor<5xindex>
    %x = tensor.extract %t[%j] : tensor<5xi8>
    %y = arith.muli %x, %x : i8
    %u = tensor.insert %y into %t[%i] : tensor<5xi8>
    scf.yield %u : tensor<5xi8>
  }
  %d = tensor.extract %f[%c1] : tensor<2xf64>
  return %r, %d : tensor<5xi8>, f64
}""",
        [np.arange(5, 10, dtype=np.int8), np.array([4, 3, 2, 1, 0]), np.array([1.5, -2.5])],
    ),
    "open_sizes_of_no_elements": (
        """
func.func @main(%a: tensor<0x?xf32>, %n: index) -> tensor<0x?x2xf32> {
  %0 = tensor.expand_shape %a [[0], [1, 2]] output_shape [0, %n, 2]
      : tensor<0x?xf32> into tensor<0x?x2xf32>
  return %0 : tensor<0x?x2xf32>
}""",
        [np.zeros((0, 6), np.float32), np.int64(3)],
    ),
    "switches": (
        """
func.func @main(%a: tensor<4xf32>, %k: index, %i: i32) -> (tensor<4xf32>, i32) {
  %r = scf.index_switch %k -> tensor<4xf32>
  case 2 {
    %s = arith.addf %a, %a : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  case 5 {
    %s = arith.mulf %a, %a : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  default {
    scf.yield %a : tensor<4xf32>
  }
  cf.switch %i : i32, [
    default: ^b(%i : i32),
    7: ^c,
    9: ^b(%i : i32)
  ]
^b(%x: i32):
  %y = arith.addi %x, %x : i32
  return %r, %y : tensor<4xf32>, i32
^c:
  return %a, %i : tensor<4xf32>, i32
}""",
        [np.arange(4, dtype=np.float32), np.int64(5), np.int32(9)],
    ),
    "blocks_that_loop": (
        """
func.func @main(%a: tensor<3xf32>, %n: index) -> (tensor<3xf32>, tensor<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = arith.addf %a, %a : tensor<3xf32>
  cf.br ^head(%c0, %a : index, tensor<3xf32>)
^head(%i: index, %t: tensor<3xf32>):
  %p = arith.cmpi slt, %i, %n : index
  cf.cond_br %p, ^body, ^end
^body:
  %u = arith.mulf %t, %d : tensor<3xf32>
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %u : index, tensor<3xf32>)
^end:
  return %t, %d : tensor<3xf32>, tensor<3xf32>
}""",
        [np.array([1, 2, 0.5], np.float32), np.int64(3)],
    ),
    "parallel": (
        """
func.func @main(%a: tensor<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 1.0 : f32
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%z) -> f32 {
    %x = tensor.extract %a[%i] : tensor<4xf32>
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %q: f32):
      %s = arith.addf %l, %q : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}""",
        [np.arange(4, dtype=np.float32), np.int64(3)],
    ),
    "forall": (
        """
func.func @main(%a: tensor<4x6xf32>, %n: index) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %b = arith.addf %a, %a : tensor<4x6xf32>
  %r = scf.forall (%i, %j) in (%n, 2) shared_outs(%o = %b) -> (tensor<4x6xf32>) {
    %k = arith.addi %j, %j : index
    %x = tensor.extract_slice %o[%i, 0] [1, 3] [1, 1] : tensor<4x6xf32> to tensor<1x3xf32>
    %y = arith.mulf %x, %x : tensor<1x3xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%i, %k] [1, 3] [1, 1]
        : tensor<1x3xf32> into tensor<4x6xf32>
    }
  }
  %s = scf.forall (%i) in (2) shared_outs(%o = %r) -> (tensor<4x6xf32>) {
    %x = tensor.extract_slice %a[0, %i] [4, 1] [1, 1] : tensor<4x6xf32> to tensor<4x1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %o[0, %i] [4, 1] [1, 1]
        : tensor<4x1xf32> into tensor<4x6xf32>
    }
  }
  return %r, %s : tensor<4x6xf32>, tensor<4x6xf32>
}""",
        [np.arange(24, dtype=np.float32).reshape(4, 6), np.int64(3)],
    ),
    "numbers": (
        """
func.func @main(%x: f32, %h: f16, %i: i4, %u: i32) -> (f32, f16, i4, i32, i1, f64, index) {
  %a = math.exp %x : f32
  %b = arith.addf %h, %h : f16
  %c = arith.addi %i, %i : i4
  %d = arith.fptosi %a : f32 to i32
  %e = arith.cmpf ogt, %a, %x : f32
  %f = arith.extf %x : f32 to f64
  %g = arith.index_cast %u : i32 to index
  %k = arith.divsi %d, %u : i32
  return %a, %b, %c, %k, %e, %f, %g : f32, f16, i4, i32, i1, f64, index
}""",
        [np.float32(1.5), np.float16(0.1), np.int8(7), np.int32(-3)],
    ),
    "tensors_of_one_element": (
        """
func.func @main(%a: tensor<i32>, %b: tensor<1xf64>, %c: tensor<i1>, %d: tensor<8xf32>)
    -> (tensor<i32>, tensor<1xf64>, tensor<i1>, tensor<i8>, tensor<f32>, tensor<4xf32>) {
  %two = arith.constant dense<2> : tensor<i32>
  %half = arith.constant dense<-0.5> : tensor<1xf64>
  %0 = arith.addi %a, %two : tensor<i32>
  %1 = arith.mulf %b, %half : tensor<1xf64>
  %2 = arith.cmpi slt, %0, %a : tensor<i32>
  %3 = arith.xori %2, %c : tensor<i1>
  %4 = arith.extui %3 : tensor<i1> to tensor<i8>
  %5 = arith.sitofp %0 : tensor<i32> to tensor<f32>
  %e = tensor.extract_slice %d[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  %f = arith.addf %e, %e : tensor<4xf32>
  return %0, %1, %3, %4, %5, %f
    : tensor<i32>, tensor<1xf64>, tensor<i1>, tensor<i8>, tensor<f32>, tensor<4xf32>
}""",
        [
            np.array((1 << 31) - 1, np.int32),
            np.array([3.0]),
            np.array(True),
            np.arange(8, dtype=np.float32),
        ],
    ),
    "assumptions": (
        """
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<4xf32>, %n: index) -> (tensor<4xf32>, index) {
  %c0 = arith.constant 0 : index
  %0 = arith.cmpi sge, %n, %c0 : index
  llvm.intr.assume %0 : i1
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.cmpf ord, %x, %x : f32
    llvm.intr.assume %2 : i1
    %3 = arith.addf %x, %x : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %1, %n : tensor<4xf32>, index
}""",
        [np.arange(4, dtype=np.float32), np.int64(3)],
    ),
    "large_product": (
        """
func.func @main(%a: tensor<?x80xf32>, %b: tensor<80x?xf32>, %c: tensor<?x?xf32>)
    -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x80xf32>, tensor<80x?xf32>)
      outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}""",
        [
            np.random.default_rng(0).standard_normal((96, 80)).astype(np.float32),
            np.random.default_rng(1).standard_normal((80, 150)).astype(np.float32),
            np.ones((96, 150), np.float32),
        ],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    check(*PROGRAMS[name])


def test_other_inputs_need_no_new_code() -> None:
    compiled = Compiled(PROGRAMS["large_product"][0])
    for shape in ((3, 4), (0, 5), (100, 90), (1, 1)):
        a, b = np.ones((shape[0], 80), np.float32), np.ones((80, shape[1]), np.float32)
        (result,) = compiled.run([a, b, np.zeros(shape, np.float32)])
        np.testing.assert_array_equal(result, np.full(shape, 80, np.float32))


def test_a_warm_loop_asks_nothing_of_the_system() -> None:
    compiled = Compiled(PROGRAMS["decode"][0])
    inputs = PROGRAMS["decode"][1]
    compiled.run(inputs)
    taken = int(compiled.machine.pool.words[TAKEN])
    for _ in range(10):
        compiled.run(inputs)
    assert int(compiled.machine.pool.words[TAKEN]) == taken


RECURSION = """
func.func @down(%n: index) -> index {
  %r = func.call @down(%n) : (index) -> index
  return %r : index
}
func.func @main(%n: index) -> index {
  %r = func.call @down(%n) : (index) -> index
  return %r : index
}"""


def test_a_recursion_without_end_is_the_interpreters_error() -> None:
    compiled = Compiled(RECURSION)
    with pytest.raises(OperationError) as expected:
        run(compiled.module, "main", [np.int64(0)])
    with pytest.raises(VirtualMachineError) as found:
        compiled.run([np.int64(0)])
    assert found.value.message == expected.value.message
    assert found.value.source is expected.value.operation


FAILURES = {
    "slice": ("%r = tensor.extract_slice %a[%i] [3] [1] : tensor<?xf32> to tensor<3xf32>", [3, -1]),
    "by_two": ("%r = tensor.extract_slice %a[%i] [3] [2] : tensor<?xf32> to tensor<3xf32>", [1, 9]),
    "long": (
        "%s = tensor.extract_slice %a[0] [%i] [1] : tensor<?xf32> to tensor<?xf32>\n"
        "%r = tensor.cast %s : tensor<?xf32> to tensor<3xf32>",
        [6, -1, 2, 1 << 62],
    ),
    "element": (
        "%x = tensor.extract %a[%i] : tensor<?xf32>\n%r = tensor.splat %x : tensor<3xf32>",
        [5, -1, 1 << 62],
    ),
    "insert": (
        "%x = arith.constant 1.0 : f32\n%s = tensor.insert %x into %a[%i] : tensor<?xf32>\n"
        "%r = tensor.cast %s : tensor<?xf32> to tensor<3xf32>",
        [5, -1, 1 << 62, 0],
    ),
    "size": (
        "%s = tensor.empty(%i) : tensor<?xf32>\n"
        "%r = tensor.cast %s : tensor<?xf32> to tensor<3xf32>",
        [-1, 4],
    ),
    "division": (
        "%d = arith.divsi %i, %i : index\n%s = tensor.extract_slice %a[%d] [3] [1]"
        " : tensor<?xf32> to tensor<3xf32>\n%r = tensor.cast %s : tensor<3xf32> to tensor<3xf32>",
        [0],
    ),
    "unread_division": (
        "%d = arith.remui %i, %i : index\n"
        "%r = tensor.extract_slice %a[%i] [3] [1] : tensor<?xf32> to tensor<3xf32>",
        [0],
    ),
    "step": (
        "%c0 = arith.constant 0 : index\n%e = tensor.empty() : tensor<3xf32>\n"
        "%r = scf.for %k = %c0 to %c0 step %i iter_args(%t = %e) -> (tensor<3xf32>) {\n"
        "scf.yield %t : tensor<3xf32>\n}",
        [0, -5],
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_same_error_as_interpreter(name: str) -> None:
    body, indices = FAILURES[name]
    compiled = Compiled(
        f"func.func @main(%a: tensor<?xf32>, %i: index) -> tensor<3xf32> {{\n{body}\n"
        "  return %r : tensor<3xf32>\n}"
    )
    for index in indices:
        inputs = [np.zeros(5, np.float32), np.int64(index)]
        with pytest.raises(OperationError) as expected:
            run(compiled.module, "main", inputs)
        with pytest.raises(OperationError) as found:
            compiled.run(inputs)
        assert found.value.operation is expected.value.operation
        assert found.value.message == expected.value.message


def test_regions_as_deep_as_the_parser_takes_them() -> None:
    """Calls of Python for each level have room, and levels do not look through all others."""
    depth = 240
    body = "%y = arith.addf %x, %x : tensor<2xf32>\nscf.yield %y : tensor<2xf32>\n"
    for level in range(depth):
        end = "return" if level == depth - 1 else "scf.yield"
        body = (
            f"%r{level} = scf.if %c -> tensor<2xf32> {{\n{body}}} else {{\n"
            f"scf.yield %x : tensor<2xf32>\n}}\n{end} %r{level} : tensor<2xf32>\n"
        )
    text = f"func.func @main(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {{\n{body}}}"
    main = api.compile(text, backend="native")["main"]
    np.testing.assert_array_equal(main(np.True_, np.ones(2, np.float32)), [2, 2])
