// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What kernels ask about their workgroup; where a kernel in place has its attributes.

// CHECK: %a = flow.dispatch.workgroup.id[0] : index
// CHECK: %b = flow.dispatch.workgroup.count[1] : index
// CHECK: %c = flow.dispatch.workgroup.size[2] : index
// CHECK: %d = hal.interface.workgroup.id[0] upper_bound 5 : index
// CHECK: %e = hal.interface.workgroup.count[1] : index
// CHECK: %f = hal.interface.workgroup.size[2] : index
// CHECK: %g = stream.dispatch.workgroup.id[0] : index
// CHECK: flow.dispatch.region -> (tensor<4xf32>) attributes {stream.affinity = #hal.device.affinity<@d>} {

func.func @kernel(%t: tensor<4xf32>) {
  %a = flow.dispatch.workgroup.id[0] : index
  %b = flow.dispatch.workgroup.count[1] : index
  %c = flow.dispatch.workgroup.size[2] : index
  %d = hal.interface.workgroup.id[0] upper_bound 5 : index
  %e = hal.interface.workgroup.count[1] : index
  %f = hal.interface.workgroup.size[2] : index
  %g = stream.dispatch.workgroup.id[0] : index
  %h = flow.dispatch.region -> (tensor<4xf32>) attributes {stream.affinity = #hal.device.affinity<@d>} {
    flow.return %t : tensor<4xf32>
  }
  func.return
}
