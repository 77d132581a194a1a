// RUN: mesh-opt %s --split-input-file --form-dispatches | filecheck %s

// What is stored to a global is computed where the global is.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
util.global private @placed {stream.affinity = #hal.device.affinity<@b>} : tensor<4xf32>
// CHECK: util.initializer
// CHECK: flow.dispatch {{.*}} {stream.affinity = #hal.device.affinity<@b>}
util.initializer {
  %e = tensor.empty() : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %0 = linalg.exp ins(%c : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  util.global.store %0, @placed : tensor<4xf32>
  util.return
}

// -----

// A global that is wherever it is read: what it is set to is computed where it is read first.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
util.global private @anywhere : tensor<4xf32>
// CHECK: util.initializer
// CHECK: flow.dispatch {{.*}} {stream.affinity = #hal.device.affinity<@b>}
util.initializer {
  %e = tensor.empty() : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %0 = linalg.exp ins(%c : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  util.global.store %0, @anywhere : tensor<4xf32>
  util.return
}
func.func @read(%x: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) -> tensor<4xf32> {
  %g = util.global.load @anywhere : tensor<4xf32>
  %0 = linalg.add ins(%x, %g : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A global that changes is in one place, and says so from here on; elsewhere it is moved to.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
// CHECK: util.global private mutable @state {stream.affinity = #hal.device.affinity<@b>} = dense<0.000000e+00>
util.global private mutable @state = dense<0.0> : tensor<4xf32>
// CHECK-LABEL: func.func @change
// CHECK: %[[OLD:.*]] = util.global.load @state
// CHECK: util.global.store %x, @state
// CHECK: %[[MOVED:.*]] = flow.tensor.transfer %[[OLD]] : tensor<4xf32> to #hal.device.affinity<@a>
// CHECK: flow.dispatch {{.*}}(%y, %[[MOVED]]) {stream.affinity = #hal.device.affinity<@a>}
// CHECK: %[[BACK:.*]] = flow.tensor.transfer %{{.*}} : tensor<4xf32> to #hal.device.affinity<@b>
// CHECK: util.global.store %[[BACK]], @state
func.func @change(%x: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@b>}, %y: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@a>}) {
  %old = util.global.load @state : tensor<4xf32>
  util.global.store %x, @state : tensor<4xf32>
  %0 = linalg.add ins(%y, %old : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  util.global.store %0, @state : tensor<4xf32>
  return
}

// -----

// Control flow goes on in one place; a constant is made there.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
// CHECK-LABEL: func.func @ways
// CHECK: scf.if
// CHECK:   scf.yield %x
// CHECK: } else {
// CHECK:   %[[MOVED:.*]] = flow.tensor.transfer %y : tensor<4xf32> to #hal.device.affinity<@a>
// CHECK:   scf.yield %[[MOVED]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %z)
// CHECK:   %[[MADE:.*]] = arith.constant {stream.affinity = #hal.device.affinity<@b>} dense<1.000000e+00>
// CHECK:   scf.yield %[[MADE]]
func.func @ways(%p: i1, %n: index, %x: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@a>}, %y: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@b>}, %z: tensor<1048576xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) -> (tensor<4xf32>, tensor<1048576xf32>) {
  %0 = scf.if %p -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  %1 = scf.for %i = %n to %n step %n iter_args(%a = %z) -> (tensor<1048576xf32>) {
    %c = arith.constant dense<1.0> : tensor<1048576xf32>
    scf.yield %c : tensor<1048576xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<1048576xf32>
}

// -----

// What an operation reads inside of its body is brought to it, and what is dispatched as written.

util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}> : !hal.device
// CHECK-LABEL: func.func @inside
// CHECK: %[[TABLE:.*]] = flow.tensor.transfer %table : tensor<9xf32> to #hal.device.affinity<@a>
// CHECK: flow.dispatch {{.*}}(%at, %[[TABLE]]) {stream.affinity = #hal.device.affinity<@a>}
// CHECK: %[[MADE:.*]] = arith.constant {stream.affinity = #hal.device.affinity<@b>} dense<[1.000000e+00, 2.000000e+00]>
// CHECK: flow.dispatch {{.*}}(%pair, %[[MADE]])
#map = affine_map<(d0) -> (d0)>
func.func @inside(%at: tensor<4xi32> {iree.abi.affinity = #hal.device.affinity<@a>}, %table: tensor<9xf32> {iree.abi.affinity = #hal.device.affinity<@b>}, %pair: tensor<2xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) -> (tensor<4xf32>, tensor<2xf32>) attributes {stream.affinity.default = #hal.device.affinity<@a>} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%at : tensor<4xi32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: i32, %o: f32):
    %j = arith.index_cast %i : i32 to index
    %v = tensor.extract %table[%j] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = flow.dispatch.workgroups(%pair, %c) : (tensor<2xf32>, tensor<2xf32>) -> %c =
      (%p: !iree_tensor_ext.dispatch.tensor<readonly:tensor<2xf32>>, %q: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<2xf32>>) {
    %l = iree_tensor_ext.dispatch.tensor.load %p, offsets = [0], sizes = [2], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<2xf32>> -> tensor<2xf32>
    iree_tensor_ext.dispatch.tensor.store %l, %q, offsets = [0], sizes = [2], strides = [1] : tensor<2xf32> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<2xf32>>
    flow.return
  }
  return %0, %1 : tensor<4xf32>, tensor<2xf32>
}
