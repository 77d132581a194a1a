// RUN: mesh-opt %s --specialize-encodings --encoding-report -o %t 2>&1 | filecheck %s
// RUN: mesh-opt %s --specialize-encodings --encode-host-tensors --encode-device-tensors --remarks=encoding --encoding-report -o %t 2>&1 | filecheck %s
// RUN: mesh-opt %S/../../../../examples/two_devices.mlir --data-tile --encoding-report -o %t 2>&1 | filecheck %s --check-prefix=DEVICES
// RUN: mesh-opt %S/../../../../examples/two_devices.mlir --set-encoding --encoding-report -o %t 2>&1 | filecheck %s --check-prefix=TENSORS
// RUN: mesh-opt %s --encoding-report -o %t 2>&1 | filecheck %s --check-prefix=OPEN

// CHECK: tensor {{ +}}layout {{ +}}device {{ +}}laid out for {{ +}}bytes {{ +}}stored {{ +}}padding
// CHECK-NEXT: tensor<17x40xf32> {{ +}}tiles 8x1 of dimensions [0, 1] {{ +}}@a {{ +}}@a {{ +}}2720 {{ +}}3840 {{ +}}29.2%
// CHECK-NEXT: tensor<17x40xf32> {{ +}}tiles 8x1 of dimensions [0, 1] {{ +}}@b {{ +}}@a {{ +}}2720 {{ +}}3840 {{ +}}29.2%
// CHECK-NEXT: tensor<17x?xf32> {{ +}}tiles 8x4 of dimensions [0, 1] {{ +}}@b {{ +}}@b {{ +}}? {{ +}}? {{ +}}?
// CHECK-NEXT: 3 encoded tensors; those of known size have 5440 bytes, stored in 7680
// OPEN: tensor<17x40xf32> {{ +}}open {{ +}}@a {{ +}}@a {{ +}}2720 {{ +}}? {{ +}}?

// DEVICES: tensor<?x?xf32> {{ +}}tiles 16x1 of dimensions [0, 1] {{ +}}@device_a {{ +}}@device_a
// DEVICES: tensor<?x?xf32> {{ +}}tiles ?x? of dimensions [1, 0] {{ +}}@device_b {{ +}}@device_b
// DEVICES: 4 encoded tensors
// TENSORS: tensor<?x?xf32> {{ +}}open
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "elf", {target_triple = "x86_64-x-x", cpu_features = "+avx", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"vmvx", "bytecode", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>]> : !hal.device
util.func public @f(%r: !stream.resource<*>, %s: index, %k: index) {
  %0 = stream.tensor.encode on(#hal.device.affinity<@a>) %r : tensor<17x40xf32> in !stream.resource<*>{%s} -> tensor<17x40xf32, #e> in !stream.resource<*>{%s}
  %1 = stream.async.transfer %0 : !stream.resource<*>{%s} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#hal.device.affinity<@b>) %1 : tensor<17x40xf32, #e> in !stream.resource<*>{%s} -> tensor<17x40xf32> in !stream.resource<*>{%s}
  %3 = stream.tensor.empty on(#hal.device.affinity<@b>) : tensor<17x?xf32, #e>{%k} in !stream.resource<*>{%s}
  util.return
}
