// builtin.module(iree-stream-encode-host-tensors)
// Static factors come last for rows with padding, also of none; dimensions are rounded up in the order of tiles.
util.func public @i(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32, #iree_encoding.layout<[#iree_encoding.identity]>>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32, #iree_encoding.layout<[#iree_encoding.identity]>>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xf32, #iree_encoding.layout<[#iree_encoding.identity]>>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<?x?x?x3xf32, #iree_encoding.layout<[#iree_encoding.identity]>>{%b, %m, %k} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
// -----
util.func public @i2(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32, #iree_encoding.identity>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32, #iree_encoding.identity>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xi16, #iree_encoding.identity>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<?x?x?x3xi8, #iree_encoding.identity>{%b, %m, %k} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
// -----
util.func public @p(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xi16>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<?x?x?x3xi8>{%b, %m, %k} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
// -----
util.func public @pad(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 0]>]>>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 0]>]>>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xi16, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 0]>]>>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<?x?x3xi16, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 16]>]>>{%m, %k} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
// -----
util.func public @pad2(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 64]>]>>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 4, 0]>]>>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xi16, #iree_encoding.layout<[#iree_encoding.padding<[1, 0, 16]>]>>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<3x3x?xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, 0, 16]>]>>{%m} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
// -----
util.func public @empty(%b: index, %m: index, %n: index, %k: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<3x?x?xf32, #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [], innerTileSizes = [], outerDimsPerm = []}}>]>>{%m, %k} : index
  %1 = stream.tensor.sizeof tensor<?x3x?xf32, #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [2], innerTileSizes = [4], outerDimsPerm = [2,1,0]}}>]>>{%m, %k} : index
  %2 = stream.tensor.sizeof tensor<?x?x3xi16, #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [1,0], innerTileSizes = [4,8], outerDimsPerm = [2,1,0]}}>]>>{%m, %k} : index
  %3 = stream.tensor.sizeof tensor<3x3x?xf32, #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [2,1,0], innerTileSizes = [2, 4,8], outerDimsPerm = [2,1,0]}}>]>>{%m} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
