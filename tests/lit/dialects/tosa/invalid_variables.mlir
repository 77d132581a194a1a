// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @f() -> tensor<4xf32> {
  // expected-error @+1 {{'tosa.variable_read' op 's' has not been declared by 'tosa.variable'}}
  %v = tosa.variable_read @s : tensor<4xf32>
  return %v : tensor<4xf32>
}

// -----

tosa.variable @s = dense<1> : tensor<i32>
func.func @f() -> tensor<i64> {
  // expected-error @+1 {{require same element type for 'output1' ('i64') and the input tensor ('i32')}}
  %v = tosa.variable_read @s : tensor<i64>
  return %v : tensor<i64>
}

// -----

tosa.variable @s = dense<1> : tensor<i32>
func.func @f(%x: tensor<2xi32>) {
  // expected-error @+1 {{require same shapes for 'input1' ('tensor<2xi32>') and the input tensor ('tensor<i32>')}}
  tosa.variable_write @s, %x : tensor<2xi32>
  return
}

// -----

// Upstream accepts this.
// expected-error @+1 {{require same shapes for 'initial_value' ('tensor<3xf32>') and the input tensor ('tensor<4xf32>')}}
"tosa.variable"() <{sym_name = "s", type = f32, var_shape = dense<4> : tensor<1xindex>, initial_value = dense<7.0> : tensor<3xf32>}> : () -> ()

// -----

// expected-error @+1 {{expected ranked type}}
tosa.variable @s : tensor<*xi32>
