// builtin.module(iree-stream-specialize-encodings,iree-stream-encode-host-tensors,iree-stream-encode-device-tensors)

// Targets of two devices: avx512:avx2.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx2", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }

// -----

// Targets of two devices: avx512:avx512.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }

// -----

// Targets of two devices: arm:vmvx.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu_features = "+neon", target_triple = "aarch64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }

// -----

// Targets of two devices: vmvx:id.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"a", "b", {iree.encoding.resolver = #iree_encoding.identity_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }

// -----

// Targets of two devices: gpu:avx512.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"rocm", "rocm-hsaco-fb", {abi = "hip", iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, subgroup = shuffle|arithmetic, mma = [<MFMA_F32_16x16x4_F32>, <MFMA_F32_16x16x16_F16>, <MFMA_I32_16x16x32_I8>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647], max_load_instruction_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 16384>>}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }

// -----

// Targets of two devices: no:avx2.
#m0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#m1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#m2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0,#m1,#m2], iteration_sizes = [17,33,40]>
util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"a", "b", {}>]> : !hal.device
util.global private @g = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx2", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } 
 builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<17x40xf32>> -> tensor<17x40xf32>
 %3 = iree_encoding.set_encoding %2 : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
 iree_tensor_ext.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [17, 40], strides = [1, 1] : tensor<17x40xf32, #e0> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<17x40xf32, #e0>>
 return } } }
util.func public @a(%x: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
 %xd = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %0 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%xd) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 %xg = stream.tensor.empty on(#hal.device.affinity<@g>) : tensor<17x40xf32> in !stream.resource<*>{%n}
 %1 = stream.tensor.dispatch on(#hal.device.affinity<@g>) @e::@f[%n](%xg) : (tensor<17x40xf32> in !stream.resource<*>{%n}) -> tensor<17x40xf32, #e0> in !stream.resource<*>{%n}
 util.return %0, %1 : !stream.resource<*>, !stream.resource<*> }
