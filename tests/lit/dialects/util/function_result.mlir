// Results without parentheses have no attributes: the brace behind them opens the body.
// RUN: mesh-opt %s --verify-roundtrip | filecheck %s

// CHECK: util.func public @plain(%a: index) -> index {
util.func public @plain(%a: index) -> index {
  util.return %a : index
}

// CHECK: util.func public @noted(%a: index) -> (index {x.note}) {
util.func public @noted(%a: index) -> (index {x.note}) {
  util.return %a : index
}

// CHECK: util.func public @several(%a: index) -> (index, index) {
util.func public @several(%a: index) -> index, index {
  util.return %a, %a : index, index
}

// CHECK: util.func private @declared(%arg0: index, %arg1: tensor<4xf32>) -> (index, tensor<4xf32>)
util.func private @declared(%a: index, %b: tensor<4xf32>) -> index, tensor<4xf32>

// CHECK: util.func private @stored(%a: index, %b: tensor<4xf32>) -> (%b as tensor<?xf32>, %b, index) attributes {x.note} {
util.func private @stored(%a: index, %b: tensor<4xf32>) -> %b as tensor<?xf32>, %b, index attributes {x.note} {
  %0 = tensor.cast %b : tensor<4xf32> to tensor<?xf32>
  util.return %0, %b, %a : tensor<?xf32>, tensor<4xf32>, index
}

// So are results behind the arrow of a call or a dispatch.

// CHECK-LABEL: util.func public @calls
util.func public @calls(%r: !stream.resource<*>, %a: tensor<4xf32>, %n: index) {
  // CHECK: util.call @several(%n) : (index) -> (index, index)
  %0:2 = util.call @several(%n) : (index) -> index, index
  // CHECK: flow.dispatch @e::@k(%a) : (tensor<4xf32>) -> (tensor<?xf32>{%n}, tensor<4xf32>)
  %1:2 = flow.dispatch @e::@k(%a) : (tensor<4xf32>) -> tensor<?xf32>{%n}, tensor<4xf32>
  // CHECK: stream.async.dispatch @e::@k(%r[%n to %n for %n]) : (!stream.resource<*>{%n}) -> (!stream.resource<*>{%n}, %r{%n})
  %2:2 = stream.async.dispatch @e::@k(%r[%n to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}, %r{%n}
  // CHECK: stream.tensor.dispatch @e::@k(%r) : (tensor<4xf32> in !stream.resource<*>{%n}) -> (tensor<4xf32> in !stream.resource<*>{%n}, tensor<4xf32> in %r{%n})
  %3:2 = stream.tensor.dispatch @e::@k(%r) : (tensor<4xf32> in !stream.resource<*>{%n}) -> tensor<4xf32> in !stream.resource<*>{%n}, tensor<4xf32> in %r{%n}
  util.return
}
