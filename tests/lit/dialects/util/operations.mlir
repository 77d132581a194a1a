// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Globals, initializers, functions with results tied to arguments, and facts about numbers.

// CHECK: #composite_of_64b = #util.composite<64xi8, [
// CHECK-NEXT: dense<1> : tensor<2x2xi8>,
// CHECK-NEXT: dense<0> : vector<60xi8>,
// CHECK-NEXT: ]>

// CHECK-DAG: #device_target_local = #hal.device.target<"local"> : !hal.device
// CHECK: util.global private mutable @counter {note = 1 : i32, stream.affinity = #hal.device.affinity<@d>} : index
// CHECK: util.global public @d = #device_target_local
// CHECK: util.global private @number <inlining_policy = #util.inline.never> = 4 : i32
// CHECK: util.global private @weights = dense<1.000000e+00> : tensor<4xf32>
// CHECK: util.global private @later = #util.uninitialized : tensor<4xf32>
// CHECK: util.global private @seeded = #util.byte_pattern<1> : i32
// CHECK: util.initializer {
// CHECK: %zero = arith.constant 0 : index
// CHECK: util.global.store %zero, @counter : index
// CHECK: util.initializer attributes {x = 1 : i32} {
// CHECK: util.func private @callee(%a: tensor<?xf32>, %i: index) -> (%a as tensor<4xf32>, index, %a {x.y}) attributes {foo = 1 : i32} {
// CHECK: %0 = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
// CHECK: util.return %0, %i, %a : tensor<4xf32>, index, tensor<?xf32>
// CHECK: util.func private @declared(%arg0: tensor<?xf32> {a.b}, %arg1: index) -> tensor<4xf32>
// CHECK: util.func public @main(%t: tensor<?xf32>, %n: index) -> index {
// CHECK: %load = util.global.load immutable @number : i32
// CHECK: %p = util.global.address @counter : !util.ptr<index>
// CHECK: %indirect = util.global.load.indirect %p : !util.ptr<index> -> index
// CHECK: util.global.store.indirect %n, %p : index -> !util.ptr<index>
// CHECK: %call:3 = util.call @callee(%t, %n) : (tensor<?xf32>, index) -> (%t as tensor<4xf32>, index, %t)
// CHECK: %b:2 = util.optimization_barrier %n, %t : index, tensor<?xf32>
// CHECK: %g:2 = util.assume.int
// CHECK-NEXT: %n<umin = 0, umax = 9, udiv = 4>,
// CHECK-NEXT: %n<udiv = 64>
// CHECK-NEXT: : index, index
// CHECK: %h = util.assume.int %n[<umin = 0>, <udiv = 64>] : index
// CHECK: %al = util.align %n, %n : index
// CHECK: %sw = util.switch index from [%n, %h] at %n else %al {note} : index
// CHECK: %none = util.switch i32 from [] at %n else %load : i32
// CHECK: %bytes = util.buffer.constant : !util.buffer = "x"
// CHECK: %parts = util.buffer.constant "name" <alignment = 64, mime_type = "text/plain"> {note} : !util.buffer = #composite_of_64b
// CHECK: util.return %n : index

util.global private mutable @counter {note = 1 : i32, stream.affinity = #hal.device.affinity<@d>} : index
util.global public @d = #hal.device.target<"local"> : !hal.device
util.global private @number <inlining_policy = #util.inline.never> = 4 : i32
util.global private @weights = dense<1.000000e+00> : tensor<4xf32>
util.global private @later = #util.uninitialized : tensor<4xf32>
util.global private @seeded = #util.byte_pattern<1> : i32
util.initializer {
  %zero = arith.constant 0 : index
  util.global.store %zero, @counter : index
  util.return
}
util.initializer attributes {x = 1 : i32} {
  util.return
}
util.func private @callee(%a: tensor<?xf32>, %i: index) -> (%a as tensor<4xf32>, index, %a {x.y}) attributes {foo = 1 : i32} {
  %0 = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  util.return %0, %i, %a : tensor<4xf32>, index, tensor<?xf32>
}
util.func private @declared(%arg0: tensor<?xf32> {a.b}, %arg1: index) -> tensor<4xf32>
util.func public @main(%t: tensor<?xf32>, %n: index) -> index {
  %load = util.global.load immutable @number : i32
  %p = util.global.address @counter : !util.ptr<index>
  %indirect = util.global.load.indirect %p : !util.ptr<index> -> index
  util.global.store.indirect %n, %p : index -> !util.ptr<index>
  %call, %call_1, %call_2 = util.call @callee(%t, %n) : (tensor<?xf32>, index) -> (%t as tensor<4xf32>, index, %t)
  %b, %b_1 = util.optimization_barrier %n, %t : index, tensor<?xf32>
  %g, %g_1 = util.assume.int %n<umin = 0, umax = 9, udiv = 4>, %n<udiv = 64> : index, index
  %h = util.assume.int %n[<umin = 0>, <udiv = 64>] : index
  %al = util.align %n, %n : index
  %sw = util.switch index from [%n, %h] at %n else %al {note} : index
  %none = util.switch i32 from [] at %n else %load : i32
  %bytes = util.buffer.constant : !util.buffer = "x"
  %parts = util.buffer.constant "name" <alignment = 64, mime_type = "text/plain"> {note} : !util.buffer = #util.composite<64xi8, [dense<1> : tensor<2x2xi8>, dense<0> : vector<60xi8>]>
  util.return %n : index
}
