// RUN: mesh-opt %s --split-input-file --iree-stream-conversion | filecheck %s

// A reshape is a copy as another tensor; nothing carries sizes that operations list.

// CHECK-LABEL: util.func public @reshape
// CHECK-SAME: (%x: !stream.resource<*>, %[[S:[0-9]+]]: index, %m: index, %n: index) -> (!stream.resource<*>, index)
// CHECK: %[[R:.*]] = stream.tensor.sizeof tensor<30x2x?xf32>{%n} : index
// CHECK: %[[C:.*]] = stream.tensor.clone %x : tensor<5x?x48xf32>{%m} in !stream.resource<*>{%[[S]]} -> tensor<30x2x?xf32>{%n} in !stream.resource<*>{%[[R]]}
// CHECK: util.return %[[C]], %[[R]] : !stream.resource<*>, index
util.func public @reshape(%x: tensor<5x?x48xf32>, %m: index, %n: index) -> tensor<30x2x?xf32> {
  %0 = flow.tensor.reshape %x : tensor<5x?x48xf32>{%m} -> tensor<30x2x?xf32>{%n}
  util.return %0 : tensor<30x2x?xf32>
}

// -----

// CHECK-LABEL: util.func public @constant
// CHECK: %[[C:.*]] = stream.tensor.constant : tensor<4x2xi32> in !stream.resource<constant> = #stream.parameter.named<"scope"::"key"> : tensor<4x2xi32>
// CHECK: %[[S:.*]] = stream.resource.size %[[C]] : !stream.resource<constant>
// CHECK: %[[T:.*]] = stream.async.transfer %[[C]] : !stream.resource<constant>{%[[S]]} -> !stream.resource<*>{%[[S]]}
// CHECK: util.return %[[T]], %[[S]]
util.func public @constant() -> tensor<4x2xi32> {
  %0 = flow.tensor.constant #flow.parameter.named<"scope"::"key"> : tensor<4x2xi32>
  util.return %0 : tensor<4x2xi32>
}

// -----

// CHECK-LABEL: util.func public @moves
// CHECK-SAME: (%x: !stream.resource<*>, %[[S:[0-9]+]]: index, %n: index)
// CHECK: %[[A:.*]] = stream.async.transfer %x : !stream.resource<*>{%[[S]]} -> to(#hal.device.affinity<@a>) !stream.resource<*>{%[[S]]}
// CHECK: %[[B:.*]] = stream.async.transfer %[[A]] : !stream.resource<*>{%[[S]]} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%[[S]]}
// CHECK: %[[D:.*]] = stream.async.barrier on(#hal.device.affinity<@b>) %[[B]] : !stream.resource<*>{%[[S]]}
// CHECK: stream.tensor.clone on(#hal.device.affinity<@b>) %[[D]] : tensor<?xf32>{%n} in !stream.resource<*>{%[[S]]} -> tensor<?xf32>{%n} in !stream.resource<*>{%[[S]]}
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @moves(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %0 = flow.tensor.transfer %x : tensor<?xf32>{%n} to #hal.device.affinity<@a>
  %1 = flow.tensor.transfer %0 : tensor<?xf32>{%n} to #hal.device.affinity<@b>
  %2 = flow.tensor.barrier %1 : tensor<?xf32>{%n} on #hal.device.affinity<@b>
  %3 = flow.tensor.clone %2 : tensor<?xf32>{%n}
  util.return %3 : tensor<?xf32>
}

// -----

// A dispatch reads what is on its own device: what is elsewhere is brought there.

// CHECK-LABEL: util.func public @elsewhere
// CHECK: %[[C:.*]] = stream.async.transfer %{{.*}} : !stream.resource<constant>{%[[CS:.*]]} -> !stream.resource<*>{%[[CS]]}
// CHECK: %[[X:.*]] = stream.async.cast on(#hal.device.affinity<@a>)
// CHECK: %[[T:.*]] = stream.async.transfer %[[X]] : !stream.resource<*>{%[[S:.*]]} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%[[S]]}
// CHECK: %[[D:.*]] = stream.async.transfer %[[C]] : !stream.resource<*>{%[[CS]]} -> to(#hal.device.affinity<@b>) !stream.resource<*>{%[[CS]]}
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@f(%[[T]], %[[D]])
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @elsewhere(%view: !hal.buffer_view, %y: tensor<2xf32>) -> tensor<5xf32> {
  %c = flow.tensor.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %x = hal.tensor.import on(#hal.device.affinity<@a>) %view : !hal.buffer_view -> tensor<5xf32>
  %0 = flow.dispatch @ex::@f(%x, %c) {stream.affinity = #hal.device.affinity<@b>} : (tensor<5xf32>, tensor<2xf32>) -> tensor<5xf32>
  util.return %0 : tensor<5xf32>
}

// -----

// A result that lies in an operand has its bytes, and is the tensor that it was.

// CHECK-LABEL: util.func public @tied
// CHECK-SAME: (%w: index, %x: !stream.resource<*>, %[[S:[0-9]+]]: index, %i: i32)
// CHECK: %[[N:.*]] = stream.tensor.sizeof tensor<?xf32>{%w} : index
// CHECK: %[[D:.*]]:2 = stream.tensor.dispatch {@ex::@f, @ex2::@f}[%w, %w](%x, %i) : (tensor<4x4xf32> in !stream.resource<*>{%[[S]]}, i32) -> (tensor<4x4xf32> in %x{%[[S]]}, tensor<?xf32>{%w} in !stream.resource<*>{%[[N]]})
// CHECK: util.return %[[D]]#0, %[[S]], %[[D]]#1, %[[N]]
util.func public @tied(%w: index, %x: tensor<4x4xf32>, %i: i32) -> (tensor<16xi32>, tensor<?xf32>) {
  %0:2 = flow.dispatch {@ex::@f, @ex2::@f}[%w, %w](%x, %i) : (tensor<4x4xf32>, i32) -> (%x as tensor<16xi32>, tensor<?xf32>{%w})
  util.return %0#0, %0#1 : tensor<16xi32>, tensor<?xf32>
}

// -----

// CHECK-LABEL: util.func public @parameters
// CHECK-SAME: (%at: i64)
// CHECK: %[[S:.*]] = stream.tensor.sizeof tensor<4xf32> : index
// CHECK: %[[P:.*]] = stream.tensor.parameter.load %scope::%key[%at] : tensor<4xf32> in !stream.resource<*>{%[[S]]}
// CHECK: stream.tensor.parameter.write %[[P]] -> %key[%at] : tensor<4xf32> in !stream.resource<*>{%[[S]]}
util.func public @parameters(%at: i64) -> tensor<4xf32> {
  %scope = util.buffer.constant : !util.buffer = "scope"
  %key = util.buffer.constant : !util.buffer = "key"
  %0 = flow.parameter.load %scope::%key[%at] : tensor<4xf32>
  %1 = flow.parameter.write %0 -> %key[%at] : tensor<4xf32>
  util.return %1 : tensor<4xf32>
}

// -----

// Functions outside of the program.

// CHECK: stream.async.func private @outside(%arg0: !stream.resource<*>, %arg1: index) -> (!stream.resource<*>, %arg0)
flow.func private @outside(%x: tensor<?xf32>, %n: index) -> (tensor<4xf32>, %x)
// CHECK-LABEL: util.func public @calls
// CHECK-SAME: (%x: !stream.resource<*>, %[[X:[0-9]+]]: index, %n: index)
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK: %[[S:.*]] = stream.tensor.sizeof tensor<4xf32> : index
// CHECK: %[[C:.*]]:2 = stream.async.call @outside(%x[%[[Z]] to %[[X]] for %[[X]]], %n) : (!stream.resource<*>{%[[X]]}, index) -> (!stream.resource<*>{%[[S]]}, %x{%[[X]]})
// CHECK: util.return %[[C]]#0, %[[S]], %[[C]]#1, %[[X]]
util.func public @calls(%x: tensor<?xf32>, %n: index) -> (tensor<4xf32>, tensor<?xf32>) {
  %0:2 = flow.call @outside(%x, %n) : (tensor<?xf32>{%n}, index) -> (tensor<4xf32>, %x{%n})
  util.return %0#0, %0#1 : tensor<4xf32>, tensor<?xf32>
}

// -----

// Attributes and ties of arguments and results stay where these are.

// CHECK: util.func private @declared(%{{.*}}: !stream.resource<*> {some.attribute}, %{{.*}}: index, %{{.*}}: i32) -> (!stream.resource<*> {other.attribute}, index)
util.func private @declared(%x: tensor<4xf32> {some.attribute}, %i: i32) -> (tensor<4xf32> {other.attribute})
// CHECK: util.func private @tied_function(%i: i32, %x: !stream.resource<*>, %{{.*}}: index) -> (%x, index)
util.func private @tied_function(%i: i32, %x: tensor<4xf32>) -> %x {
  util.return %x : tensor<4xf32>
}
// CHECK-LABEL: util.func public @caller
// CHECK: %[[A:.*]]:2 = util.call @declared(%x, %[[S:.*]], %i) : (!stream.resource<*>, index, i32) -> (!stream.resource<*>, index)
// CHECK: util.call @tied_function(%i, %[[A]]#0, %[[A]]#1) : (i32, !stream.resource<*>, index) -> (%[[A]]#0, index)
util.func public @caller(%x: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
  %0 = util.call @declared(%x, %i) : (tensor<4xf32>, i32) -> tensor<4xf32>
  %1 = util.call @tied_function(%i, %0) : (i32, tensor<4xf32>) -> %0
  util.return %1 : tensor<4xf32>
}

// -----

// Globals: what they hold is moved to and from where it lives.

// CHECK: util.global private mutable @v : !stream.resource<variable>
// CHECK: util.global private mutable @v__size : index
// CHECK: util.initializer
// CHECK:   %[[S:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4xf32> : index
// CHECK:   stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<4xf32> in !stream.resource<variable>{%[[S]]}
util.global private @a : !hal.device
util.global private @b : !hal.device
util.global private mutable @v {stream.affinity = #hal.device.affinity<@a>} = #util.uninitialized : tensor<4xf32>
// A global of an open size holds what is stored to it.
// CHECK: util.global private mutable @open : !stream.resource<variable>
// CHECK: util.global private mutable @open__size : index
// CHECK-NOT: util.initializer
util.global private mutable @open {stream.affinity = #hal.device.affinity<@a>} : tensor<?xf32>
// CHECK-LABEL: util.func public @globals
// CHECK: %[[R:.*]] = util.global.load @v : !stream.resource<variable>
// CHECK: %[[N:.*]] = util.global.load @v__size : index
// CHECK: %[[T:.*]] = stream.async.transfer %[[R]] : !stream.resource<variable>{%[[N]]} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@a>) !stream.resource<*>{%[[N]]}
// CHECK: %[[M:.*]] = stream.async.transfer %[[T]] : !stream.resource<*>{%[[N]]} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%[[N]]}
// CHECK: %[[D:.*]] = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@f(%[[M]])
// CHECK: %[[B:.*]] = stream.async.transfer %[[D]] : !stream.resource<*>{%[[Z:.*]]} from(#hal.device.affinity<@b>) -> to(#hal.device.affinity<@a>) !stream.resource<variable>{%[[Z]]}
// CHECK: util.global.store %[[B]], @v : !stream.resource<variable>
// CHECK: util.global.store %[[Z]], @v__size : index
// CHECK: util.global.store %{{.*}}, @open : !stream.resource<variable>
// CHECK: %[[O:.*]] = util.global.load @open__size : index
// CHECK: util.return %{{.*}}, %[[O]]
util.func public @globals(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = util.global.load @v : tensor<4xf32>
  %1 = flow.dispatch @ex::@f(%0) {stream.affinity = #hal.device.affinity<@b>} : (tensor<4xf32>) -> tensor<4xf32>
  util.global.store %1, @v : tensor<4xf32>
  util.global.store %x, @open : tensor<?xf32>
  %2 = util.global.load @open : tensor<?xf32>
  util.return %2 : tensor<?xf32>
}

// -----

// A function and an initializer may have an affinity, which is that of the ops in them; the nearest
// scope counts.
// CHECK-LABEL: @of_function
// CHECK: stream.tensor.splat on(#hal.device.affinity<@d0>)
// CHECK-LABEL: @of_module
// CHECK: stream.tensor.splat on(#hal.device.affinity<@d1>)
module attributes {stream.affinity.default = #hal.device.affinity<@d1>} {
  util.global private @d0 : !hal.device
  util.global private @d1 : !hal.device
  util.func public @of_function(%x: f32) -> tensor<4xf32> attributes {stream.affinity = #hal.device.affinity<@d0>} {
    %0 = flow.tensor.splat %x : tensor<4xf32>
    util.return %0 : tensor<4xf32>
  }
  util.func public @of_module(%x: f32) -> tensor<4xf32> {
    %0 = flow.tensor.splat %x : tensor<4xf32>
    util.return %0 : tensor<4xf32>
  }
}

// -----

// Other modules may read a public global; a private one that nothing reads is dropped.

// CHECK-NOT: @unread
// CHECK: util.global public @seen : !stream.resource<constant>
// CHECK: stream.tensor.constant on(#hal.device.affinity<@a>) : tensor<4xf32> in !stream.resource<constant>
// CHECK: util.global.store %{{.*}}, @seen : !stream.resource<constant>
module attributes {stream.affinity.default = #hal.device.affinity<@a>} {
  util.global private @a : !hal.device
  util.global private @unread = dense<1.0> : tensor<4xf32>
  util.global public @seen = dense<1.0> : tensor<4xf32>
  util.func public @f() {
    util.return
  }
}
