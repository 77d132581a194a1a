// RUN: mesh-opt %s --encode-device-tensors | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='builtin.module(stream.executable(builtin.module(iree-stream-encode-device-tensors)))' | filecheck %s

// Kernels read and write what is in memory: a byte for a boolean, 16 bits for 12.

// CHECK: %[[A:.*]] = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi8>>
// CHECK: %[[B:.*]] = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi16>>
// CHECK: %[[F:.*]] = stream.binding.subspan %f[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi4>>
// CHECK: %[[L:.*]] = iree_tensor_ext.dispatch.tensor.load %[[A]], {{.*}} : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi8>> -> tensor<4xi8>
// CHECK: %[[I1:.*]] = arith.trunci %[[L]] : tensor<4xi8> to tensor<4xi1>
// CHECK: %[[X:.*]] = arith.extui %[[I1]] : tensor<4xi1> to tensor<4xi12>
// CHECK: %[[W:.*]] = arith.extui %[[X]] : tensor<4xi12> to tensor<4xi16>
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[W]], %[[B]], {{.*}} : tensor<4xi16> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi16>>
// CHECK: iree_tensor_ext.dispatch.tensor.load %[[F]], {{.*}} -> tensor<4xi4>

// Elements that are no numbers are left to whoever knows them.

// CHECK: stream.binding.subspan {{.*}} -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xvector<2xi1>>>
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding, %b: !stream.binding, %f: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi1>>
      %1 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi12>>
      %2 = stream.binding.subspan %f[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi4>>
      %3 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi1>> -> tensor<4xi1>
      %4 = arith.extui %3 : tensor<4xi1> to tensor<4xi12>
      iree_tensor_ext.dispatch.tensor.store %4, %1, offsets = [0], sizes = [4], strides = [1] : tensor<4xi12> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi12>>
      %5 = iree_tensor_ext.dispatch.tensor.load %2, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi4>> -> tensor<4xi4>
      return
    }
  }
}
stream.executable private @vectors {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xvector<2xi1>>>
      return
    }
  }
}

// -----

// Memory that is packed holds bits, whatever the tensor says that is loaded from it or stored to it.

// CHECK: iree_tensor_ext.dispatch.tensor.load {{.*}} : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xi1, #iree_encoding.packed_storage>> -> tensor<8xi1>
// CHECK-NEXT: iree_tensor_ext.dispatch.tensor.store {{.*}} : tensor<8xi1> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xi1, #iree_encoding.packed_storage>>
stream.executable private @packed {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xi1, #iree_encoding.packed_storage>>
      %1 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xi1, #iree_encoding.packed_storage>> -> tensor<8xi1>
      iree_tensor_ext.dispatch.tensor.store %1, %0, offsets = [0], sizes = [8], strides = [1] : tensor<8xi1> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xi1, #iree_encoding.packed_storage>>
      func.return
    }
  }
}
