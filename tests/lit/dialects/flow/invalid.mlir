// RUN: mesh-opt %s --split-input-file --verify-diagnostics

util.func private @f(%t: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{value set has 1 dynamic dimensions but only 2 dimension values are attached}}
  %0 = flow.tensor.clone %t : tensor<4x?xf32>{%n, %n}
  util.return
}

// -----

util.func private @f(%t: tensor<4xf32>, %channel: !flow.channel) {
  // expected-error @+1 {{expected target, result to have the same type, found tensor<4xf32> and tensor<8xf32>}}
  %0 = "flow.collective.all_gather"(%t, %t, %channel) <{element_type = 9 : i32, tied_operands = [0 : index]}> : (tensor<4xf32>, tensor<4xf32>, !flow.channel) -> tensor<8xf32>
  util.return
}

// -----

flow.func private @callee(%a: tensor<?xf32>) -> tensor<4xf32>

util.func private @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{function type mismatch; expected '(tensor<4xf32>) -> tensor<4xf32>' but callee is '(tensor<?xf32>) -> tensor<4xf32>'}}
  %0 = flow.call @callee(%t) : (tensor<4xf32>) -> tensor<4xf32>
  util.return
}

// -----

// expected-error @+1 {{symbol declaration cannot have public visibility}}
flow.func public @declared(%a: tensor<4xf32>) -> tensor<4xf32>

// -----

util.func private @constant() {
  // expected-error @+1 {{failed to verify that all of {value, result} have same type}}
  %0 = "flow.tensor.constant"() <{value = dense<4> : tensor<4xi32>}> : () -> tensor<?xi32>
  util.return
}

// -----

util.func private @region(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand types do not match with parent results}}
  %0 = flow.dispatch.region -> (tensor<5xf32>) {
    flow.return %x : tensor<4xf32>
  }
  util.return
}

// -----

util.func private @workload(%x: tensor<4xf32>, %w: index) {
  // expected-error @+1 {{workload operands and workgroup count args mismatch (2 vs 1)}}
  %0 = flow.dispatch.region[%w, %w] -> (tensor<4xf32>) {
    flow.return %x : tensor<4xf32>
  } count(%a: index) -> (index, index, index) {
    flow.return %a, %a, %a : index, index, index
  }
  util.return
}
