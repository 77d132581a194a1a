// RUN: mesh-opt %s --split-input-file --verify-diagnostics

util.func private @f(%t: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{tensor<4x?xf32> has 1 dynamic dimensions, but 2 sizes are given}}
  %0 = flow.tensor.clone %t : tensor<4x?xf32>{%n, %n}
  util.return
}

// -----

util.func private @f(%t: tensor<4xf32>, %channel: !flow.channel) {
  // expected-error @+1 {{expected target, result of one type, found tensor<4xf32> and tensor<8xf32>}}
  %0 = "flow.collective.all_gather"(%t, %t, %channel) <{element_type = 9 : i32, tied_operands = [0 : index]}> : (tensor<4xf32>, tensor<4xf32>, !flow.channel) -> tensor<8xf32>
  util.return
}

// -----

flow.func private @callee(%a: tensor<?xf32>) -> tensor<4xf32>

util.func private @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{operands are of (tensor<4xf32>), but '@callee' is of type (tensor<?xf32>) -> tensor<4xf32>}}
  %0 = flow.call @callee(%t) : (tensor<4xf32>) -> tensor<4xf32>
  util.return
}
