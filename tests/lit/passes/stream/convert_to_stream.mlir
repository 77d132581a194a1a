// RUN: mesh-opt %s --split-input-file --convert-to-stream | filecheck %s

util.global private @x : !hal.device
util.global private @y : !hal.device
// CHECK: util.global private @w : !stream.resource<constant>
// CHECK: util.global private @w__size : index
// CHECK: util.initializer {
// CHECK:   %[[C:.*]] = stream.tensor.constant on(#hal.device.affinity<@y>) : tensor<4xf32> in !stream.resource<constant> = dense<1.000000e+00> : tensor<4xf32>
// CHECK:   util.global.store %{{.*}}, @w : !stream.resource<constant>
// CHECK:   util.global.store %{{.*}}, @w__size : index
util.global private @w {stream.affinity = #hal.device.affinity<@y>} = dense<1.0> : tensor<4xf32>

// CHECK: stream.executable private @ex {
// CHECK:   stream.executable.export public @f workgroups(%{{.*}}: index)
// CHECK:     stream.return
// CHECK:   func.func @f(%[[A:.*]]: !stream.binding, %[[B:.*]]: !stream.binding, %[[N:.*]]: index, %[[O:.*]]: !stream.binding)
// CHECK:     %[[Z:.*]] = arith.constant 0 : index
// CHECK:     stream.binding.subspan %[[A]][%[[Z]]] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%[[N]]}
flow.executable private @ex {
  flow.executable.export public @f workgroups(%a: index) -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%a)
    flow.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @f(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %w: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>, %n: index, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) {
      %0 = flow.dispatch.tie_shape %a : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n}
      %1 = flow.dispatch.tie_shape %o : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
      %2 = iree_tensor_ext.dispatch.tensor.load %w, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32>
      return
    }
  }
}

// CHECK-LABEL: util.func public @main(%a: !hal.buffer_view, %n: index, %flag: i1) -> (!hal.buffer_view, f32)
// CHECK: %[[S:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@x>) tensor<?xf32>{%n} : index
// CHECK: %[[I:.*]] = stream.tensor.import on(#hal.device.affinity<@x>) %a : !hal.buffer_view -> tensor<?xf32>{%n} in !stream.resource<external>{%[[S]]}
// CHECK: %[[R:.*]] = stream.async.cast on(#hal.device.affinity<@x>) %[[I]] : !stream.resource<external>{%[[S]]} -> !stream.resource<*>{%[[S]]}
// CHECK: %[[T:.*]] = stream.async.transfer %[[R]] : !stream.resource<*>{%[[S]]} from(#hal.device.affinity<@x>) -> to(#hal.device.affinity<@y>) !stream.resource<*>{%[[S]]}
// CHECK: util.global.load @w : !stream.resource<constant>
// CHECK: %[[IF:.*]], %[[IS:.*]], %[[IN:.*]] = scf.if %flag -> (!stream.resource<*>, index, index) {
// CHECK:   %[[D:.*]] = stream.tensor.dispatch on(#hal.device.affinity<@y>) @ex::@f[%n](%[[T]], %{{.*}}, %n) : (tensor<?xf32>{%n} in !stream.resource<*>{%[[S]]}, tensor<4xf32> in !stream.resource<*>{%{{.*}}}, index) -> tensor<?xf32>{%n} in !stream.resource<*>{%[[DS:.*]]}
// CHECK:   scf.yield %[[D]], %[[DS]], %n
// CHECK: } else {
// CHECK:   scf.yield %[[T]], %[[S]], %n
// CHECK: %[[H:.*]] = stream.async.transfer %[[IF]] : {{.*}} !stream.resource<staging>{%[[IS]]}
// CHECK: stream.tensor.load %[[H]][%{{.*}}] : tensor<?xf32>{%[[IN]]} in !stream.resource<staging>{%[[IS]]} -> f32
// CHECK: stream.tensor.export on(#hal.device.affinity<@x>)
util.func public @main(%a: !hal.buffer_view, %n: index, %flag: i1) -> (!hal.buffer_view, f32) {
  %c0 = arith.constant 0 : index
  %0 = hal.tensor.import on(#hal.device.affinity<@x>) %a "input0" : !hal.buffer_view -> tensor<?xf32>{%n}
  %1 = flow.tensor.transfer %0 : tensor<?xf32>{%n} to #hal.device.affinity<@y>
  %w = util.global.load @w : tensor<4xf32>
  %2 = scf.if %flag -> (tensor<?xf32>) {
    %3 = flow.dispatch @ex::@f[%n](%1, %w, %n) : (tensor<?xf32>{%n}, tensor<4xf32>, index) -> tensor<?xf32>{%n}
    scf.yield %3 : tensor<?xf32>
  } else {
    scf.yield %1 : tensor<?xf32>
  }
  %4 = tensor.extract %2[%c0] : tensor<?xf32>
  %m = tensor.dim %2, %c0 : tensor<?xf32>
  %5 = flow.tensor.transfer %2 : tensor<?xf32>{%m} to #hal.device.affinity<@x>
  %6 = hal.tensor.export on(#hal.device.affinity<@x>) %5 "output0" : tensor<?xf32>{%m} -> !hal.buffer_view
  util.return %6, %4 : !hal.buffer_view, f32
}

// Functions that are called take and return resources and their sizes.
// CHECK-LABEL: util.func private @called(%a: !stream.resource<*>, %{{.*}}: index) -> (!stream.resource<*>, index)
// CHECK: util.return %a, %{{.*}} : !stream.resource<*>, index
util.func private @called(%a: tensor<4xf32>) -> tensor<4xf32> {
  util.return %a : tensor<4xf32>
}

// The rank of a tensor is that of its type.
// CHECK-LABEL: util.func private @rank
// CHECK: %[[R:.*]] = arith.constant 2 : index
// CHECK: util.return %[[R]] : index
util.func private @rank(%a: tensor<?x6xf32>) -> index {
  %r = tensor.rank %a : tensor<?x6xf32>
  util.return %r : index
}

// CHECK-LABEL: util.func public @calls
// CHECK: %[[CALL:.*]]:2 = util.call @called(%{{.*}}, %{{.*}}) : (!stream.resource<*>, index) -> (!stream.resource<*>, index)
// CHECK: stream.async.cast on(#hal.device.affinity<@x>) %[[CALL]]#0 : !stream.resource<*>{%[[CALL]]#1}
util.func public @calls(%a: !hal.buffer_view) -> !hal.buffer_view {
  %0 = hal.tensor.import on(#hal.device.affinity<@x>) %a : !hal.buffer_view -> tensor<4xf32>
  %1 = util.call @called(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = hal.tensor.export on(#hal.device.affinity<@x>) %1 : tensor<4xf32> -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}

// -----

// A size is emitted once in a block for each device.

util.global private @x : !hal.device
util.global private @y : !hal.device
// CHECK-LABEL: util.func public @once
// CHECK-NEXT: %[[X:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@x>) tensor<?xf32>{%n} : index
// CHECK-NEXT: stream.tensor.empty on(#hal.device.affinity<@x>) : tensor<?xf32>{%n} in !stream.resource<*>{%[[X]]}
// CHECK-NEXT: stream.tensor.empty on(#hal.device.affinity<@x>) : tensor<?xf32>{%n} in !stream.resource<*>{%[[X]]}
// CHECK-NEXT: %[[M:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@x>) tensor<?xf32>{%m} : index
// CHECK-NEXT: stream.tensor.empty on(#hal.device.affinity<@x>) : tensor<?xf32>{%m} in !stream.resource<*>{%[[M]]}
// CHECK-NEXT: %[[Y:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@y>) tensor<?xf32>{%n} : index
// CHECK-NEXT: stream.tensor.empty on(#hal.device.affinity<@y>) : tensor<?xf32>{%n} in !stream.resource<*>{%[[Y]]}
// CHECK-NEXT: scf.if %flag {
// CHECK-NEXT:   %[[Z:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@x>) tensor<?xf32>{%n} : index
// CHECK-NEXT:   stream.tensor.empty on(#hal.device.affinity<@x>) : tensor<?xf32>{%n} in !stream.resource<*>{%[[Z]]}
util.func public @once(%n: index, %m: index, %flag: i1) {
  %0 = "flow.tensor.empty"(%n) {stream.affinity = #hal.device.affinity<@x>} : (index) -> tensor<?xf32>
  %1 = "flow.tensor.empty"(%n) {stream.affinity = #hal.device.affinity<@x>} : (index) -> tensor<?xf32>
  %2 = "flow.tensor.empty"(%m) {stream.affinity = #hal.device.affinity<@x>} : (index) -> tensor<?xf32>
  %3 = "flow.tensor.empty"(%n) {stream.affinity = #hal.device.affinity<@y>} : (index) -> tensor<?xf32>
  scf.if %flag {
    %4 = "flow.tensor.empty"(%n) {stream.affinity = #hal.device.affinity<@x>} : (index) -> tensor<?xf32>
  }
  util.return
}

// -----

// A bitcast is a view of the same bytes.

// CHECK-LABEL: util.func public @bitcast
// CHECK: %[[S:.*]] = stream.tensor.sizeof {{.*}}tensor<?x8xi16>{%n} : index
// CHECK: stream.tensor.clone {{.*}} : tensor<?x4xf32>{%n} in !stream.resource<*>{%{{.*}}} -> tensor<?x8xi16>{%n} in !stream.resource<*>{%[[S]]}
util.func public @bitcast(%x: tensor<?x4xf32>, %n: index) -> tensor<?x8xi16> {
  %0 = iree_tensor_ext.bitcast %x : tensor<?x4xf32>{%n} -> tensor<?x8xi16>{%n}
  util.return %0 : tensor<?x8xi16>
}

// -----

// New globals have names that the program does not use: the size of a global, and the copy for a second device.

util.global private @x : !hal.device
util.global private @y : !hal.device
// CHECK: util.global private @w : !stream.resource<constant>
// CHECK: util.global private @w__size_0 : index
// CHECK: util.global private @w_0 : !stream.resource<constant>
// CHECK: util.global private @w_0__size : index
util.global private @w = dense<1.0> : tensor<4xf32>
// CHECK: util.global private @w__size = 7 : index
util.global private @w__size = 7 : index
// CHECK-LABEL: util.func public @read_on_two_devices
// CHECK: util.global.load @w : !stream.resource<constant>
// CHECK: util.global.load @w__size_0 : index
// CHECK: util.global.load @w_0 : !stream.resource<constant>
// CHECK: util.global.load @w_0__size : index
// CHECK: util.global.load @w__size : index
util.func public @read_on_two_devices() -> (tensor<4xf32>, tensor<4xf32>, index) {
  %0 = util.global.load @w {stream.affinity = #hal.device.affinity<@x>} : tensor<4xf32>
  %1 = util.global.load @w {stream.affinity = #hal.device.affinity<@y>} : tensor<4xf32>
  %2 = util.global.load @w__size : index
  util.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, index
}
