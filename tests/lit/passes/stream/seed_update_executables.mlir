// RUN: mesh-opt %s --specialize-encodings | filecheck %s

// Bindings get the layouts of whoever wrote them; loads give tensors that are still to be laid out.
// The matmul on device_b reads what device_a encoded: its own kernel, with device_a's layouts on the
// way in and device_b's on the way out.

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#encoding_lhs = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
#encoding_rhs = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
#encoding_acc = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
#zen4 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", cpu_features = "+mmx,+popcnt,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+sse4a,+fma,+avx512f,+bmi,+bmi2,+aes,+pclmul,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx512vbmi2,+gfni,+vpclmulqdq,+avx512vnni,+avx512bitalg,+avx512bf16,+adx,+clflushopt,+clwb,+clzero,+cx16,+cx8,+f16c,+fsgsbase,+crc32,+invpcid,+rdpru,+sahf,+lzcnt,+movbe,+mwaitx,+x87,+pku,+evex512,+prfchw,+rdpid,+rdrnd,+rdseed,+sha,+shstk,+vaes,+wbnoinvd,+xsave,+xsavec,+xsaveopt,+xsaves,+fxsr", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf", encoding_solver = #iree_cpu.cpu_encoding_solver<>}>
#vmvx = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {encoding_solver = #iree_cpu.vmvx_encoding_solver<>, ukernels = "all"}>
#device_target_local_0_ = #hal.device.target<"local", {ordinal = 0 : index}, [#zen4]> : !hal.device
#device_target_local_1_ = #hal.device.target<"local", {ordinal = 1 : index}, [#vmvx]> : !hal.device
util.global private @device_a = #device_target_local_0_
util.global private @device_b = #device_target_local_1_

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#iree_cpu.cpu_encoding_solver<target_configuration = {cpu = "znver4", cpu_features = "+mmx,+popcnt,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+sse4a,+fma,+avx512f,+bmi,+bmi2,+aes,+pclmul,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx512vbmi2,+gfni,+vpclmulqdq,+avx512vnni,+avx512bitalg,+avx512bf16,+adx,+clflushopt,+clwb,+clzero,+cx16,+cx8,+f16c,+fsgsbase,+crc32,+invpcid,+rdpru,+sahf,+lzcnt,+movbe,+mwaitx,+x87,+pku,+evex512,+prfchw,+rdpid,+rdrnd,+rdseed,+sha,+shstk,+vaes,+wbnoinvd,+xsave,+xsavec,+xsaveopt,+xsaves,+fxsr", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]>
// CHECK-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#iree_cpu.cpu_encoding_solver<target_configuration = {cpu = "znver4", cpu_features = "+mmx,+popcnt,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+sse4a,+fma,+avx512f,+bmi,+bmi2,+aes,+pclmul,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx512vbmi2,+gfni,+vpclmulqdq,+avx512vnni,+avx512bitalg,+avx512bf16,+adx,+clflushopt,+clwb,+clzero,+cx16,+cx8,+f16c,+fsgsbase,+crc32,+invpcid,+rdpru,+sahf,+lzcnt,+movbe,+mwaitx,+x87,+pku,+evex512,+prfchw,+rdpid,+rdrnd,+rdseed,+sha,+shstk,+vaes,+wbnoinvd,+xsave,+xsavec,+xsaveopt,+xsaves,+fxsr", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]>
// CHECK-DAG: #encoding2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#iree_cpu.cpu_encoding_solver<target_configuration = {cpu = "znver4", cpu_features = "+mmx,+popcnt,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+sse4a,+fma,+avx512f,+bmi,+bmi2,+aes,+pclmul,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx512vbmi2,+gfni,+vpclmulqdq,+avx512vnni,+avx512bitalg,+avx512bf16,+adx,+clflushopt,+clwb,+clzero,+cx16,+cx8,+f16c,+fsgsbase,+crc32,+invpcid,+rdpru,+sahf,+lzcnt,+movbe,+mwaitx,+x87,+pku,+evex512,+prfchw,+rdpid,+rdrnd,+rdseed,+sha,+shstk,+vaes,+wbnoinvd,+xsave,+xsavec,+xsaveopt,+xsaves,+fxsr", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]>
// CHECK-DAG: #encoding3 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
// CHECK-DAG: #encoding4 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
// CHECK-DAG: #encoding5 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
// CHECK-LABEL: stream.executable private @foo_dispatch_2 {
// CHECK: %[[LHS:.*]] = stream.binding.subspan %{{.*}}[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding>>
// CHECK: %[[RHS:.*]] = stream.binding.subspan %{{.*}}[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding1>>
// CHECK: %[[OUT:.*]] = stream.binding.subspan %{{.*}}[%c0] : !stream.binding -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #encoding2>>
// CHECK: flow.dispatch.tensor.load %[[LHS]], {{.*}}{{.*}} -> tensor<?x?xf32, #encoding3>
// CHECK: flow.dispatch.tensor.load %[[RHS]], {{.*}}{{.*}} -> tensor<?x?xf32, #encoding4>
// CHECK-NOT: targets
// CHECK: tensor.empty
// CHECK: linalg.fill
// CHECK: %[[MUL:.*]] = linalg.matmul
// CHECK: flow.dispatch.tensor.store %[[MUL]], %[[OUT]], {{.*}}: tensor<?x?xf32, #encoding5> -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #encoding2
// CHECK-LABEL: stream.executable private @foo_dispatch_2_dup0 {
// CHECK: stream.binding.subspan {{.*}}
// CHECK: stream.binding.subspan {{.*}}
// CHECK: stream.binding.subspan {{.*}}
stream.executable private @foo_dispatch_2 {
  stream.executable.export public @foo_dispatch_2_matmul_DxDxD_f32 workgroups(%arg0: index, %arg1: index, %arg2: index, %arg3: index) -> (index, index, index) {
    %x, %y, %z = flow.dispatch.workgroup_count_from_slice %arg0, %arg1, %arg2, %arg3
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @foo_dispatch_2_matmul_DxDxD_f32(%arg0: !stream.binding, %arg1: !stream.binding, %arg2: index, %arg3: index, %arg4: index, %arg5: index, %arg6: !stream.binding) {
      %c0 = arith.constant 0 : index
      %cst = arith.constant 0.000000e+00 : f32
      %0 = flow.dispatch.workload.ordinal %arg2, 0 : index
      %1 = flow.dispatch.workload.ordinal %arg3, 1 : index
      %2 = flow.dispatch.workload.ordinal %arg4, 2 : index
      %3 = flow.dispatch.workload.ordinal %arg5, 3 : index
      %4 = stream.binding.subspan %arg0[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding_lhs>>{%2, %0}
      %5 = stream.binding.subspan %arg1[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding_rhs>>{%1, %3}
      %6 = stream.binding.subspan %arg6[%c0] : !stream.binding -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #encoding_acc>>{%2, %3}
      %7 = flow.dispatch.tensor.load %4, offsets = [0, 0], sizes = [%2, %0], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding_lhs>>{%2, %0} -> tensor<?x?xf32, #encoding_lhs>
      %8 = flow.dispatch.tensor.load %5, offsets = [0, 0], sizes = [%1, %3], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x?xf32, #encoding_rhs>>{%1, %3} -> tensor<?x?xf32, #encoding_rhs>
      %9 = tensor.empty(%2, %3) : tensor<?x?xf32, #encoding_acc>
      %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<?x?xf32, #encoding_acc>) -> tensor<?x?xf32, #encoding_acc>
      %11 = linalg.matmul ins(%7, %8 : tensor<?x?xf32, #encoding_lhs>, tensor<?x?xf32, #encoding_rhs>) outs(%10 : tensor<?x?xf32, #encoding_acc>) -> tensor<?x?xf32, #encoding_acc>
      flow.dispatch.tensor.store %11, %6, offsets = [0, 0], sizes = [%2, %3], strides = [1, 1] : tensor<?x?xf32, #encoding_acc> -> !flow.dispatch.tensor<writeonly:tensor<?x?xf32, #encoding_acc>>{%2, %3}
      return
    }
  }
}

// CHECK-LABEL: util.func public @foo
// CHECK: stream.async.dispatch on(#hal.device.affinity<@device_a>) @foo_dispatch_2::@foo_dispatch_2_matmul_DxDxD_f32
// CHECK: stream.async.dispatch on(#hal.device.affinity<@device_b>) @foo_dispatch_2_dup0::@foo_dispatch_2_matmul_DxDxD_f32
util.func public @foo(%0: index, %1: index, %7: index, %8: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %13 = stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32, #encoding_lhs>{%0, %1} : index
  %14 = stream.tensor.empty on(#hal.device.affinity<@device_a>) : tensor<?x?xf32, #encoding_lhs>{%0, %1} in !stream.resource<*>{%13}
  %15 = stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32, #encoding_rhs>{%1, %7} : index
  %16 = stream.tensor.empty on(#hal.device.affinity<@device_a>) : tensor<?x?xf32, #encoding_rhs>{%1, %7} in !stream.resource<*>{%15}
  %17 = stream.tensor.sizeof on(#hal.device.affinity<@device_a>) tensor<?x?xf32, #encoding_acc>{%0, %7} : index
  %18 = stream.async.dispatch on(#hal.device.affinity<@device_a>) @foo_dispatch_2::@foo_dispatch_2_matmul_DxDxD_f32[%1, %7, %0, %8](%14[%c0 to %13 for %13], %16[%c0 to %15 for %15], %1, %7, %0, %8) : (!stream.resource<*>{%13}, !stream.resource<*>{%15}, index, index, index, index) -> !stream.resource<*>{%17}
  %19 = stream.async.transfer %14 : !stream.resource<*>{%13} from(#hal.device.affinity<@device_a>) -> to(#hal.device.affinity<@device_b>) !stream.resource<*>{%13}
  %20 = stream.async.transfer %16 : !stream.resource<*>{%15} from(#hal.device.affinity<@device_a>) -> to(#hal.device.affinity<@device_b>) !stream.resource<*>{%15}
  %21 = stream.tensor.sizeof on(#hal.device.affinity<@device_b>) tensor<?x?xf32, #encoding_acc>{%0, %7} : index
  %22 = stream.async.dispatch on(#hal.device.affinity<@device_b>) @foo_dispatch_2::@foo_dispatch_2_matmul_DxDxD_f32[%1, %7, %0, %8](%19[%c0 to %13 for %13], %20[%c0 to %15 for %15], %1, %7, %0, %8) : (!stream.resource<*>{%13}, !stream.resource<*>{%15}, index, index, index, index) -> !stream.resource<*>{%21}
  util.return %18, %22 : !stream.resource<*>, !stream.resource<*>
}
