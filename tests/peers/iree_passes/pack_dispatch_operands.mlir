// builtin.module(iree-stream-pack-dispatch-operands)

// Types.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b: !stream.binding, %x: i1, %y: i8, %z: f16, %w: f64, %v: i64, %u: index, %t: bf16, %q: f32) { util.optimization_barrier %x : i1
 util.optimization_barrier %y : i8
 util.optimization_barrier %z : f16
 util.optimization_barrier %w : f64
 util.optimization_barrier %v : i64
 util.optimization_barrier %u : index
 util.optimization_barrier %t : bf16
 util.optimization_barrier %q : f32
 return } } }
util.func public @a(%n: index, %x: i1, %y: i8, %z: f16, %w: f64, %v: i64, %bf: bf16, %f: f32) {
  %c0 = arith.constant 0 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%x, %y, %z, %w, %v, %n, %bf, %f : i1, i8, f16, f64, i64, index, bf16, f32) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}

// -----

// Attributes and constants.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b: !stream.binding {stream.alignment = 64 : index}, %x: i32 {stream.values = [1 : i32, 2 : i32]}, %y: i64 {stream.alignment = 4 : index}, %d: index {stream.values=[4294967296 : index]}) { 
 util.optimization_barrier %x : i32
 util.optimization_barrier %y : i64
 util.optimization_barrier %d : index
 return } } }
util.func public @a(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 0x100000005 : i64
  %c6 = arith.constant 4294967296 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%c1, %c5, %c6 : i32, i64, index) { rw %c[%c0 for %n] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}
