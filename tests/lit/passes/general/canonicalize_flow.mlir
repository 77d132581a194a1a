// RUN: mesh-opt %s --canonicalize --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: @conversions
// CHECK-NEXT: %[[BITS:.*]] = flow.tensor.bitcast %{{.*}} : tensor<4x?xf32>{%{{.*}}} -> tensor<?xi32>{%[[N:.*]]}
// CHECK-NEXT: util.return %[[BITS]], %[[N]], %{{.*}}
util.func public @conversions(%t: tensor<4x?xf32>, %s: tensor<4x4xf32>, %d: index, %n: index) -> (tensor<?xi32>, index, tensor<4x4xf32>) {
  %flat = flow.tensor.reshape %t : tensor<4x?xf32>{%d} -> tensor<?xf32>{%n}
  %bits = flow.tensor.bitcast %flat : tensor<?xf32>{%n} -> tensor<?xi32>{%n}
  %c0 = arith.constant 0 : index
  %size = tensor.dim %bits, %c0 : tensor<?xi32>
  %line = flow.tensor.reshape %s : tensor<4x4xf32> -> tensor<16xf32>
  %back = flow.tensor.reshape %line : tensor<16xf32> -> tensor<4x4xf32>
  util.return %bits, %size, %back : tensor<?xi32>, index, tensor<4x4xf32>
}

// Two dynamic sizes may be reordered.
// CHECK-LABEL: @reordered
// CHECK-NEXT: flow.tensor.reshape
util.func public @reordered(%t: tensor<?x?xf32>, %d: index, %e: index) -> tensor<?x?xf32> {
  %r = flow.tensor.reshape %t : tensor<?x?xf32>{%d, %e} -> tensor<?x?xf32>{%e, %d}
  util.return %r : tensor<?x?xf32>
}

// CHECK-LABEL: @constants
// CHECK-DAG: dense<[{{\[}}5, 6]]> : tensor<1x2xi32>
// CHECK-DAG: dense<[1, 9]> : tensor<2xi32>
// CHECK-DAG: arith.constant 4 : i32
// CHECK-NOT: flow
util.func public @constants(%v: i32, %i: index) -> (tensor<1x2xi32>, tensor<2xi32>, i32, i32) {
  %c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %p = flow.tensor.constant dense<1> : tensor<2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %nine = arith.constant 9 : i32
  %slice = flow.tensor.slice %c[%c1, %c1 for %c1, %c2] : tensor<2x3xi32> -> tensor<1x2xi32>
  %stored = flow.tensor.store %nine, %p[%c1] : tensor<2xi32>
  %loaded = flow.tensor.load %c[%c1, %c0] : tensor<2x3xi32>
  %splat = flow.tensor.splat %v : tensor<8xi32>
  %one = flow.tensor.load %splat[%i] : tensor<8xi32>
  util.return %slice, %stored, %loaded, %one : tensor<1x2xi32>, tensor<2xi32>, i32, i32
}

// CHECK-LABEL: @empty
// CHECK-NEXT: %[[E:.*]] = flow.tensor.empty : tensor<?x0xf32>{%[[N:.*]]}
// CHECK-NEXT: util.return %[[E]], %{{.*}}
util.func public @empty(%z: tensor<0x?xf32>, %t: tensor<4x4xf32>, %d: index, %n: index) -> (tensor<?x0xf32>, tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %r = flow.tensor.reshape %z : tensor<0x?xf32>{%d} -> tensor<?x0xf32>{%n}
  %u = flow.tensor.update %z, %t[%c0, %c0] : tensor<0x?xf32>{%d} -> %t as tensor<4x4xf32>
  util.return %r, %u : tensor<?x0xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: @transfers(%s
// CHECK-NEXT: %[[T:.*]] = flow.tensor.transfer %s : tensor<4xf32> to "b"
// CHECK-NEXT: util.return %[[T]]
util.func public @transfers(%s: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %a = flow.tensor.transfer %s : tensor<4xf32> to "a"
  %b = flow.tensor.transfer %a : tensor<4xf32> to "b"
  %unused = flow.dispatch @e::@k[%n](%b) : (tensor<4xf32>) -> tensor<4xf32>
  util.return %b : tensor<4xf32>
}

// CHECK-LABEL: @sizes
// CHECK: %[[C:.*]] = flow.tensor.constant dense<1> : tensor<4xi32>
// CHECK: %[[N:.*]] = util.optimization_barrier %{{.*}} : index
// CHECK: flow.tensor.reshape %[[C]] : tensor<4xi32> -> tensor<?xi32>{%[[N]]}
util.func public @sizes() -> tensor<?xi32> {
  %c = flow.tensor.dynamic_constant dense<1> : tensor<4xi32> -> tensor<?xi32>
  util.return %c : tensor<?xi32>
}

// CHECK-LABEL: @region(%t: tensor<?x4xf32>, %d: index, %e
// CHECK-NEXT: %[[R:.*]] = flow.dispatch.region -> (tensor<?x4xf32>{%e}) {
// CHECK-NEXT: %[[A:.*]], %[[B:.*]] = "test.pair"(%t)
// CHECK-NEXT: flow.return %[[B]] : tensor<?x4xf32>
// CHECK: util.return %[[R]], %[[R]]
util.func public @region(%t: tensor<?x4xf32>, %d: index, %e: index) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %k:3 = flow.dispatch.region -> (tensor<?x4xf32>{%d}, tensor<?x4xf32>{%e}, tensor<?x4xf32>{%d}) {
    %a, %b = "test.pair"(%t) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    flow.return %a, %b, %b : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  }
  util.return %k#1, %k#2 : tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @workgroups(%t: tensor<?xf32>, %n: index, %d
// CHECK-NEXT: flow.dispatch.workgroups[%n](%n, %t) : (index, tensor<?xf32>{%d}) -> tensor<?xf32>{%d} =
// CHECK-NEXT: (%[[N:.*]]: index, %[[T:.*]]: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %[[O:.*]]: !iree_tensor_ext
// CHECK-NEXT: "test.kernel"(%[[N]], %[[N]], %[[T]], %[[O]])
// CHECK-NEXT: flow.return
util.func public @workgroups(%t: tensor<?xf32>, %n: index, %d: index) -> tensor<?xf32> {
  %k:2 = flow.dispatch.workgroups[%n](%t, %n, %n, %t) : (tensor<?xf32>{%n}, index, index, tensor<?xf32>{%d}) -> (tensor<4xf32>, tensor<?xf32>{%d}) =
      (%unused: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %a: index, %b: index, %c: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %dropped: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) {
    %x = "test.kernel"(%a, %b, %c, %o) : (index, index, !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) -> tensor<4xf32>
    iree_tensor_ext.dispatch.tensor.store %x, %dropped, offsets = [0], sizes = [4], strides = [1] : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
    flow.return
  }
  util.return %k#1 : tensor<?xf32>
}
