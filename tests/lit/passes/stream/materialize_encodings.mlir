// RUN: mesh-opt %s --split-input-file --iree-stream-materialize-encodings | filecheck %s

#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#tiled = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
#rows = #iree_encoding.layout<[#iree_encoding.identity]>
util.global private @d = #hal.device.target<"local", [#exe]> : !hal.device

// One kernel for equal types; none where both sides are stored in rows.

// CHECK-DAG: #encoding = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
// CHECK: stream.executable private @_encoding_0 {
// CHECK:   stream.executable.export public @_encoding_0_encode_Dx5xf32_to_Dx5xf32 workgroups(%{{.*}}: index, %{{.*}}: index) -> (index, index, index)
// CHECK:   func.func @_encoding_0_encode_Dx5xf32_to_Dx5xf32(%{{.*}}: !stream.binding, %{{.*}}: index, %{{.*}}: index, %{{.*}}: !stream.binding)
// CHECK:     iree_tensor_ext.dispatch.workload.ordinal
// CHECK:     stream.binding.subspan {{.*}}<readonly:tensor<?x5xf32>>
// CHECK:     stream.binding.subspan {{.*}}<writeonly:tensor<?x5xf32, #encoding
// CHECK:     %[[L:.*]] = iree_tensor_ext.dispatch.tensor.load
// CHECK:     %[[E:.*]] = iree_encoding.set_encoding %[[L]]
// CHECK:     iree_tensor_ext.dispatch.tensor.store %[[E]]
// CHECK: stream.executable private @_encoding_1 {
// CHECK:     iree_encoding.unset_encoding
// CHECK-LABEL: util.func public @main(
// CHECK: %[[A:.*]] = stream.tensor.dispatch on(#hal.device.affinity<@d>) @_encoding_0::@{{[a-zA-Z0-9_]+}}[%n, %n](%r, %n, %n) : (tensor<?x5xf32>{%n} in !stream.resource<*>{%s}, index, index) -> tensor<?x5xf32, #encoding
// CHECK: stream.tensor.dispatch {{.*}} @_encoding_0::
// CHECK: stream.tensor.dispatch {{.*}} @_encoding_1::
// CHECK-NOT: stream.tensor.encode
// CHECK: util.return %{{.*}}, %{{.*}}, %{{.*}}, %r
util.func public @main(%r: !stream.resource<*>, %n: index, %s: index, %t: index) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %0 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x5xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x5xf32, #tiled>{%n} in !stream.resource<*>{%t}
  %1 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x5xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x5xf32, #tiled>{%n} in !stream.resource<*>{%t}
  %2 = stream.tensor.encode on(#hal.device.affinity<@d>) %1 : tensor<?x5xf32, #tiled>{%n} in !stream.resource<*>{%t} -> tensor<?x5xf32>{%n} in !stream.resource<*>{%s}
  %3 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x5xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x5xf32, #rows>{%n} in !stream.resource<*>{%s}
  %4 = stream.tensor.sizeof tensor<4x5xf32> : index
  util.return %0, %1, %2, %3 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// -----

// Behind encode-host-tensors dispatches are of bytes. Equal kernels of devices that are not known are
// one for each device.

// CHECK: stream.executable private @_encoding_0 {
// CHECK: stream.executable private @_encoding_1 {
// CHECK-NOT: @_encoding_2
// CHECK-LABEL: util.func public @bytes(
// CHECK: stream.async.dispatch on(#hal.device.affinity<@a>) @_encoding_0::@{{.*}}(%r[%{{.*}} to %s for %s]) : (!stream.resource<*>{%s}) -> !stream.resource<*>{%t}
// CHECK: stream.async.dispatch on(#hal.device.affinity<@a>) @_encoding_0::
// CHECK: stream.async.dispatch on(#hal.device.affinity<@b>) @_encoding_1::
#tiled = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @bytes(%r: !stream.resource<*>, %s: index, %t: index) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %0 = stream.tensor.encode on(#hal.device.affinity<@a>) %r : tensor<4x5xf32> in !stream.resource<*>{%s} -> tensor<4x5xf32, #tiled> in !stream.resource<*>{%t}
  %1 = stream.tensor.encode on(#hal.device.affinity<@a>) %r : tensor<4x5xf32> in !stream.resource<*>{%s} -> tensor<4x5xf32, #tiled> in !stream.resource<*>{%t}
  %2 = stream.tensor.encode on(#hal.device.affinity<@b>) %r : tensor<4x5xf32> in !stream.resource<*>{%s} -> tensor<4x5xf32, #tiled> in !stream.resource<*>{%t}
  util.return %0, %1, %2 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// -----

// A layout may be open, and a device not be there yet.

// CHECK-LABEL: util.func public @open
// CHECK: stream.async.dispatch on(#hal.device.affinity<@d>) @_encoding_0::@_encoding_0_encode_Dx8xf32_to_Dx8xf32[%n, %n](%r[%{{.*}} to %s for %s], %n, %n)
// CHECK: util.return %{{.*}}, %r
util.func public @open(%r: !stream.resource<*>, %s: index, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %0 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x8xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x8xf32, #iree_encoding.testing<>>{%n} in !stream.resource<*>{%s}
  %1 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x8xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x8xf32>{%n} in !stream.resource<*>{%s}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<*>
}

// -----

// Source and result have sizes of their own.

// CHECK-LABEL: func.func @_encoding_0_encode_Dx7xf32_to_Dx7xf32(
// CHECK-SAME: %[[S:.*]]: !stream.binding, %[[A:.*]]: index, %[[B:.*]]: index, %[[R:.*]]: !stream.binding
// CHECK: %[[N:.*]] = iree_tensor_ext.dispatch.workload.ordinal %[[A]], 0 : index
// CHECK: %[[M:.*]] = iree_tensor_ext.dispatch.workload.ordinal %[[B]], 1 : index
// CHECK: stream.binding.subspan %[[S]][{{.*}}]{{.*}}{%[[N]]}
// CHECK: stream.binding.subspan %[[R]][{{.*}}]{{.*}}{%[[M]]}
// CHECK: iree_tensor_ext.dispatch.tensor.load {{.*}}sizes = [%[[N]], 7]
// CHECK: iree_tensor_ext.dispatch.tensor.store {{.*}}sizes = [%[[M]], 7]
#rows = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @sizes(%r: !stream.resource<*>, %s: index, %t: index, %n: index, %m: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?x7xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x7xf32, #rows>{%m} in !stream.resource<*>{%t}
  util.return %0 : !stream.resource<*>
}

// -----

// Source and result agree on which sizes there are, and not on which are static. A decoded tensor
// is cast to the type of the result.

// CHECK-LABEL: func.func @_encoding_0_encode_4xDxf32_to_Dx8xf32(
// CHECK: iree_encoding.set_encoding %{{.*}} : tensor<4x?xf32> -> tensor<?x8xf32, #encoding>
// CHECK-LABEL: func.func @_encoding_1_encode_Dx8xf32_to_4xDxf32(
// CHECK: %[[D:.*]] = iree_encoding.unset_encoding %{{.*}} : tensor<?x8xf32, #encoding> -> tensor<?x8xf32>
// CHECK: %[[C:.*]] = tensor.cast %[[D]] : tensor<?x8xf32> to tensor<4x?xf32>
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[C]]
#rows = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @shapes(%r: !stream.resource<*>, %s: index, %t: index, %n: index, %m: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<4x?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x8xf32, #rows>{%m} in !stream.resource<*>{%t}
  %1 = stream.tensor.encode on(#hal.device.affinity<@d>) %0 : tensor<?x8xf32, #rows>{%m} in !stream.resource<*>{%t} -> tensor<4x?xf32>{%n} in !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}
