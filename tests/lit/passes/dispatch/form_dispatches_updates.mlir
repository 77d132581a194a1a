// RUN: mesh-opt %s --split-input-file --form-dispatches | filecheck %s

// A kernel that inserts a slice writes it where the tensor lies.

// CHECK: func.func @main_dispatch_0_insert_slice_8x4_f32(%[[S:.*]]: !iree_tensor_ext.dispatch.tensor<readonly:tensor<1x4xf32>>, %[[T:.*]]: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8x4xf32>>, %{{.*}}: index) {
// CHECK: %[[R:.*]] = tensor.insert_slice
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[R]], %[[T]],
// CHECK-LABEL: func.func @main(
// CHECK: flow.dispatch @main_dispatch_0::@{{.*}}[%i](%s, %t, %i) : (tensor<1x4xf32>, tensor<8x4xf32>, index) -> %t
func.func @main(%t: tensor<8x4xf32>, %s: tensor<1x4xf32>, %i: index) -> tensor<8x4xf32> {
  %r = tensor.insert_slice %s into %t[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// What is inserted may be computed in another kernel; two insertions are two kernels.

// CHECK-LABEL: func.func @main(
// CHECK: %[[U:.*]] = flow.dispatch @main_dispatch_0::@{{.*}}(%s, %t, %i) : {{.*}} -> %t
// CHECK: flow.dispatch @main_dispatch_{{.*}}(%s, %[[U]]) : {{.*}} -> %[[U]]
func.func @main(%t: tensor<8x4xf32>, %s: tensor<1x4xf32>, %i: index) -> tensor<8x4xf32> {
  %u = tensor.insert_slice %s into %t[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  %r = tensor.insert_slice %s into %u[3, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// A kernel that reads the tensor once more writes to a tensor of its own.

// CHECK: func.func @main_dispatch_0_insert_slice_4x4_f32(%{{.*}}: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32>>, %{{.*}}: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x4xf32>>) {
// CHECK-LABEL: func.func @main(
// CHECK: flow.dispatch @main_dispatch_0::@{{.*}}(%t) : (tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @main(%t: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = tensor.insert_slice %t into %t[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// A loop that sets all elements of a small tensor in each iteration is a kernel.

// CHECK: func.func @main_dispatch_0_for_4_f32(
// CHECK: scf.for
// CHECK: linalg.add
// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.for
// CHECK: flow.dispatch @main_dispatch_0::@main_dispatch_0_for_4_f32[%n](%x, %n) : (tensor<4xf32>, index) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A loop with a reduction of few steps is a kernel. So is one that carries what it computes in few.

// CHECK: func.func @main_dispatch_0_for_4_f32(
// CHECK: scf.for
// CHECK: linalg.matvec
// CHECK: func.func @main_dispatch_1_while_4096_f32(
// CHECK: scf.while
// CHECK: linalg.reduce
// CHECK: linalg.add
// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.
// CHECK: flow.dispatch @main_dispatch_0::@main_dispatch_0_for_4_f32[%n](%y, %m, %n) : (tensor<4xf32>, tensor<4x4xf32>, index) -> tensor<4xf32>
// CHECK-NEXT: flow.dispatch @main_dispatch_1::@main_dispatch_1_while_4096_f32(%x) : (tensor<4096xf32>) -> tensor<4096xf32>
func.func @main(%x: tensor<4096xf32>, %m: tensor<4x4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4096xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %q = scf.for %i = %zero to %n step %one iter_args(%a = %y) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %s = linalg.matvec ins(%m, %a : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  %r = scf.while (%a = %x) : (tensor<4096xf32>) -> tensor<4096xf32> {
    %e = tensor.empty() : tensor<f32>
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %s = linalg.reduce { arith.addf } ins(%a : tensor<4096xf32>) outs(%f : tensor<f32>) dimensions = [0]
    %v = tensor.extract %s[] : tensor<f32>
    %p = arith.cmpf olt, %v, %c : f32
    scf.condition(%p) %a : tensor<4096xf32>
  } do {
  ^bb0(%a: tensor<4096xf32>):
    %e = tensor.empty() : tensor<4096xf32>
    %s = linalg.add ins(%a, %x : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
    scf.yield %s : tensor<4096xf32>
  }
  return %q, %r : tensor<4xf32>, tensor<4096xf32>
}

// -----

// An iteration with many steps is a kernel of its own, as is one whose sizes are unknown.

// CHECK-LABEL: func.func @main(
// CHECK: scf.for
// CHECK: flow.dispatch
// CHECK: scf.for
// CHECK: flow.dispatch
// CHECK: scf.for
// CHECK: flow.dispatch
func.func @main(%x: tensor<1048576xf32>, %m: tensor<4x99999xf32>, %l: tensor<4x?xf32>, %v: tensor<99999xf32>, %u: tensor<?xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<1048576xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<1048576xf32>) {
    %e = tensor.empty() : tensor<1048576xf32>
    %s = linalg.add ins(%a, %x : tensor<1048576xf32>, tensor<1048576xf32>) outs(%e : tensor<1048576xf32>) -> tensor<1048576xf32>
    scf.yield %s : tensor<1048576xf32>
  }
  %q = scf.for %i = %zero to %n step %one iter_args(%a = %y) -> (tensor<4xf32>) {
    %s = linalg.matvec ins(%m, %v : tensor<4x99999xf32>, tensor<99999xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  %k = scf.for %i = %zero to %n step %one iter_args(%a = %y) -> (tensor<4xf32>) {
    %s = linalg.matvec ins(%l, %u : tensor<4x?xf32>, tensor<?xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r, %q, %k : tensor<1048576xf32>, tensor<4xf32>, tensor<4xf32>
}
