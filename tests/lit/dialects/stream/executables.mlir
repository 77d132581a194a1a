// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Kernels.

// CHECK: stream.executable private @ex {
// CHECK: stream.executable.export public @f workgroups(%a: index) -> (index, index, index) {
// CHECK: %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%a)
// CHECK: stream.return %x, %y, %z : index, index, index
// CHECK: stream.executable.export public @f as("g")
// CHECK: func.func @f(%a: !stream.binding, %n: index) {
// CHECK: %c0 = arith.constant 0 : index
// CHECK: %0 = stream.binding.subspan %a[%c0] : !stream.binding -> memref<?xf32>{%n}
// CHECK: %id = stream.dispatch.workgroup.id[0] : index
// CHECK: %ct = stream.dispatch.workgroup.count[1] : index
// CHECK: %sz = stream.dispatch.workgroup.size[2] : index
// CHECK: stream.executable private @empty attributes {x = 1 : i32} {
// CHECK: func.func private @types(!stream.resource<*>, !stream.resource<external>, !stream.resource<staging>, !stream.resource<transient>, !stream.resource<variable>, !stream.resource<constant>, !stream.channel, !stream.file)

stream.executable private @ex {
  stream.executable.export public @f workgroups(%a: index) -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%a)
    stream.return %x, %y, %z : index, index, index
  }
  stream.executable.export public @f as("g")
  builtin.module {
    func.func @f(%a: !stream.binding, %n: index) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> memref<?xf32>{%n}
      %id = stream.dispatch.workgroup.id[0] : index
      %ct = stream.dispatch.workgroup.count[1] : index
      %sz = stream.dispatch.workgroup.size[2] : index
      func.return
    }
  }
}
stream.executable private @empty attributes {x = 1 : i32} {
}
func.func private @types(!stream.resource<*>, !stream.resource<external>, !stream.resource<staging>, !stream.resource<transient>, !stream.resource<variable>, !stream.resource<constant>, !stream.channel, !stream.file)
