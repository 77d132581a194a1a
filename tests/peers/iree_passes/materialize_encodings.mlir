// builtin.module(iree-stream-materialize-encodings)
#l1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @unpack(%r: !stream.resource<*>, %p: index, %q: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<7x5xf16, #l1> in !stream.resource<*>{%p} -> tensor<7x5xf16> in !stream.resource<*>{%q}
  util.return %0 : !stream.resource<*>
}
// -----
#l1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @twice(%r: !stream.resource<*>, %p: index, %q: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %0 = stream.tensor.encode %r : tensor<7x5xf16> in !stream.resource<*>{%p} -> tensor<7x5xf16, #l1> in !stream.resource<*>{%q}
  %1 = stream.tensor.encode %0 : tensor<7x5xf16, #l1> in !stream.resource<*>{%q} -> tensor<7x5xf16, #l1> in !stream.resource<*>{%q}
  %2 = stream.tensor.encode %1 : tensor<7x5xf16, #l1> in !stream.resource<*>{%q} -> tensor<7x5xf16> in !stream.resource<*>{%p}
  util.return %0, %2 : !stream.resource<*>, !stream.resource<*>
}
// -----
#l0 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @tiles(%r: !stream.resource<*>, %s: index, %t: index, %m: index, %n: index, %p: index, %q: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<?x?xf32>{%m, %n} in !stream.resource<*>{%s} -> tensor<?x?xf32, #l0>{%p, %q} in !stream.resource<*>{%t}
  util.return %0 : !stream.resource<*>
}
// -----
util.func public @pads(%r: !stream.resource<*>, %s: index, %t: index, %m: index, %n: index, %p: index, %q: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<?x?xf32>{%m, %n} in !stream.resource<*>{%s} -> tensor<?x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 64]>]>>{%p, %q} in !stream.resource<*>{%t}
  util.return %0 : !stream.resource<*>
}
// -----
#l0 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
#l1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [1, 0], innerTileSizes = [8, 2], outerDimsPerm = [1, 0]}}>]>
util.func public @other(%r: !stream.resource<*>, %s: index, %t: index, %m: index, %p: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<?x7xf32, #l0>{%m} in !stream.resource<*>{%s} -> tensor<?x7xf32, #l1>{%p} in !stream.resource<*>{%t}
  util.return %0 : !stream.resource<*>
}
// -----
#l0 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @decode(%r: !stream.resource<*>, %s: index, %t: index, %m: index, %p: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<?x7xf32, #l0>{%m} in !stream.resource<*>{%s} -> tensor<?x7xf32>{%p} in !stream.resource<*>{%t}
  util.return %0 : !stream.resource<*>
}
// -----
// Types that differ in which sizes are static.
#l1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
util.func public @shapes(%r: !stream.resource<*>, %m: index, %n: index, %p: index, %q: index) -> !stream.resource<*> {
  %0 = stream.tensor.encode %r : tensor<4x?xf32>{%m} in !stream.resource<*>{%p} -> tensor<?x8xf32, #l1>{%n} in !stream.resource<*>{%q}
  util.return %0 : !stream.resource<*>
}
