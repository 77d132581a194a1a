// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What is ready when.

// CHECK: util.func private @f(%r: !stream.resource<*>, %0: !stream.resource<*>, %s: index, %fence: !hal.fence) {
// CHECK: %tp = stream.timepoint.import on(#hal.device.affinity<@d>) %fence : (!hal.fence) => !stream.timepoint
// CHECK: %tpi = stream.timepoint.immediate => !stream.timepoint
// CHECK: %tpj = stream.timepoint.join max(%tp, %tpi) => !stream.timepoint
// CHECK: %aw = stream.timepoint.await %tpj => %r : !stream.resource<*>{%s}
// CHECK: %aws:2 = stream.timepoint.await sync %tpj => %r, %0 : !stream.resource<*>{%s}, !stream.resource<*>{%s}
// CHECK: %ba, %bt = stream.timepoint.barrier on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} => !stream.timepoint
// CHECK: stream.timepoint.chain_external on(#hal.device.affinity<@d>) %tp => (%fence : !hal.fence)
// CHECK: %xf = stream.timepoint.export on(#hal.device.affinity<@d>) %tp => (!hal.fence)

util.func private @f(%r: !stream.resource<*>, %3: !stream.resource<*>, %s: index, %fence: !hal.fence) {
  %tp = stream.timepoint.import on(#hal.device.affinity<@d>) %fence : (!hal.fence) => !stream.timepoint
  %tpi = stream.timepoint.immediate => !stream.timepoint
  %tpj = stream.timepoint.join max(%tp, %tpi) => !stream.timepoint
  %aw = stream.timepoint.await %tpj => %r : !stream.resource<*>{%s}
  %aws:2 = stream.timepoint.await sync %tpj => %r, %3 : !stream.resource<*>{%s}, !stream.resource<*>{%s}
  %ba, %bt = stream.timepoint.barrier on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} => !stream.timepoint
  stream.timepoint.chain_external on(#hal.device.affinity<@d>) %tp => (%fence : !hal.fence)
  %xf = stream.timepoint.export on(#hal.device.affinity<@d>) %tp => (!hal.fence)
  util.return
}
