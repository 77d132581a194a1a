// RUN: mesh-opt %s --specialize-encodings --remarks=encoding 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=REMARK < %t

// One kernel on two devices. device_a's target offers no solver: there the encoding is dropped.
// device_b gets a kernel of its own, whose result is laid out by the solver of the virtual machine.

#executable_target_embedded_elf_x86_64_ = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#executable_target_vmvx_bytecode_fb = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {encoding_solver = #iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "none"}>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#device_target_local = #hal.device.target<"local", [#executable_target_vmvx_bytecode_fb]> : !hal.device
#device_target_local1 = #hal.device.target<"local", [#executable_target_embedded_elf_x86_64_]> : !hal.device
util.global private @device_a = #device_target_local1
util.global private @device_b = #device_target_local

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
// CHECK-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "none"}>]>
// CHECK-LABEL: stream.executable private @foo_dispatch_0 {
// CHECK: stream.binding.subspan {{.*}} -> !flow.dispatch.tensor<readonly:tensor<?x?xf32>>
// CHECK: stream.binding.subspan {{.*}} -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32>>
// CHECK-LABEL: stream.executable private @foo_dispatch_0_dup0 {
// CHECK: stream.executable.export public @foo_dispatch_0_set_encoding_LHS_DxD
// CHECK: %x, %y, %z = flow.dispatch.workgroup_count_from_slice %{{.*}}, %{{.*}}
// CHECK: func.func @foo_dispatch_0_set_encoding_LHS_DxD
// CHECK: stream.binding.subspan {{.*}} -> !flow.dispatch.tensor<readonly:tensor<?x?xf32>>
// CHECK: [[OUT:%.*]] = stream.binding.subspan {{.*}} -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #encoding1>>{%{{.*}}, %{{.*}}}
// CHECK: [[SET:%.*]] = iree_encoding.set_encoding %{{.*}} : tensor<?x?xf32> -> tensor<?x?xf32, #encoding>
// CHECK: flow.dispatch.tensor.store [[SET]], [[OUT]]
stream.executable private @foo_dispatch_0 {
  stream.executable.export public @foo_dispatch_0_set_encoding_LHS_DxD workgroups(%arg0: index, %arg1: index) -> (index, index, index) {
    %x, %y, %z = flow.dispatch.workgroup_count_from_slice %arg0, %arg1
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @foo_dispatch_0_set_encoding_LHS_DxD(%arg0: !stream.binding, %arg1: index, %arg2: index, %arg3: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = flow.dispatch.workload.ordinal %arg1, 0 : index
      %1 = flow.dispatch.workload.ordinal %arg2, 1 : index
      %2 = stream.binding.subspan %arg0[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<?x?xf32>>{%0, %1}
      %3 = stream.binding.subspan %arg3[%c0] : !stream.binding -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>>>{%0, %1}
      %4 = flow.dispatch.tensor.load %2, offsets = [0, 0], sizes = [%0, %1], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x?xf32>>{%0, %1} -> tensor<?x?xf32>
      %5 = iree_encoding.set_encoding %4 : tensor<?x?xf32> -> tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>>
      flow.dispatch.tensor.store %5, %3, offsets = [0, 0], sizes = [%0, %1], strides = [1, 1] : tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>> -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>>>{%0, %1}
      return
    }
  }
}

// CHECK-LABEL: util.func public @foo
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32>{%0, %1} : index
// CHECK: stream.async.dispatch on(#hal.device.affinity<@device_a>) @foo_dispatch_0::@foo_dispatch_0_set_encoding_LHS_DxD[%0, %1](%{{.*}}[%c0 to %2 for %2], %0, %1)
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@device_b>) tensor<?x?xf32, #encoding1
// CHECK: stream.async.dispatch on(#hal.device.affinity<@device_b>) @foo_dispatch_0_dup0::@foo_dispatch_0_set_encoding_LHS_DxD[%0, %1](%{{.*}}[%c0 to %2 for %2], %0, %1)
// REMARK: remark: 'stream.tensor.sizeof' op [encoding] encoding of encoded tensor<?x?xf32> dropped: a target of #hal.device.affinity<@device_a> offers no solver
util.func public @foo(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view, %arg2: !hal.fence, %arg3: !hal.fence) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "async func @foo(%input0: tensor<?x?xf32> {iree.abi.affinity = #hal.device.promise<@device_a>}, %input1: tensor<?x?xf32> {iree.abi.affinity = #hal.device.promise<@device_a>}) -> (%output0: tensor<?x?xf32> {iree.abi.affinity = #hal.device.promise<@device_a>})", iree.abi.model = "coarse-fences"}} {
  %c0 = arith.constant 0 : index
  %0 = hal.buffer_view.dim<%arg0 : !hal.buffer_view>[0] : index
  %1 = hal.buffer_view.dim<%arg0 : !hal.buffer_view>[1] : index
  %2 = stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32>{%0, %1} : index
  %3 = stream.tensor.import on(#hal.device.affinity<@device_a>) %arg0 : !hal.buffer_view -> tensor<?x?xf32>{%0, %1} in !stream.resource<external>{%2}
  %4 = stream.timepoint.import on(#hal.device.affinity<@device_a>) %arg2 : (!hal.fence) => !stream.timepoint
  %5 = stream.timepoint.await %4 => %3 : !stream.resource<external>{%2}
  %6 = stream.async.transfer %5 : !stream.resource<external>{%2} from(#hal.device.affinity<@device_a>) -> to(#hal.device.affinity<@device_a>) !stream.resource<*>{%2}
  %13 = stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>>{%0, %1} : index
  %14 = stream.async.dispatch on(#hal.device.affinity<@device_a>) @foo_dispatch_0::@foo_dispatch_0_set_encoding_LHS_DxD[%0, %1](%6[%c0 to %2 for %2], %0, %1) : (!stream.resource<*>{%2}, index, index) -> !stream.resource<*>{%13}
  %22 = stream.async.transfer %6 : !stream.resource<*>{%2} from(#hal.device.affinity<@device_a>) -> to(#hal.device.affinity<@device_b>) !stream.resource<*>{%2}
  %24 = stream.tensor.sizeof on(#hal.device.affinity<@device_b>) tensor<?x?xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>>{%0, %1} : index
  %25 = stream.async.dispatch on(#hal.device.affinity<@device_b>) @foo_dispatch_0::@foo_dispatch_0_set_encoding_LHS_DxD[%0, %1](%22[%c0 to %2 for %2], %0, %1) : (!stream.resource<*>{%2}, index, index) -> !stream.resource<*>{%24}
  util.return %arg0 : !hal.buffer_view
}
