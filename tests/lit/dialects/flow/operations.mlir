// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Transfers, encodes and dispatches; the dispatch tensors of 2024.

// CHECK-DAG: #encoding = #iree_encoding.testing<>
// CHECK: util.global private @parameter = #flow.parameter.named<"model"::"w"> : tensor<4xf32>
// CHECK: flow.executable private @e {
// CHECK: flow.executable.export public @f workgroups(%a: index) -> (index, index, index) {
// CHECK: %x, %y, %z = flow.dispatch.workgroup_count_from_slice %a
// CHECK: flow.return %x, %y, %z : index, index, index
// CHECK: flow.executable.export public @f as("g")
// CHECK: func.func @f(%a: !flow.dispatch.tensor<readonly:tensor<?x4xf32>>, %n: index, %o: !flow.dispatch.tensor<readwrite:tensor<?x4xf32>>) {
// CHECK: %0 = flow.dispatch.workload.ordinal %n, 0 : index
// CHECK: %1 = flow.dispatch.tie_shape %a : !flow.dispatch.tensor<readonly:tensor<?x4xf32>>{%0}
// CHECK: %2 = flow.dispatch.tensor.load %1, offsets = [%n, 0], sizes = [2, %n], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x4xf32>>{%0} -> tensor<2x?xf32>
// CHECK: flow.dispatch.tensor.store %2, %o, offsets = [%n, 0], sizes = [2, %n], strides = [1, 1] : tensor<2x?xf32> -> !flow.dispatch.tensor<readwrite:tensor<?x4xf32>>{%0}
// CHECK: func.func @host(%t: tensor<?x4xf32>, %n: index) {
// CHECK: %r = flow.tensor.transfer %t : tensor<?x4xf32>{%n} to #hal.device.affinity<@d, [0, 1]>
// CHECK: %b = flow.tensor.barrier %t : tensor<?x4xf32>{%n} on #hal.device.affinity<@d>
// CHECK: %c = flow.tensor.encode %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32, #encoding>{%n}
// CHECK: %s = flow.tensor.reshape %t : tensor<?x4xf32>{%n} -> tensor<?xf32>{%n}
// CHECK: %d:2 = flow.dispatch @e::@f[%n](%t, %n) : (tensor<?x4xf32>{%n}, index) -> (%t{%n}, index)
// CHECK: %e = flow.dispatch {@e::@f, @e::@g}[%n](%t, %n) {stream.affinity = #hal.device.affinity<@d>} : (tensor<?x4xf32>{%n}, index) -> %t as tensor<4x?xf32>{%n}
// CHECK: %w = flow.dispatch.workgroups[%n](%t, %n) : (tensor<?x4xf32>{%n}, index) -> tensor<?x4xf32>{%n} =
// CHECK-NEXT: (%a: !flow.dispatch.tensor<readonly:tensor<?x4xf32>>, %i: index, %o: !flow.dispatch.tensor<writeonly:tensor<?x4xf32>>) {
// CHECK: flow.return
// CHECK: } count(%i_1: index) -> (index, index, index) {
// CHECK: flow.return %i_1, %i_1, %i_1 : index, index, index
// CHECK: %g = flow.dispatch.region[%n] -> (tensor<?x4xf32>{%n}) {
// CHECK: flow.return %t : tensor<?x4xf32>
// CHECK: } count(%i: index) -> (index, index, index) {
// CHECK: flow.return %i, %i, %i : index, index, index

util.global private @parameter = #flow.parameter.named<"model"::"w"> : tensor<4xf32>
flow.executable private @e {
  flow.executable.export public @f workgroups(%a: index) -> (index, index, index) {
    %x, %y, %z = flow.dispatch.workgroup_count_from_slice %a
    flow.return %x, %y, %z : index, index, index
  }
  flow.executable.export public @f as("g")
  builtin.module {
    func.func @f(%a: !flow.dispatch.tensor<readonly:tensor<?x4xf32>>, %n: index, %o: !flow.dispatch.tensor<readwrite:tensor<?x4xf32>>) {
      %0 = flow.dispatch.workload.ordinal %n, 0 : index
      %1 = flow.dispatch.tie_shape %a : !flow.dispatch.tensor<readonly:tensor<?x4xf32>>{%0}
      %2 = flow.dispatch.tensor.load %1, offsets = [%n, 0], sizes = [2, %n], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x4xf32>>{%0} -> tensor<2x?xf32>
      flow.dispatch.tensor.store %2, %o, offsets = [%n, 0], sizes = [2, %n], strides = [1, 1] : tensor<2x?xf32> -> !flow.dispatch.tensor<readwrite:tensor<?x4xf32>>{%0}
      func.return
    }
  }
}
func.func @host(%t: tensor<?x4xf32>, %n: index) {
  %r = flow.tensor.transfer %t : tensor<?x4xf32>{%n} to #hal.device.affinity<@d, [0, 1]>
  %b = flow.tensor.barrier %t : tensor<?x4xf32>{%n} on #hal.device.affinity<@d>
  %c = flow.tensor.encode %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32, #iree_encoding.testing<>>{%n}
  %s = flow.tensor.reshape %t : tensor<?x4xf32>{%n} -> tensor<?xf32>{%n}
  %d, %d_1 = flow.dispatch @e::@f[%n](%t, %n) : (tensor<?x4xf32>{%n}, index) -> (%t{%n}, index)
  %e = flow.dispatch {@e::@f, @e::@g}[%n](%t, %n) {stream.affinity = #hal.device.affinity<@d>} : (tensor<?x4xf32>{%n}, index) -> %t as tensor<4x?xf32>{%n}
  %w = flow.dispatch.workgroups[%n](%t, %n) : (tensor<?x4xf32>{%n}, index) -> tensor<?x4xf32>{%n} = (%a: !flow.dispatch.tensor<readonly:tensor<?x4xf32>>, %i: index, %o: !flow.dispatch.tensor<writeonly:tensor<?x4xf32>>) {
    flow.return
  } count(%i: index) -> (index, index, index) {
    flow.return %i, %i, %i : index, index, index
  }
  %g = flow.dispatch.region[%n] -> (tensor<?x4xf32>{%n}) {
    flow.return %t : tensor<?x4xf32>
  } count(%i: index) -> (index, index, index) {
    flow.return %i, %i, %i : index, index, index
  }
  func.return
}
