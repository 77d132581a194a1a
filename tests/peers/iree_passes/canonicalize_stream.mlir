// builtin.module(canonicalize)
util.func public @a(%arg0: !stream.timepoint) -> !stream.timepoint {
  %0 = stream.timepoint.immediate => !stream.timepoint
  %1 = stream.timepoint.join max(%arg0, %0) => !stream.timepoint
  util.return %1 : !stream.timepoint
}

// -----

util.func public @a(%arg0: !stream.timepoint) -> !stream.timepoint {
  %1 = stream.timepoint.join max(%arg0, %arg0) => !stream.timepoint
  util.return %1 : !stream.timepoint
}

// -----

util.func public @a(%arg0: !stream.timepoint, %arg1: !stream.timepoint, %arg2: !stream.timepoint) -> !stream.timepoint {
  %1 = stream.timepoint.join max(%arg0, %arg1) => !stream.timepoint
  %2 = stream.timepoint.join max(%1, %arg2) => !stream.timepoint
  util.return %2 : !stream.timepoint
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.timepoint.immediate => !stream.timepoint
  %1 = stream.timepoint.await %0 => %arg0 : !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> index {
  %0 = stream.resource.size %arg0 : !stream.resource<*>
  util.return %0 : index
}

// -----

util.func public @a(%s: index) -> index {
  %c = arith.constant 0 : i8
  %r = stream.async.splat %c : i8 -> !stream.resource<*>{%s}
  %0 = stream.resource.size %r : !stream.resource<*>
  util.return %0 : index
}

// -----

util.func public @a(%arg0: !stream.resource<staging>, %s: index) -> i32 {
  %c0 = arith.constant 0 : index
  %v = arith.constant 5 : i32
  stream.resource.store %v, %arg0[%c0] : i32 -> !stream.resource<staging>{%s}
  %1 = stream.resource.load %arg0[%c0] : !stream.resource<staging>{%s} -> i32
  util.return %1 : i32
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.slice %arg0[%c0 to %s] : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.async.transfer %arg0 : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index, %v: i32) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.fill %v, %arg0[%c0 to %s for %s] : i32 -> %arg0 as !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %arg1: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.update %arg1, %arg0[%c0 to %s] : !stream.resource<*>{%s} -> %arg0 as !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %arg1: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.copy %arg1[%c0 to %s], %arg0[%c0 to %s], %s : !stream.resource<*>{%s} -> %arg0 as !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %arg1: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c = arith.constant 3 : i32
  %s0 = stream.async.splat %c : i32 -> !stream.resource<*>{%c16}
  %0 = stream.async.update %s0, %arg0[%c16 to %c32] : !stream.resource<*>{%c16} -> %arg0 as !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %arg1: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %s0 = stream.async.slice %arg1[%c0 to %c16] : !stream.resource<*>{%c32} -> !stream.resource<*>{%c16}
  %0 = stream.async.update %s0, %arg0[%c16 to %c32] : !stream.resource<*>{%c16} -> %arg0 as !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a() -> !stream.resource<*> {
  %c16 = arith.constant 16 : index
  %0 = stream.async.constant : !stream.resource<*>{%c16} = dense<3> : tensor<4xi32>
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%s: index) -> !stream.resource<*> {
  %0 = stream.tensor.constant : tensor<4xi32> in !stream.resource<*> = dense<3> : tensor<4xi32>
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%s: index) -> !stream.resource<*> {
  %0 = stream.tensor.constant : tensor<?xi32>{%s} in !stream.resource<*> = dense<3> : tensor<4xi32>
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%s: index, %f: f32) -> !stream.resource<*> {
  %sz = stream.tensor.sizeof tensor<?x8xf32>{%s} : index
  %0 = stream.tensor.splat %f : f32 -> tensor<?x8xf32>{%s} in !stream.resource<*>{%sz}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%s: index, %f: complex<f32>) -> !stream.resource<*> {
  %sz = stream.tensor.sizeof tensor<?x8xcomplex<f32>>{%s} : index
  %0 = stream.tensor.splat %f : complex<f32> -> tensor<?x8xcomplex<f32>>{%s} in !stream.resource<*>{%sz}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %c16 = arith.constant 16 : index
  %0 = stream.tensor.import %arg0 : tensor<4xf32> -> tensor<4xf32> in !stream.resource<external>{%c16}
  %1 = stream.tensor.export %0 : tensor<4xf32> in !stream.resource<external>{%c16} -> tensor<4xf32>
  util.return %1 : tensor<4xf32>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.tensor.clone %arg0 : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xf32> in !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.async.clone %arg0 : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @a(%s: index, %t: !stream.timepoint) -> !stream.timepoint {
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%s} => !stream.timepoint
  %d = stream.resource.dealloca await(%rt) => %r : !stream.resource<transient>{%s} => !stream.timepoint
  util.return %d : !stream.timepoint
}

// -----

util.func public @a(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %0 = stream.resource.subview %r[%c4] : !stream.resource<*>{%s} -> !stream.resource<*>{%c8}
  %1 = stream.resource.subview %0[%c4] : !stream.resource<*>{%c8} -> !stream.resource<*>{%c4}
  %2 = stream.resource.subview %1[%c0] : !stream.resource<*>{%c4} -> !stream.resource<*>{%c4}
  util.return %2 : !stream.resource<*>
}

// -----

util.func public @sync(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.timepoint.immediate => !stream.timepoint
  %1 = stream.timepoint.await sync %0 => %arg0 : !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// -----

util.func public @twotwo(%arg0: !stream.resource<*>, %s: index, %t: !stream.timepoint) -> !stream.resource<*> {
  %1:2 = stream.timepoint.await %t => %arg0, %arg0 : !stream.resource<*>{%s}, !stream.resource<*>{%s}
  util.return %1#1 : !stream.resource<*>
}

// -----

util.func public @chain(%arg0: !stream.resource<*>, %s: index, %t: !stream.timepoint, %t2: !stream.timepoint) -> !stream.resource<*> {
  %1 = stream.timepoint.await %t => %arg0 : !stream.resource<*>{%s}
  %2 = stream.timepoint.await %t2 => %1 : !stream.resource<*>{%s}
  util.return %2 : !stream.resource<*>
}

// -----

util.func public @barrier(%arg0: !stream.resource<*>, %s: index, %t: !stream.timepoint) -> (!stream.resource<*>, !stream.timepoint) {
  %1 = stream.timepoint.await %t => %arg0 : !stream.resource<*>{%s}
  %2, %3 = stream.timepoint.barrier %1 : !stream.resource<*>{%s} => !stream.timepoint
  util.return %2, %3 : !stream.resource<*>, !stream.timepoint
}

// -----

util.func public @barrierawait(%arg0: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %2, %3 = stream.timepoint.barrier %arg0 : !stream.resource<*>{%s} => !stream.timepoint
  %1 = stream.timepoint.await %3 => %2 : !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// -----

util.func public @imp(%f: !hal.fence) -> !hal.fence {
  %t = stream.timepoint.import %f : (!hal.fence) => !stream.timepoint
  %e = stream.timepoint.export %t => (!hal.fence)
  util.return %e : !hal.fence
}

// -----

util.func public @exp(%t: !stream.timepoint) -> !stream.timepoint {
  %e = stream.timepoint.export %t => (!hal.fence)
  %r = stream.timepoint.import %e : (!hal.fence) => !stream.timepoint
  util.return %r : !stream.timepoint
}

// -----

util.func public @chainext(%t: !stream.timepoint, %f: !hal.fence) {
  %i = stream.timepoint.import %f : (!hal.fence) => !stream.timepoint
  stream.timepoint.chain_external %i => (%f : !hal.fence)
  util.return
}

// -----

util.func public @immed(%s: index, %sz: index, %r: !stream.resource<transient>) -> (!stream.resource<transient>, !stream.timepoint, !stream.timepoint) {
  %i = stream.timepoint.immediate => !stream.timepoint
  %a, %at = stream.resource.alloca uninitialized await(%i) => !stream.resource<transient>{%s} => !stream.timepoint
  %d = stream.resource.dealloca await(%i) => %r : !stream.resource<transient>{%sz} => !stream.timepoint
  util.return %a, %at, %d : !stream.resource<transient>, !stream.timepoint, !stream.timepoint
}

// -----

util.func public @ld(%r: !stream.resource<staging>, %s: index, %v: f32) -> f32 {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %w = stream.resource.subview %r[%c16] : !stream.resource<staging>{%s} -> !stream.resource<staging>{%c8}
  %l = stream.resource.load %w[%c4] : !stream.resource<staging>{%c8} -> f32
  stream.resource.store %v, %w[%c4] : f32 -> !stream.resource<staging>{%c8}
  util.return %l : f32
}

// -----

util.func public @clsplat(%s: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %c = arith.constant 3 : i32
  %w = stream.async.splat %c : i32 -> !stream.resource<*>{%s}
  %l = stream.async.clone %w : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  util.return %w, %l : !stream.resource<*>, !stream.resource<*>
}

// -----

util.func public @slsl(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %w = stream.async.slice %r[%c8 to %c24] : !stream.resource<*>{%s} -> !stream.resource<*>{%c16}
  %l = stream.async.slice %w[%c4 to %c8] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c4}
  util.return %l : !stream.resource<*>
}

// -----

util.func public @filldup(%r: !stream.resource<*>, %v: f32, %s: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %b = arith.bitcast %v : f32 to i32
  %w = stream.async.fill %b, %r[%c0 to %c16 for %c16] : i32 -> %r as !stream.resource<*>{%c16}
  util.return %w : !stream.resource<*>
}

// -----

util.func public @copywhole(%r: !stream.resource<*>, %q: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %w = stream.async.copy %q[%c0 to %c16], %r[%c0 to %c16], %c16 : !stream.resource<*>{%c16} -> %r as !stream.resource<*>{%c16}
  util.return %w : !stream.resource<*>
}

// -----

util.func public @updwhole(%r: !stream.resource<*>, %q: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %w = stream.async.update %q, %r[%c0 to %c16] : !stream.resource<*>{%c16} -> %r as !stream.resource<*>{%c16}
  util.return %w : !stream.resource<*>
}

// -----

util.func public @aload(%r: !stream.resource<staging>, %s: index, %o: index) -> i32 {
  %l = stream.async.load %r[%o] : !stream.resource<staging>{%s} -> f32
  %b = arith.bitcast %l : f32 to i32
  util.return %b : i32
}

// -----

util.func public @astore(%r: !stream.resource<staging>, %s: index, %o: index, %v: i32) -> !stream.resource<staging> {
  %b = arith.bitcast %v : i32 to f32
  %l = stream.async.store %b, %r[%o] : f32 -> %r as !stream.resource<staging>{%s}
  util.return %l : !stream.resource<staging>
}

// -----

util.func public @tr(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %l = stream.async.transfer %r : !stream.resource<*>{%s} from(#hal.device.promise<@a>) -> to(#hal.device.promise<@a>) !stream.resource<*>{%s}
  util.return %l : !stream.resource<*>
}

// -----

util.func public @tr2(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %l = stream.async.transfer %r : !stream.resource<*>{%s} from(#hal.device.promise<@a>) -> to(#hal.device.promise<@b>) !stream.resource<*>{%s}
  %m = stream.async.transfer %l : !stream.resource<*>{%s} from(#hal.device.promise<@b>) -> to(#hal.device.promise<@c>) !stream.resource<*>{%s}
  util.return %m : !stream.resource<*>
}

// -----

util.func public @tr3(%r: !stream.resource<*>, %s: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %l = stream.async.transfer %r : !stream.resource<*>{%s} from(#hal.device.promise<@a>) -> to(#hal.device.promise<@b>) !stream.resource<*>{%s}
  %m = stream.async.transfer %l : !stream.resource<*>{%s} from(#hal.device.promise<@b>) -> to(#hal.device.promise<@c>) !stream.resource<*>{%s}
  util.return %m, %l : !stream.resource<*>, !stream.resource<*>
}

// -----

util.func public @tr4(%r: !stream.resource<*>, %s: index) -> !stream.resource<external> {
  %l = stream.async.transfer %r : !stream.resource<*>{%s} -> to(#hal.device.promise<@a>) !stream.resource<external>{%s}
  util.return %l : !stream.resource<external>
}

// -----

util.func public @exps(%r: !stream.resource<external>) -> !stream.resource<external> {
  %c16 = arith.constant 16 : index
  %1 = stream.tensor.export %r : tensor<4xf32> in !stream.resource<external>{%c16} -> tensor<4xf32>
  %0 = stream.tensor.import %1 : tensor<4xf32> -> tensor<4xf32> in !stream.resource<external>{%c16}
  util.return %0 : !stream.resource<external>
}

// -----

util.func public @exps2(%r: !hal.buffer_view) -> !hal.buffer {
  %c16 = arith.constant 16 : index
  %0 = stream.tensor.import %r : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%c16}
  %1 = stream.tensor.export %0 : tensor<4xf32> in !stream.resource<external>{%c16} -> !hal.buffer
  util.return %1 : !hal.buffer
}

// -----

util.func public @unused(%r: !stream.resource<*>, %s: index, %o: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %a = stream.async.clone %r : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %b = stream.async.fill %v, %r[%c0 to %o for %o] : i32 -> %r as !stream.resource<*>{%s}
  %d = stream.async.dispatch @x::@y(%r[%c0 to %s for %s]) : (!stream.resource<*>{%s}) -> !stream.resource<*>{%s}
  %e, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%s} => !stream.timepoint
  %f = stream.resource.alloc uninitialized : !stream.resource<transient>{%s}
  %g = stream.async.transfer %r : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %h = stream.async.update %r, %r[%c0 to %s] : !stream.resource<*>{%s} -> %r as !stream.resource<*>{%s}
  %i, %j = stream.timepoint.barrier %r : !stream.resource<*>{%s} => !stream.timepoint
  %k = stream.tensor.splat %v : i32 -> tensor<4xi32> in !stream.resource<*>{%s}
  %l = stream.async.barrier %r : !stream.resource<*>{%s}
  %m = stream.async.cast %r : !stream.resource<*>{%s} -> !stream.resource<external>{%s}
  util.return
}

// -----

util.func public @tr5(%r: !stream.resource<*>, %s: index) -> !stream.resource<staging> {
  %l = stream.async.transfer %r : !stream.resource<*>{%s} -> !stream.resource<staging>{%s}
  util.return %l : !stream.resource<staging>
}

// -----

util.func public @conc(%r: !stream.resource<*>, %s: index, %t: !stream.timepoint) -> (!stream.resource<*>, !stream.timepoint) {
  %0, %1 = stream.async.execute await(%t) => with(%r as %q: !stream.resource<*>{%s}) -> !stream.resource<*>{%s} {
    %5 = stream.async.concurrent with(%q as %p: !stream.resource<*>{%s}) -> !stream.resource<*>{%s} {
      %y = stream.async.clone %p : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
      stream.yield %y : !stream.resource<*>{%s}
    }
    stream.yield %5 : !stream.resource<*>{%s}
  } => !stream.timepoint
  util.return %0, %1 : !stream.resource<*>, !stream.timepoint
}

// -----

util.func public @clc() -> (!stream.resource<*>, !stream.resource<*>) {
  %c16 = arith.constant 16 : index
  %0 = stream.async.constant : !stream.resource<*>{%c16} = dense<[1,2,3,4]> : tensor<4xi32>
  %1 = stream.async.clone %0 : !stream.resource<*>{%c16} -> !stream.resource<*>{%c16}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<*>
}

// -----

util.func public @tu(%r: !stream.resource<*>, %q: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %1 = stream.tensor.update %q, %r[%c0] : tensor<4xi32> in !stream.resource<*>{%c16} -> tensor<4xi32> in %r as !stream.resource<*>{%c16}
  util.return %1 : !stream.resource<*>
}

// -----

util.func public @awaitempty(%r: !stream.resource<*>, %s: index, %t: !stream.timepoint) {
  %1 = stream.timepoint.await %t => %r : !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @all(%s: index, %v: i32) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.alloca : !stream.resource<*>{%s}
  %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i32 -> %0 as !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// -----

util.func public @te(%s: index, %q: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.tensor.empty : tensor<4xi32> in !stream.resource<*>{%s}
  %1 = stream.async.update %q, %0[%c0 to %s] : !stream.resource<*>{%s} -> %0 as !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}
// -----
// A splat that waits.
util.func public @a(%t: !stream.timepoint, %n: index) -> (!stream.resource<external>, !stream.resource<external>, !stream.resource<external>) {
  %v = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = stream.async.splat await(%t) %v : i32 -> !stream.resource<external>{%n}
  %1 = stream.async.slice %0[%c0 to %c16] : !stream.resource<external>{%n} -> !stream.resource<external>{%c16}
  %2 = stream.async.clone %0 : !stream.resource<external>{%n} -> !stream.resource<external>{%n}
  util.return %0, %1, %2 : !stream.resource<external>, !stream.resource<external>, !stream.resource<external>
}
// -----
// The size of a chosen resource.
util.func public @sel(%c: i1, %a: !stream.resource<transient>, %b: !stream.resource<transient>, %n: index, %m: index, %o: index) -> (!stream.resource<transient>, index) {
  %0 = stream.resource.subview %a[%o] : !stream.resource<transient>{%n} -> !stream.resource<transient>{%m}
  %1 = stream.resource.subview %b[%o] : !stream.resource<transient>{%n} -> !stream.resource<transient>{%m}
  %2 = arith.select %c, %0, %1 : !stream.resource<transient>
  %3 = stream.resource.size %2 : !stream.resource<transient>
  util.return %2, %3 : !stream.resource<transient>, index
}
// -----
// Captures of commands.
util.func public @cmd(%r: !stream.resource<transient>, %n: index, %o: index, %m: index, %v: i32, %t: !stream.timepoint) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %s = stream.resource.subview %r[%o] : !stream.resource<transient>{%n} -> !stream.resource<transient>{%m}
  %e = stream.cmd.execute await(%t) => with(%s as %x: !stream.resource<transient>{%m}, %r as %y: !stream.resource<transient>{%n}, %r as %z: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %m] : i32 -> !stream.resource<transient>{%m}
    stream.cmd.copy %x[%c0], %y[%c0], %m : !stream.resource<transient>{%m} -> !stream.resource<transient>{%n}
    stream.cmd.discard %x[%c0 for %m] : !stream.resource<transient>{%m}
    stream.cmd.dispatch @ex::@f {
      ro %x[%o for %m] : !stream.resource<transient>{%m}
    }
    stream.cmd.concurrent {
    }
    stream.cmd.serial {
      stream.cmd.fill %v, %x[%c0 for %m] : i32 -> !stream.resource<transient>{%m}
    }
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
// -----
// Unused operations.
util.func public @unused(%n: index, %v: i32, %r: !stream.resource<*>, %t: !stream.timepoint, %b: !util.buffer, %o: i64) {
  %c0 = arith.constant 0 : index
  %a = stream.async.alloca : !stream.resource<*>{%n}
  %s = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %f = stream.async.fill %v, %r[%c0 to %n for %n] : i32 -> %r as !stream.resource<*>{%n}
  %d = stream.async.dispatch @ex::@f(%r[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  %al, %tt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %p, %pt = stream.async.parameter.load %b::%b[%o] : !stream.resource<constant>{%n} => !stream.timepoint
  %tr = stream.async.transfer %r : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return
}
// -----
util.func public @tps(%t: !stream.timepoint, %c: i1, %f: !hal.fence, %r: !stream.resource<external>, %n: index) -> (!stream.timepoint, !hal.fence, !stream.timepoint) {
  %i = stream.timepoint.immediate => !stream.timepoint
  %im = stream.timepoint.import %f : (!hal.fence) => !stream.timepoint
  %ex = stream.timepoint.export %im => (!hal.fence)
  %e2 = stream.timepoint.export %i => (!hal.fence)
  stream.timepoint.chain_external %i => (%f : !hal.fence)
  %s = arith.select %c, %i, %i : !stream.timepoint
  %b, %bt = stream.timepoint.barrier %r : !stream.resource<external>{%n} => !stream.timepoint
  util.return %s, %ex, %bt : !stream.timepoint, !hal.fence, !stream.timepoint
}
// -----
// Entry points listed twice.
util.func public @dup(%a: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.dispatch {@ex::@f, @ex::@g, @ex::@f}(%a[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  %1 = stream.tensor.dispatch {@ex::@f, @ex::@f}(%0) : (tensor<4xf32> in !stream.resource<*>{%n}) -> tensor<4xf32> in !stream.resource<*>{%n}
  util.return %1 : !stream.resource<*>
}
// -----
// A cast that keeps the lifetime.
util.func public @cast(%r: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %0 = stream.async.cast %r : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}
