// RUN: mesh-opt %s --split-input-file --allow-unregistered-dialect --iree-stream-fold-uniform-operands | filecheck %s

// Numbers that every dispatch gives twice, and what is one constant everywhere.

// CHECK: func.func @k(%b: !stream.binding, %x: i32, %y: index {test.y}) {
// CHECK-NEXT: %[[C:.*]] = arith.constant 4 : index
// CHECK-NEXT: "test.use"(%x, %y, %x, %[[C]])
stream.executable private @twice {
  stream.executable.export public @k
  builtin.module {
    func.func @k(%b: !stream.binding, %x: i32, %y: index {test.y}, %z: i32, %w: index {test.w}) {
      "test.use"(%x, %y, %z, %w) : (i32, index, i32, index) -> ()
      func.return
    }
  }
}

// CHECK: stream.cmd.dispatch @twice::@k[%i](%a, %i : i32, index)
// CHECK: stream.cmd.dispatch @twice::@k[%j](%a, %j : i32, index)
util.func public @f(%r: !stream.resource<transient>, %n: index, %a: i32, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %four = arith.constant 4 : index
  %t = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @twice::@k[%i](%a, %i, %a, %c4 : i32, index, i32, index) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
    stream.cmd.dispatch @twice::@k[%j](%a, %j, %a, %four : i32, index, i32, index) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
  } => !stream.timepoint
  util.return
}

// -----

// What differs between dispatches stays, and so do floats and kernels that other code calls.

// CHECK: func.func @k(%b: !stream.binding, %x: i32, %y: i32, %z: i32, %w: f32) {
// CHECK: func.func @called(%b: !stream.binding, %x: i32) {
stream.executable private @differ {
  stream.executable.export public @k
  stream.executable.export public @called
  builtin.module {
    func.func @k(%b: !stream.binding, %x: i32, %y: i32, %z: i32, %w: f32) {
      func.call @called(%b, %x) : (!stream.binding, i32) -> ()
      "test.use"(%x, %y, %z, %w) : (i32, i32, i32, f32) -> ()
      func.return
    }
    func.func @called(%b: !stream.binding, %x: i32) {
      func.return
    }
  }
}

// CHECK: stream.cmd.dispatch @differ::@k(%c7_i32, %s, %s, %cst : i32, i32, i32, f32)
// CHECK: stream.cmd.dispatch @differ::@k(%c8_i32, %s, %u, %cst : i32, i32, i32, f32)
// CHECK: stream.cmd.dispatch @differ::@called(%c8_i32 : i32)
util.func public @f(%r: !stream.resource<transient>, %n: index, %s: i32, %u: i32) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c1 = arith.constant 1.0 : f32
  %t = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @differ::@k(%c7, %s, %s, %c1 : i32, i32, i32, f32) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
    stream.cmd.dispatch @differ::@k(%c8, %s, %u, %c1 : i32, i32, i32, f32) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
    stream.cmd.dispatch @differ::@called(%c8 : i32) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
  } => !stream.timepoint
  util.return
}

// -----

// Kernels that a dispatch chooses from are given the same numbers.

// CHECK: func.func @k(%b: !stream.binding, %y: i32) {
// CHECK-NEXT: %[[C:.*]] = arith.constant 7 : i32
// CHECK-NEXT: "test.use"(%[[C]], %y)
// CHECK: func.func @l(%b: !stream.binding, %y: i32) {
stream.executable private @choice {
  stream.executable.export public @k
  stream.executable.export public @l
  builtin.module {
    func.func @k(%b: !stream.binding, %x: i32, %y: i32) {
      "test.use"(%x, %y) : (i32, i32) -> ()
      func.return
    }
    func.func @l(%b: !stream.binding, %x: i32, %y: i32) {
      "test.use"(%x, %y) : (i32, i32) -> ()
      func.return
    }
  }
}

// CHECK: stream.cmd.dispatch {@choice::@k, @choice::@l}(%s : i32)
// CHECK: stream.cmd.dispatch @choice::@l(%c7_i32 : i32)
util.func public @f(%r: !stream.resource<transient>, %n: index, %s: i32) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : i32
  %t = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch {@choice::@k, @choice::@l}(%c7, %s : i32, i32) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
    stream.cmd.dispatch @choice::@l(%c7, %c7 : i32, i32) {rw %q[%c0 for %n] : !stream.resource<transient>{%n}}
  } => !stream.timepoint
  util.return
}
