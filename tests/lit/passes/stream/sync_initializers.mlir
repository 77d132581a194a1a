// RUN: mesh-opt %s --iree-stream-sync-initializers | filecheck %s

util.func private @made() -> (!stream.timepoint, !stream.resource<constant>, index, i1)
util.global private @k : !stream.resource<constant>

// CHECK-LABEL: util.initializer
// CHECK: stream.timepoint.await sync %t => %r
// CHECK: scf.if
// CHECK: stream.timepoint.await sync %t => %w
util.initializer {
  %t, %r, %n, %c = util.call @made() : () -> (!stream.timepoint, !stream.resource<constant>, index, i1)
  %w = stream.timepoint.await %t => %r : !stream.resource<constant>{%n}
  scf.if %c {
    %x = stream.timepoint.await %t => %w : !stream.resource<constant>{%n}
    util.global.store %x, @k : !stream.resource<constant>
  }
  util.return
}

// CHECK-LABEL: @function
// CHECK: stream.timepoint.await %t => %r
util.func public @function(%t: !stream.timepoint, %r: !stream.resource<constant>, %n: index) -> !stream.resource<constant> {
  %w = stream.timepoint.await %t => %r : !stream.resource<constant>{%n}
  util.return %w : !stream.resource<constant>
}
