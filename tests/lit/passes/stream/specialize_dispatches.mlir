// RUN: mesh-opt %s --allow-unregistered-dialect --iree-stream-specialize-dispatches | filecheck %s

// Constants of each dispatch are in a table of the kernel for each type; a dispatch gives its number.

// CHECK: func.func @f(%m: index, %x: !stream.binding, %y: !stream.binding, %z: !stream.binding, %[[SITE:.*]]: index)
// CHECK-NEXT: %[[T:.*]] = arith.constant dense<{{\[\[}}64], [96]]> : tensor<2x1xi32>
// CHECK-NEXT: %[[ROW:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[T]][%[[SITE]], %[[ROW]]]
// CHECK-NEXT: arith.index_cast %[[E]] : i32 to index
// CHECK-NEXT: arith.constant dense<{{\[\[}}2.000000e+00], [3.000000e+00]]> : tensor<2x1xf32>
// CHECK: stream.cmd.dispatch @ex::@f(%s, %[[FIRST:.*]] : index, index)
// CHECK: stream.cmd.dispatch @ex::@f(%u, %[[SECOND:.*]] : index, index)
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
