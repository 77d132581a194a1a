// What has no native kernel runs in the interpreter, and a remark says so before anything runs.
// RUN: mesh-opt %s --remarks=backend --verify-diagnostics
// RUN: mesh-opt %s --remarks=all --verify-diagnostics
// RUN: mesh-run %s --backend=native --remarks=backend --function=bodies --input=1 --input=4xf32 2>&1 | filecheck %s
// RUN: not mesh-run %s --backend=interpreter --remarks=backend --function=bodies 2>&1 | filecheck %s --check-prefix=INTERPRETER

// INTERPRETER: --remarks=backend needs --backend=native or --backend=mpi

// CHECK: remarks.mlir:[[#]]:10: remark: 'linalg.map' op [backend] has no kernel and runs in the interpreter
// CHECK: EXEC @bodies
func.func @bodies(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %z to %n step %one iter_args(%y = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    // expected-remark @+1 {{runs in the interpreter: kernels do not support 'scf.while' in their bodies}}
    %0 = linalg.map ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) (%p: f32, %q: f32) {
      %w = scf.while (%v = %p) : (f32) -> f32 {
        %c = arith.cmpf olt, %v, %v : f32
        scf.condition(%c) %v : f32
      } do {
      ^bb0(%v: f32):
        scf.yield %v : f32
      }
      linalg.yield %w : f32
    }
    scf.yield %0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

func.func @forms(%x: tensor<?x4xf32>, %k: tensor<2x3xf32>, %t: tensor<3xf32>, %u: tensor<2xui8>) -> (tensor<?x6xf32>, tensor<2xui8>, tensor<4x5xf32>) {
  // expected-remark @+1 {{runs in the interpreter: its kernels need sizes that are known before they run}}
  %0 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %t[%j] : tensor<3xf32>
    tensor.yield %v : f32
  } : tensor<?x4xf32> to tensor<?x6xf32>
  // expected-remark @+1 {{runs in the interpreter: kernels do not support it}}
  %1 = tosa.reverse %u {axis = 0 : i32} : (tensor<2xui8>) -> tensor<2xui8>
  // expected-remark @+1 {{runs in the interpreter: its kernels do not support its attributes}}
  %2 = tensor.pad %k low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %t[%j] : tensor<3xf32>
    tensor.yield %v : f32
  } : tensor<2x3xf32> to tensor<4x5xf32>
  return %0, %1, %2 : tensor<?x6xf32>, tensor<2xui8>, tensor<4x5xf32>
}

func.func @native(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
