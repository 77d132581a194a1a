// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What callers pass, and what kernels are given.

// CHECK-DAG: #pipeline_layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">]>
// CHECK: func.func @edge(%view: !hal.buffer_view, %fence: !hal.fence, %n: index, %storage: !hal.buffer) {
// CHECK: %f32 = hal.element_type<f32> : i32
// CHECK: %rows = hal.encoding_type<dense_row_major> : i32
// CHECK: hal.buffer_view.assert<%view : !hal.buffer_view> message("input0") shape([%n, %n]) type(%f32) encoding(%rows)
// CHECK: %m = hal.buffer_view.dim<%view : !hal.buffer_view>[1] : index
// CHECK: %t = hal.tensor.import on(#hal.device.affinity<@d>) wait(%fence) => %view "input0" : !hal.buffer_view -> tensor<?x4xf32>{%m}
// CHECK: %u = hal.tensor.import consume %view : !hal.buffer_view -> tensor<4xf32> as tensor<4xi32>
// CHECK: %b:2 = hal.tensor.barrier join(%t, %u : tensor<?x4xf32>, tensor<4xi32>) => %fence : !hal.fence
// CHECK: %v = hal.tensor.export on(#hal.device.affinity<@d>) %t "output0" : tensor<?x4xf32>{%m} -> !hal.buffer_view
// CHECK: %w = hal.tensor.export %u : tensor<4xf32> as tensor<4xi32> -> !hal.buffer_view
// CHECK: func.func @kernel(%n: index) {
// CHECK: %k = hal.interface.constant.load layout(#pipeline_layout) ordinal(0) : i32
// CHECK: %c0 = arith.constant 0 : index
// CHECK: %s = hal.interface.binding.subspan layout(#pipeline_layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<?xf32>{%n}

func.func @edge(%view: !hal.buffer_view, %fence: !hal.fence, %n: index, %storage: !hal.buffer) {
  %f32 = hal.element_type<f32> : i32
  %rows = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%view : !hal.buffer_view> message("input0") shape([%n, %n]) type(%f32) encoding(%rows)
  %m = hal.buffer_view.dim<%view : !hal.buffer_view>[1] : index
  %t = hal.tensor.import on(#hal.device.affinity<@d>) wait(%fence) => %view "input0" : !hal.buffer_view -> tensor<?x4xf32>{%m}
  %u = hal.tensor.import consume %view : !hal.buffer_view -> tensor<4xf32> as tensor<4xi32>
  %b, %b_1 = hal.tensor.barrier join(%t, %u : tensor<?x4xf32>, tensor<4xi32>) => %fence : !hal.fence
  %v = hal.tensor.export on(#hal.device.affinity<@d>) %t "output0" : tensor<?x4xf32>{%m} -> !hal.buffer_view
  %w = hal.tensor.export %u : tensor<4xf32> as tensor<4xi32> -> !hal.buffer_view
  func.return
}
func.func @kernel(%n: index) {
  %k = hal.interface.constant.load layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">]>) ordinal(0) : i32
  %c0 = arith.constant 0 : index
  %s = hal.interface.binding.subspan layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">]>) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<?xf32>{%n}
  func.return
}
