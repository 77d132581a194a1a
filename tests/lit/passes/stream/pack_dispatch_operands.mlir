// RUN: mesh-opt %s --split-input-file --allow-unregistered-dialect --iree-stream-pack-dispatch-operands | filecheck %s

// CHECK: func.func @f(%{{.*}}: !stream.binding, %[[A:.*]]: i32, %[[B:.*]]: i32, %[[C:.*]]: i32, %[[D:.*]]: i32 {stream.values = [3 : i32]}) {
// CHECK: %[[L:.*]] = arith.extui %[[A]] : i32 to i64
// CHECK: %[[U:.*]] = arith.extui %[[B]] : i32 to i64
// CHECK: %[[S:.*]] = arith.shli %[[U]], %{{.*}} : i64
// CHECK: %[[O:.*]] = arith.ori %[[L]], %[[S]] : i64
// CHECK: %[[N:.*]] = arith.index_castui %[[O]] {stream.alignment = 16 : index} : i64 to index
// CHECK: %[[T:.*]] = arith.trunci %[[C]] : i32 to i16
// CHECK: %[[H:.*]] = arith.bitcast %[[T]] : i16 to f16
// CHECK: stream.binding.subspan %{{.*}}[%[[N]]]
// CHECK: "test.use"(%[[H]], %[[D]]) : (f16, i32) -> ()
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding, %n: index {stream.alignment = 16 : index}, %h: f16, %i: i32 {stream.values = [3 : i32]}) {
      %0 = stream.binding.subspan %a[%n] : !stream.binding -> memref<4xf32>
      "test.use"(%h, %i) : (f16, i32) -> ()
      func.return
    }
  }
}

// CHECK-LABEL: util.func public @main
// CHECK: %[[W:.*]] = arith.index_castui %n : index to i64
// CHECK: %[[P:.*]] = arith.trunci %[[W]] : i64 to i32
// CHECK: %[[X:.*]] = arith.shrui %[[W]], %{{.*}} : i64
// CHECK: %[[Q:.*]] = arith.trunci %[[X]] : i64 to i32
// CHECK: %[[R:.*]] = arith.bitcast %h : f16 to i16
// CHECK: %[[E:.*]] = arith.extui %[[R]] : i16 to i32
// CHECK: stream.cmd.execute
// CHECK-NEXT: stream.cmd.dispatch @ex::@f(%[[P]], %[[Q]], %[[E]], %i : i32, i32, i32, i32)
util.func public @main(%r: !stream.resource<external>, %n: index, %h: f16, %i: i32) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %a: !stream.resource<external>{%n}) {
    stream.cmd.dispatch @ex::@f(%n, %h, %i : index, f16, i32) {rw %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// Numbers of more than 32 bits are two words whatever their width, complex ones are two numbers.

// CHECK: func.func @f(%{{.*}}: !stream.binding, %[[A:.*]]: i32, %[[B:.*]]: i32, %[[C:.*]]: i32, %[[D:.*]]: i32, %[[E:.*]]: i32) {
// CHECK: %[[O:.*]] = arith.ori
// CHECK: %[[W:.*]] = arith.trunci %[[O]] {test.known} : i64 to i48
// CHECK: %[[R:.*]] = arith.bitcast %[[C]] : i32 to f32
// CHECK: %[[I:.*]] = arith.bitcast %[[D]] : i32 to f32
// CHECK: %[[Z:.*]] = complex.create %[[R]], %[[I]] : complex<f32>
// CHECK: %[[T:.*]] = arith.trunci %[[E]] : i32 to i8
// CHECK: %[[F:.*]] = arith.bitcast %[[T]] : i8 to f8E4M3FN
// CHECK: "test.use"(%[[W]], %[[Z]], %[[F]])
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding, %w: i48 {test.known}, %z: complex<f32>, %f: f8E4M3FN) {
      "test.use"(%w, %z, %f) : (i48, complex<f32>, f8E4M3FN) -> ()
      func.return
    }
  }
}

// CHECK-LABEL: util.func public @main
// CHECK: arith.extui %w : i48 to i64
// CHECK: complex.re %z
// CHECK: complex.im %z
// CHECK: stream.cmd.dispatch @ex::@f(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32, i32)
util.func public @main(%r: !stream.resource<external>, %n: index, %w: i48, %z: complex<f32>, %f: f8E4M3FN) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %a: !stream.resource<external>{%n}) {
    stream.cmd.dispatch @ex::@f(%w, %z, %f : i48, complex<f32>, f8E4M3FN) {rw %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// Indices are one word where all limits say so.

// CHECK: func.func @f(%{{.*}}: !stream.binding, %[[A:.*]]: i32)
// CHECK: arith.index_castui %[[A]] : i32 to index
// CHECK-LABEL: util.func public @main
// CHECK: %[[W:.*]] = arith.index_castui %n : index to i32
// CHECK: stream.cmd.dispatch @ex::@f(%[[W]] : i32)
#limits = #stream.resource_config<{max_allocation_size = 1024, min_buffer_offset_alignment = 16, max_buffer_range = 1024, min_buffer_range_alignment = 16, index_bits = 32}>
builtin.module attributes {stream.resources = #limits} {
  stream.executable private @ex {
    stream.executable.export public @f
    builtin.module {
      func.func @f(%a: !stream.binding, %n: index) {
        "test.use"(%n) : (index) -> ()
        func.return
      }
    }
  }
  util.func public @main(%r: !stream.resource<external>, %n: index) -> !stream.timepoint {
    %0 = stream.cmd.execute with(%r as %a: !stream.resource<external>{%n}) {
      stream.cmd.dispatch @ex::@f(%n : index) {rw %a[%n for %n] : !stream.resource<external>{%n}}
    } => !stream.timepoint
    util.return %0 : !stream.timepoint
  }
}

// -----

// Words of constants are constants, without the sign of the number; both parts of a complex number
// are taken before their words.

// CHECK-LABEL: util.func public @constants
// CHECK: %[[LOWER:.*]] = arith.constant 5 : i32
// CHECK: %[[UPPER:.*]] = arith.constant -1 : i32
// CHECK: %[[BYTE:.*]] = arith.constant 253 : i32
// CHECK: %[[TRUE:.*]] = arith.constant 1 : i32
// CHECK: %[[RE:.*]] = complex.re %z
// CHECK-NEXT: %[[IM:.*]] = complex.im %z
// CHECK-NEXT: %[[R:.*]] = arith.bitcast %[[RE]]
// CHECK-NEXT: %[[I:.*]] = arith.bitcast %[[IM]]
// CHECK: stream.cmd.dispatch @ex::@f(%[[LOWER]], %[[UPPER]], %[[BYTE]], %[[TRUE]], %[[R]], %[[I]] : i32, i32, i32, i32, i32, i32)
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding, %w: i64, %b: i8, %t: i1, %z: complex<f32>) {
      func.return
    }
  }
}
util.func public @constants(%r: !stream.resource<external>, %n: index, %z: complex<f32>) -> !stream.timepoint {
  %long = arith.constant 0xFFFFFFFF00000005 : i64
  %byte = arith.constant -3 : i8
  %true = arith.constant true
  %0 = stream.cmd.execute with(%r as %a: !stream.resource<external>{%n}) {
    stream.cmd.dispatch @ex::@f(%long, %byte, %true, %z : i64, i8, i1, complex<f32>) {rw %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}
