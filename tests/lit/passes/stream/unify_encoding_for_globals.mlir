// RUN: mesh-opt %s --iree-stream-unify-encoding-for-globals --remarks=encoding 2>%t | filecheck %s
// RUN: filecheck %s --input-file=%t --check-prefix=REMARK

#x = #hal.executable.target<"llvm-cpu", "x", {iree.encoding.resolver = #iree_encoding.specialization_resolver<3>}>
#A = #hal.device.affinity<@a>
#e1 = #iree_encoding.testing<>
#e2 = #iree_encoding.testing<original_element_type = f32>
util.global private @a = #hal.device.target<"local", [#x]> : !hal.device
util.global private @w1 : !stream.resource<constant>
util.global private @w2 : !stream.resource<constant>

// Both versions of the parameter are in the encoding that the device's solver chooses.

// CHECK:      %[[W:.+]] = stream.tensor.constant
// CHECK-NEXT: %[[S:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #iree_encoding.specialized<3>>
// CHECK-NEXT: stream.tensor.encode on(#hal.device.affinity<@a>) %[[W]] : {{.*}} -> tensor<4x4xf32, #iree_encoding.specialized<3>> in {{.*}}{%[[S]]}
// CHECK:      stream.tensor.encode {{.*}} -> tensor<4x4xf32, #iree_encoding.specialized<3>>
util.initializer {
  %c64 = arith.constant 64 : index
  %w = stream.tensor.constant on(#A) : tensor<4x4xf32> in !stream.resource<constant> = #stream.parameter.named<"m"::"w"> : tensor<4x4xf32>
  %s = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e1> : index
  %e = stream.tensor.encode on(#A) %w : tensor<4x4xf32> in !stream.resource<constant>{%c64} -> tensor<4x4xf32, #e1> in !stream.resource<constant>{%s}
  util.global.store %e, @w1 : !stream.resource<constant>
  util.return
}
util.initializer {
  %c64 = arith.constant 64 : index
  %w = stream.tensor.constant on(#A) : tensor<4x4xf32> in !stream.resource<constant> = #stream.parameter.named<"m"::"w"> : tensor<4x4xf32>
  %s = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e2> : index
  %e = stream.tensor.encode on(#A) %w : tensor<4x4xf32> in !stream.resource<constant>{%c64} -> tensor<4x4xf32, #e2> in !stream.resource<constant>{%s}
  util.global.store %e, @w2 : !stream.resource<constant>
  util.return
}

// A kernel that is also run with something else is there twice.

// CHECK-LABEL: stream.executable private @ex {
// CHECK:       func.func @read
// CHECK-NEXT:  constant
// CHECK-NEXT:  readonly:tensor<4x4xf32, #iree_encoding.specialized<3>>>
// CHECK:       func.func @change
// CHECK-NEXT:  constant
// CHECK-NEXT:  readwrite:tensor<4x4xf32, #iree_encoding.specialized<3>>>
// CHECK-LABEL: stream.executable private @ex_dup0 {
// CHECK:       func.func @read
// CHECK-NEXT:  constant
// CHECK-NEXT:  readonly:tensor<4x4xf32, #encoding>>
stream.executable private @ex {
  stream.executable.export public @read
  stream.executable.export public @change
  builtin.module {
    func.func @read(%a: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32, #e1>>
      return
    }
    func.func @change(%a: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<4x4xf32, #e2>>
      return
    }
  }
}

// CHECK-LABEL: @main(
// CHECK-SAME:  %[[X:.+]]: !stream.resource<*>
// CHECK-DAG:   %[[W1:.+]] = util.global.load immutable @w1
// CHECK-DAG:   %[[W2:.+]] = util.global.load immutable @w2
// CHECK:       %[[OLD1:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #encoding>
// CHECK:       %[[NEW1:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #iree_encoding.specialized<3>>
// CHECK:       %[[OLD2:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #encoding1>
// CHECK:       %[[NEW2:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #iree_encoding.specialized<3>>
util.func public @main(%x: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>) {
  %c64 = arith.constant 64 : index
  %w1 = util.global.load immutable @w1 : !stream.resource<constant>
  %w2 = util.global.load immutable @w2 : !stream.resource<constant>
  %s1 = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e1> : index
  %s2 = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e2> : index

  // CHECK: %[[C1:.+]] = stream.async.clone on(#hal.device.affinity<@a>) %[[W1]] : !stream.resource<constant>{%[[NEW1]]} -> !stream.resource<*>{%[[NEW1]]}
  // CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@read(%[[C1]]) : (tensor<4x4xf32, #iree_encoding.specialized<3>> in !stream.resource<*>{%[[NEW1]]})
  %c1 = stream.async.clone on(#A) %w1 : !stream.resource<constant>{%s1} -> !stream.resource<*>{%s1}
  stream.tensor.dispatch on(#A) @ex::@read(%c1) : (tensor<4x4xf32, #e1> in !stream.resource<*>{%s1}) -> ()

  // CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex_dup0::@read(%[[X]]) : (tensor<4x4xf32, #encoding> in !stream.resource<*>{%[[OLD1]]})
  stream.tensor.dispatch on(#A) @ex::@read(%x) : (tensor<4x4xf32, #e1> in !stream.resource<*>{%s1}) -> ()

  // A result that is stored in it is encoded again for who reads it.
  // CHECK: %[[T:.+]] = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@change(%[[C2:.+]]) : (tensor<4x4xf32, #iree_encoding.specialized<3>> in !stream.resource<*>{%[[NEW2]]}) -> tensor<4x4xf32, #iree_encoding.specialized<3>> in %[[C2]]{%[[NEW2]]}
  // CHECK: %[[S:.+]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<4x4xf32, #encoding1>
  // CHECK: %[[R:.+]] = stream.tensor.encode on(#hal.device.affinity<@a>) %[[T]] : tensor<4x4xf32, #iree_encoding.specialized<3>> in !stream.resource<*>{%[[NEW2]]} -> tensor<4x4xf32, #encoding1> in !stream.resource<*>{%[[S]]}
  %c2 = stream.async.clone on(#A) %w2 : !stream.resource<constant>{%s2} -> !stream.resource<*>{%s2}
  %0 = stream.tensor.dispatch on(#A) @ex::@change(%c2) : (tensor<4x4xf32, #e2> in !stream.resource<*>{%s2}) -> tensor<4x4xf32, #e2> in %c2{%s2}

  // So is what a copy reads.
  // CHECK: %[[U:.+]] = stream.tensor.encode on(#hal.device.affinity<@a>) %[[C2]] : tensor<4x4xf32, #iree_encoding.specialized<3>> in !stream.resource<*>{%[[NEW2]]} -> tensor<4x4xf32, #encoding1> in !stream.resource<*>{%[[OLD2]]}
  // CHECK: %[[V:.+]] = stream.tensor.clone on(#hal.device.affinity<@a>) %[[U]]
  // CHECK: util.return %[[R]], %[[V]]
  %1 = stream.tensor.clone on(#A) %c2 : tensor<4x4xf32, #e2> in !stream.resource<*>{%s2} -> tensor<4x4xf32, #e2> in !stream.resource<*>{%s2}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<*>
}

// What is returned does not say what tensor it is, so nothing changes.

// REMARK: remark{{.*}}@v2 keeps its encoding: 'util.return' reads it without a tensor type
util.global private @v = #stream.parameter.named<"m"::"v"> : !stream.resource<constant>
util.global private @v1 : !stream.resource<constant>
util.global private @v2 : !stream.resource<constant>
// CHECK:      util.initializer
// CHECK:      stream.tensor.encode {{.*}} -> tensor<4x4xf32, #encoding>
// CHECK:      stream.tensor.encode {{.*}} -> tensor<4x4xf32, #encoding1>
util.initializer {
  %c64 = arith.constant 64 : index
  %v = util.global.load immutable @v : !stream.resource<constant>
  %s1 = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e1> : index
  %v1 = stream.tensor.encode on(#A) %v : tensor<4x4xf32> in !stream.resource<constant>{%c64} -> tensor<4x4xf32, #e1> in !stream.resource<constant>{%s1}
  util.global.store %v1, @v1 : !stream.resource<constant>
  %s2 = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e2> : index
  %v2 = stream.tensor.encode on(#A) %v : tensor<4x4xf32> in !stream.resource<constant>{%c64} -> tensor<4x4xf32, #e2> in !stream.resource<constant>{%s2}
  util.global.store %v2, @v2 : !stream.resource<constant>
  util.return
}
util.func public @leaves() -> !stream.resource<constant> {
  %v2 = util.global.load immutable @v2 : !stream.resource<constant>
  util.return %v2 : !stream.resource<constant>
}

// A global that is set to what it holds is no constant.

util.global private @x : !stream.resource<constant>
util.global private @x1 : !stream.resource<constant>
// CHECK:      util.global.load @x
// CHECK:      stream.tensor.encode {{.*}} -> tensor<4x4xf32, #encoding>
util.initializer {
  %c64 = arith.constant 64 : index
  %x = util.global.load @x : !stream.resource<constant>
  util.global.store %x, @x : !stream.resource<constant>
  %s = stream.tensor.sizeof on(#A) tensor<4x4xf32, #e1> : index
  %e = stream.tensor.encode on(#A) %x : tensor<4x4xf32> in !stream.resource<constant>{%c64} -> tensor<4x4xf32, #e1> in !stream.resource<constant>{%s}
  util.global.store %e, @x1 : !stream.resource<constant>
  util.return
}
