// RUN: mesh-opt %s --allow-unregistered-dialect --iree-stream-fuse-dispatch-bindings | filecheck %s

// Parts of one resource that are read are one binding; what is written stays another.

// CHECK: func.func @f(%x: !stream.binding, %z: !stream.binding, %[[X:.*]]: index, %[[Y:.*]]: index, %{{.*}}: index, %n: index, %m: index, %c: f32)
// CHECK: stream.binding.subspan %x[%[[X]]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[Y]], %c4
// CHECK-NEXT: stream.binding.subspan %x[%[[SUM]]]
// CHECK: stream.cmd.dispatch @ex::@f(%c0, %c64, %c0, %c64, %s, %f : {{.*}}) {
// CHECK-NEXT:   ro %a[%{{.*}} for %c256] : !stream.resource<transient>{%c256},
// CHECK-NEXT:   wo %b[%{{.*}} for %o] : !stream.resource<transient>{%o}
// CHECK-NEXT: }
// CHECK: stream.cmd.dispatch @ex::@f(%c64, %c96, %c64, %c96, %u, %g :
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%n: index, %m: index, %c: f32, %x: !stream.binding, %y: !stream.binding, %z: !stream.binding) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %0 = stream.binding.subspan %x[%c0] : !stream.binding -> memref<?xi8>{%n}
      %1 = stream.binding.subspan %y[%c4] : !stream.binding -> memref<?xi8>{%m}
      "test.use"(%0, %1, %c) : (memref<?xi8>, memref<?xi8>, f32) -> ()
      func.return
    }
  }
}
util.func public @main(%s: index, %r: !stream.resource<transient>, %o: index, %w: !stream.resource<transient>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %c256 = arith.constant 256 : index
  %f = arith.constant 2.0 : f32
  %g = arith.constant 3.0 : f32
  %u = util.align %s, %c64 : index
  %t = stream.cmd.execute with(%r as %a: !stream.resource<transient>{%c256}, %w as %b: !stream.resource<transient>{%o}) {
    stream.cmd.dispatch @ex::@f(%c64, %s, %f : index, index, f32) {
      ro %a[%c0 for %c64] : !stream.resource<transient>{%c256},
      ro %a[%c64 for %c64] : !stream.resource<transient>{%c256},
      wo %b[%c0 for %c64] : !stream.resource<transient>{%o}
    }
    stream.cmd.dispatch @ex::@f(%c96, %u, %g : index, index, f32) {
      ro %a[%c64 for %c64] : !stream.resource<transient>{%c256},
      ro %a[%c96 for %c64] : !stream.resource<transient>{%c256},
      wo %b[%c64 for %c64] : !stream.resource<transient>{%o}
    }
  } => !stream.timepoint
  util.return
}
