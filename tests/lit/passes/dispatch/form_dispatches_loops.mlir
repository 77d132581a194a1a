// RUN: mesh-opt %s --split-input-file --form-dispatches | filecheck %s

// A loop that updates a tensor and computes a number is a kernel, which returns the number in a
// tensor: the one that the program has made of it, or that the host reads. The table is updated
// where it lies.

// CHECK: func.func @main_dispatch_0_for_9_f32(%[[B:.*]]: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<9xf32>>,
// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: %[[N:.*]] = tensor.from_elements %[[R]]#0 : tensor<f32>
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[R]]#1, %[[B]],
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[N]],
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]]:2 = flow.dispatch @main_dispatch_0::@{{.*}}[%n](%t, %n, %s) : (tensor<9xf32>, index, f32) -> (%t, tensor<f32>)
// CHECK-NEXT: %[[X:.*]] = tensor.extract %[[D]]#1[] : tensor<f32>
// CHECK-NEXT: return %[[X]], %[[D]]#1, %[[D]]#0
func.func @main(%t: tensor<9xf32>, %s: f32, %n: index) -> (f32, tensor<f32>, tensor<9xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %s, %u = %t) -> (f32, tensor<9xf32>) {
    %old = tensor.extract %u[%i] : tensor<9xf32>
    %b = arith.addf %a, %old : f32
    %v = tensor.insert %b into %u[%i] : tensor<9xf32>
    scf.yield %b, %v : f32, tensor<9xf32>
  }
  %q = tensor.from_elements %r#0 : tensor<f32>
  return %r#0, %q, %r#1 : f32, tensor<f32>, tensor<9xf32>
}

// -----

// A loop of numbers is a kernel if it reads tensors. A number that nothing reads is not returned.

// CHECK: func.func @main_dispatch_0_while(
// CHECK: scf.while
// CHECK: tensor.from_elements %{{.*}}#1 : tensor<f32>
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]] = flow.dispatch @main_dispatch_0::@main_dispatch_0_while{{.*}} -> tensor<f32>
// CHECK-NEXT: %[[X:.*]] = tensor.extract %[[D]][] : tensor<f32>
// CHECK: scf.for
// CHECK: return %[[X]]
func.func @main(%x: tensor<9xf32>, %n: index) -> (f32, i64) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %r:2 = scf.while (%i = %zero, %a = %start) : (index, f32) -> (index, f32) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %i, %a : index, f32
  } do {
  ^bb0(%i: index, %a: f32):
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %s = arith.addf %a, %e : f32
    %j = arith.addi %i, %one : index
    scf.yield %j, %s : index, f32
  }
  %m = scf.for %i = %zero to %n step %one iter_args(%a = %none) -> (i64) {
    %b = arith.addi %a, %a : i64
    scf.yield %b : i64
  }
  return %r#1, %m : f32, i64
}

// -----

// Branches may return small tensors, or the updated one; constants are part of the kernel. A table
// from outside is not copied into a kernel with a small tensor.

// CHECK: func.func @main_dispatch_0_for_4_f32(
// CHECK: scf.index_switch
// CHECK: linalg.add
// CHECK: scf.if
// CHECK: tensor.insert_slice
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]]:2 = flow.dispatch @main_dispatch_0::@main_dispatch_0_for_4_f32
// CHECK: scf.for
// CHECK: flow.dispatch
func.func @main(%x: tensor<4xf32>, %which: tensor<9xi32>, %t: tensor<99x4xf32>) -> (tensor<4xf32>, tensor<99x4xf32>, tensor<4xf32>, tensor<99x4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 9 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<99x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<99x4xf32>) -> tensor<99x4xf32>
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %u = %f) -> (tensor<4xf32>, tensor<99x4xf32>) {
    %k = tensor.extract %which[%i] : tensor<9xi32>
    %w = arith.index_cast %k : i32 to index
    %b = scf.index_switch %w -> tensor<4xf32>
    case 0 {
      %c = arith.constant dense<1.0> : tensor<4xf32>
      %o = tensor.empty() : tensor<4xf32>
      %s = linalg.add ins(%a, %c : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %s : tensor<4xf32>
    }
    default {
      scf.yield %a : tensor<4xf32>
    }
    %p = arith.trunci %k : i32 to i1
    %v = scf.if %p -> (tensor<99x4xf32>) {
      %s = tensor.insert_slice %b into %u[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<99x4xf32>
      scf.yield %s : tensor<99x4xf32>
    } else {
      scf.yield %u : tensor<99x4xf32>
    }
    scf.yield %b, %v : tensor<4xf32>, tensor<99x4xf32>
  }
  %q:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %u = %t) -> (tensor<4xf32>, tensor<99x4xf32>) {
    %o = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    %v = tensor.insert_slice %s into %u[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<99x4xf32>
    scf.yield %s, %v : tensor<4xf32>, tensor<99x4xf32>
  }
  return %r#0, %r#1, %q#0, %q#1 : tensor<4xf32>, tensor<99x4xf32>, tensor<4xf32>, tensor<99x4xf32>
}

// -----

// A loop of numbers runs where the tensors are that it reads. One whose body names a device is left
// to the host.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
// CHECK-LABEL: func.func @main(
// CHECK-NOT: flow.tensor.transfer
// CHECK: flow.dispatch @main_dispatch_0::{{.*}} {stream.affinity = #hal.device.affinity<@b>}
// CHECK: scf.for
// CHECK: flow.dispatch @main_dispatch_1::{{.*}} {stream.affinity = #hal.device.affinity<@b>}
func.func @main(%x: tensor<9xf32> {iree.abi.affinity = #hal.device.affinity<@b>}, %n: index) -> (f32, tensor<9xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) attributes {stream.affinity.default = #hal.device.affinity<@a>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (f32) {
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %s = arith.addf %a, %e : f32
    scf.yield %s : f32
  }
  %q = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<9xf32>) {
    %o = tensor.empty() : tensor<9xf32>
    %s = linalg.add {stream.affinity = #hal.device.affinity<@b>} ins(%a, %x : tensor<9xf32>, tensor<9xf32>) outs(%o : tensor<9xf32>) -> tensor<9xf32>
    scf.yield %s : tensor<9xf32>
  }
  return %r, %q : f32, tensor<9xf32>
}
