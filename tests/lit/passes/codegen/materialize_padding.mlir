// RUN: mesh-opt %s --iree-codegen-materialize-device-encoding | filecheck %s

// A function that names its target sees the padding of tensors in memory as elements that it does
// not access. The target chooses open padding.

#gpu = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#open = #iree_encoding.padding<[0, ?]>
#chosen = #iree_encoding.layout<[#iree_encoding.padding<[0, 2, 32]>]>

// CHECK-LABEL: @open
func.func @open() attributes {hal.executable.target = #gpu} {
  %zero = arith.constant 0 : index
  %c = hal.interface.constant.load layout(#layout) ordinal(0) : i32
  %n = arith.index_castui %c : i32 to index
  // CHECK: binding(0) {{.*}} : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x2112xf16>>{%n}
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%zero) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x2048xf16, #open>>{%n}
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%zero) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x2048xf16>>{%n}
  // CHECK: sizes = [%n, 2048], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x2112xf16>>{%n} -> tensor<?x2048xf16>
  %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [%n, 2048], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x2048xf16, #open>>{%n} -> tensor<?x2048xf16, #open>
  // CHECK-NOT: iree_encoding
  %3 = iree_encoding.unset_encoding %2 : tensor<?x2048xf16, #open> -> tensor<?x2048xf16>{%n}
  iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [%n, 2048], strides = [1, 1] : tensor<?x2048xf16> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x2048xf16>>{%n}
  return
}

// CHECK-LABEL: @chosen
func.func @chosen() attributes {hal.executable.target = #gpu} {
  %zero = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%zero) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8x32xf32>>
  // CHECK: binding(1) {{.*}} : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x10x64xf32>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%zero) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8x32xf32, #chosen>>
  %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0, 0], sizes = [4, 8, 32], strides = [1, 1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8x32xf32>> -> tensor<4x8x32xf32>
  // CHECK: sizes = [4, 8, 32], strides = [1, 1, 1] : tensor<4x8x32xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x10x64xf32>>
  iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0, 0], sizes = [4, 8, 32], strides = [1, 1, 1] : tensor<4x8x32xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8x32xf32, #chosen>>
  return
}
