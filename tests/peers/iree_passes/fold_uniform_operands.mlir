// builtin.module(iree-stream-fold-uniform-operands)

// Dedupe operands.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b: !stream.binding, %x: i32, %y: index, %z: i32) { util.optimization_barrier %x : i32
 util.optimization_barrier %y : index
 util.optimization_barrier %z : i32
 return } } }
util.func public @a(%a: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%a, %n, %a : i32, index, i32) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
    stream.cmd.dispatch @e::@f[%n](%a, %c0, %a : i32, index, i32) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}

// -----

// Inline constants.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b: !stream.binding, %x: i32, %y: index, %z: f32) { util.optimization_barrier %x : i32
 util.optimization_barrier %y : index
 util.optimization_barrier %z : f32
 return } } }
util.func public @a(%a: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c20 = arith.constant 20 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%c1, %c20, %a : i32, index, f32) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
    stream.cmd.dispatch @e::@f[%n](%c2, %c20, %a : i32, index, f32) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}

// -----

// Constant types.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b: !stream.binding, %x: i1, %y: i8, %z: f16, %w: f64, %v: i64, %u: complex<f32>) { util.optimization_barrier %x : i1
 util.optimization_barrier %y : i8
 util.optimization_barrier %z : f16
 util.optimization_barrier %w : f64
 util.optimization_barrier %v : i64
 util.optimization_barrier %u : complex<f32>
 return } } }
util.func public @a(%n: index) {
  %c0 = arith.constant 0 : index
  %t1 = arith.constant true
  %c2 = arith.constant -3 : i8
  %f = arith.constant 1.5 : f16
  %g = arith.constant 0x7FF8000000000000 : f64
  %h = arith.constant -9 : i64
  %i = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%t1, %c2, %f, %g, %h, %i : i1, i8, f16, f64, i64, complex<f32>) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}
