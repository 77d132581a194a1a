// RUN: mesh-opt %s --split-input-file --iree-stream-elide-async-copies | filecheck %s

// The copy is the last that needs what it copies; the second is of what is read again.

// CHECK-LABEL: util.func public @last(
// CHECK: %[[X:.*]] = stream.async.splat
// CHECK-NEXT: %[[Y:.*]] = stream.async.fill %v, %[[X]]
// CHECK-NEXT: %[[C:.*]] = stream.async.clone %[[Y]]
// CHECK-NEXT: stream.async.fill %v, %[[C]]
util.func public @last(%s: index, %v: i8) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %1 = stream.async.clone %0 : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %2 = stream.async.fill %v, %1[%c0 to %c1 for %c1] : i8 -> %1 as !stream.resource<*>{%s}
  %3 = stream.async.clone %2 : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %4 = stream.async.fill %v, %3[%c0 to %c1 for %c1] : i8 -> %3 as !stream.resource<*>{%s}
  util.return %2, %4 : !stream.resource<*>, !stream.resource<*>
}

// -----

// What callers see is theirs; a private function owns what its only caller gives up.

// CHECK-LABEL: util.func public @argument(
// CHECK: stream.async.clone %x
util.func public @argument(%x: !stream.resource<*>, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// CHECK-LABEL: util.func private @given_up(
// CHECK-NOT: stream.async.clone
// CHECK-LABEL: util.func private @read_again(
// CHECK: stream.async.clone
util.func private @given_up(%x: !stream.resource<*>, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}
util.func private @read_again(%x: !stream.resource<*>, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}
util.func public @caller(%s: index, %v: i8) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %1 = util.call @given_up(%0, %s, %v) : (!stream.resource<*>, index, i8) -> !stream.resource<*>
  %2 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %3 = util.call @read_again(%2, %s, %v) : (!stream.resource<*>, index, i8) -> !stream.resource<*>
  util.return %1, %2, %3 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// A call that passes one resource twice gives up neither.
// CHECK-LABEL: util.func private @both(
// CHECK: stream.async.clone
util.func private @both(%x: !stream.resource<*>, %y: !stream.resource<*>, %s: index, %v: i8) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %0 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
  util.return %1, %y : !stream.resource<*>, !stream.resource<*>
}
util.func public @caller_of_both(%s: index, %v: i8) -> (!stream.resource<*>, !stream.resource<*>) {
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %r:2 = util.call @both(%0, %0, %s, %v) : (!stream.resource<*>, !stream.resource<*>, index, i8) -> (!stream.resource<*>, !stream.resource<*>)
  util.return %r#0, %r#1 : !stream.resource<*>, !stream.resource<*>
}

// Two results are two resources.
// CHECK-LABEL: util.func public @twice(
// CHECK: stream.async.clone %x
util.func public @twice(%x: !stream.resource<*>, %s: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %0 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  util.return %x, %0 : !stream.resource<*>, !stream.resource<*>
}

// -----

// A loop carries what it owns; a value of outside is copied in every iteration.

// CHECK-LABEL: util.func public @loop(
// CHECK: scf.for
// CHECK-NEXT: stream.async.fill %v, %x
// CHECK: scf.for
// CHECK-NEXT: stream.async.clone
util.func public @loop(%s: index, %v: i8, %n: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %0) -> (!stream.resource<*>) {
    %1 = stream.async.clone %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %2 = stream.async.fill %v, %1[%c0 to %s for %s] : i8 -> %1 as !stream.resource<*>{%s}
    scf.yield %2 : !stream.resource<*>
  }
  %3 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %q = scf.for %i = %c0 to %n step %c1 iter_args(%x = %r) -> (!stream.resource<*>) {
    %4 = stream.async.clone %3 : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %5 = stream.async.fill %v, %4[%c0 to %s for %s] : i8 -> %4 as !stream.resource<*>{%s}
    scf.yield %5 : !stream.resource<*>
  }
  util.return %r, %q : !stream.resource<*>, !stream.resource<*>
}

// -----

// A kernel reads a part of the whole; what goes to another device does so.

stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding) {
      func.return
    }
  }
}

// CHECK-LABEL: util.func public @part(
// CHECK: %[[X:.*]] = stream.async.splat
// CHECK-NEXT: %[[A:.*]] = arith.addi %o, %c16
// CHECK-NEXT: %[[B:.*]] = arith.addi %o, %c64
// CHECK-NEXT: stream.async.dispatch @ex::@f(%[[X]][%[[A]] to %[[B]] for %c16]) : (!stream.resource<*>{%s})
// CHECK-NEXT: stream.async.transfer {{.*}} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>)
// CHECK-NEXT: util.return
util.func public @part(%s: index, %v: i8, %o: index, %l: index) -> !stream.resource<*> {
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %1 = stream.async.slice %0[%o to %s] : !stream.resource<*>{%s} -> !stream.resource<*>{%l}
  %2 = stream.async.dispatch @ex::@f(%1[%c16 to %c64 for %c16]) : (!stream.resource<*>{%l}) -> !stream.resource<*>{%s}
  %3 = stream.async.transfer %2 : !stream.resource<*>{%s} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@a>) !stream.resource<*>{%s}
  %4 = stream.async.transfer %3 : !stream.resource<*>{%s} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%s}
  util.return %4 : !stream.resource<*>
}

// -----

// A branch that is not taken has no use; a loop has one in its next iteration.

// CHECK-LABEL: util.func public @branches(
// CHECK-NOT: stream.async.clone
// CHECK-LABEL: util.func public @used_after_branches(
// CHECK: stream.async.clone
// CHECK-LABEL: util.func public @used_again_in_loop(
// CHECK: stream.async.clone
util.func public @branches(%p: i1, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %a = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %r = scf.if %p -> !stream.resource<*> {
    %0 = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  } else {
    scf.yield %a : !stream.resource<*>
  }
  util.return %r : !stream.resource<*>
}
util.func public @used_after_branches(%p: i1, %s: index, %v: i8) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %a = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %r = scf.if %p -> !stream.resource<*> {
    %0 = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %1 = stream.async.fill %v, %0[%c0 to %s for %s] : i8 -> %0 as !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  } else {
    scf.yield %a : !stream.resource<*>
  }
  util.return %r, %a : !stream.resource<*>, !stream.resource<*>
}
util.func public @used_again_in_loop(%n: index, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %b = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %b) -> !stream.resource<*> {
    %0 = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %1 = stream.async.fill %v, %0[%c0 to %c1 for %c1] : i8 -> %0 as !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  }
  util.return %r : !stream.resource<*>
}

// -----

// Results of branches, loops and calls are the program's, too, if all that they come from is.

// CHECK-LABEL: util.func public @results(
// CHECK: util.call @make
// CHECK-NOT: stream.async.clone
// CHECK: util.return
// CHECK-LABEL: util.func public @result_of_argument(
// CHECK: stream.async.clone
util.func private @make(%s: index, %v: i8) -> !stream.resource<*> {
  %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}
util.func public @results(%p: i1, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = util.call @make(%s, %v) : (index, i8) -> !stream.resource<*>
  %b = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %c = stream.async.fill %v, %b[%c0 to %c1 for %c1] : i8 -> %b as !stream.resource<*>{%s}
  %d = scf.if %p -> !stream.resource<*> {
    %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
    scf.yield %0 : !stream.resource<*>
  } else {
    scf.yield %c : !stream.resource<*>
  }
  %e = stream.async.clone %d : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %f = stream.async.fill %v, %e[%c0 to %c1 for %c1] : i8 -> %e as !stream.resource<*>{%s}
  %g = scf.for %i = %c0 to %s step %c1 iter_args(%x = %f) -> !stream.resource<*> {
    %0 = stream.async.fill %v, %x[%c0 to %c1 for %c1] : i8 -> %x as !stream.resource<*>{%s}
    scf.yield %0 : !stream.resource<*>
  }
  %h = stream.async.clone %g : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %i = stream.async.fill %v, %h[%c0 to %c1 for %c1] : i8 -> %h as !stream.resource<*>{%s}
  util.return %i : !stream.resource<*>
}
util.func public @result_of_argument(%p: i1, %x: !stream.resource<*>, %s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %d = scf.if %p -> !stream.resource<*> {
    %0 = stream.async.splat %v : i8 -> !stream.resource<*>{%s}
    scf.yield %0 : !stream.resource<*>
  } else {
    scf.yield %x : !stream.resource<*>
  }
  %e = stream.async.clone %d : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %f = stream.async.fill %v, %e[%c0 to %s for %s] : i8 -> %e as !stream.resource<*>{%s}
  util.return %f : !stream.resource<*>
}

// -----

// A copy for another device stays, also of what a loop carries; one of a constant may go.

util.global private @a : !hal.device
util.global private @b : !hal.device
// CHECK-LABEL: util.func public @elsewhere(
// CHECK: stream.async.clone on(#hal.device.affinity<@b>) %x
// CHECK-LABEL: util.func public @constant(
// CHECK-NOT: stream.async.clone
util.func public @elsewhere(%s: index, %v: i8) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = stream.async.splat on(#hal.device.affinity<@a>) %v : i8 -> !stream.resource<*>{%s}
  %r = scf.for %i = %c0 to %s step %c1 iter_args(%x = %a) -> !stream.resource<*> {
    %0 = stream.async.clone on(#hal.device.affinity<@b>) %x : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    %1 = stream.async.fill on(#hal.device.affinity<@b>) %v, %0[%c0 to %c1 for %c1] : i8 -> %0 as !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  }
  util.return %r : !stream.resource<*>
}
util.func public @constant(%x: !stream.resource<constant>, %s: index) -> !stream.resource<constant> {
  %0 = stream.async.clone %x : !stream.resource<constant>{%s} -> !stream.resource<constant>{%s}
  util.return %0 : !stream.resource<constant>
}
