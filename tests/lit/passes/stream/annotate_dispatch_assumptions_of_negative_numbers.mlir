// RUN: mesh-opt %s --allow-unregistered-dialect --iree-stream-annotate-dispatch-assumptions | filecheck %s

// What divides a negative number is only told as far as it divides the number read as unsigned, too: 3 divides
// 2^64 - 1, but not -1.

// CHECK: func.func @f(
// CHECK-NEXT: %{{.*}} = util.assume.int %m<udiv = 2> : index
// CHECK-NEXT: arith.constant
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%n: index, %m: index, %k: index, %x: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %x[%c0] : !stream.binding -> memref<?xi8>{%n}
      "test.use"(%0, %m, %k) : (memref<?xi8>, index, index) -> ()
      func.return
    }
  }
}
util.func public @main(%s: index, %i: i32, %r: !stream.resource<transient>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %minus_one = arith.constant -1 : index
  %minus_six = arith.constant -6 : index
  %threes = arith.muli %s, %c3 : index
  %sixes = arith.muli %s, %c6 : index
  %less_one = arith.addi %threes, %minus_one : index
  %less_six = arith.addi %sixes, %minus_six : index
  %known = util.assume.int %i<udiv = 7> : i32
  %seven = arith.index_cast %known : i32 to index
  %t = stream.cmd.execute with(%r as %a: !stream.resource<transient>{%c64}) {
    stream.cmd.dispatch @ex::@f(%less_one, %less_six, %seven : index, index, index) {
      ro %a[%c0 for %c64] : !stream.resource<transient>{%c64}
    }
  } => !stream.timepoint
  util.return
}
