// builtin.module(util.func(iree-stream-encode-host-tensors))
util.func public @load(%scope: !util.buffer, %key: !util.buffer, %o: i64, %n: index, %m: index) -> (!stream.resource<constant>, !stream.resource<constant>) {
  %0 = stream.tensor.parameter.load on(#hal.device.affinity<@d>) %scope::%key[%o] : tensor<?x4xi1>{%n} in !stream.resource<constant>{%m}
  %1 = stream.tensor.parameter.load %key[%o] : tensor<4xi12> in !stream.resource<constant>{%m}
  util.return %0, %1 : !stream.resource<constant>, !stream.resource<constant>
}
// -----
util.func public @encoded(%key: !util.buffer, %o: i64, %n: index, %m: index) -> (!stream.resource<constant>, !stream.resource<constant>) {
  %0 = stream.tensor.parameter.load %key[%o] : tensor<5x4xf32, #iree_encoding.layout<[#iree_encoding.identity]>> in !stream.resource<constant>{%m}
  %1 = stream.tensor.parameter.load %key[%o] : tensor<5x4xf32, #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [8, 4], outerDimsPerm = [0, 1]}}>]>> in !stream.resource<constant>{%m}
  util.return %0, %1 : !stream.resource<constant>, !stream.resource<constant>
}
// -----
util.func public @write(%t: !stream.resource<transient>, %scope: !util.buffer, %key: !util.buffer, %o: i64, %n: index, %m: index) -> !stream.resource<transient> {
  %0 = stream.tensor.parameter.write on(#hal.device.affinity<@d>) %t -> %scope::%key[%o] : tensor<?x4xf32>{%n} in !stream.resource<transient>{%m}
  %1 = stream.tensor.parameter.write %0 -> %key[%o] : tensor<4xi1> in !stream.resource<transient>{%m}
  util.return %1 : !stream.resource<transient>
}
