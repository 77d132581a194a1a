// A program is compiled to a file, and run from it.
// RUN: mesh-opt %s -p spmd --emit=program -o %t.meshprog --remarks=backend 2>&1 | filecheck %s --check-prefix=SAVED
// RUN: mesh-run %t.meshprog --function=gelu --input=4x2xf32=1,-1,2,-2,0,3,0.5,-0.5 | filecheck %s --check-prefix=GELU
// RUN: mesh-run %t.meshprog --function=gelu --input=4x2xf32=1 --expected_output=4x2xf32=0.761594 | filecheck %s --check-prefix=EXPECTED
// RUN: mesh-run %t.meshprog --function=gelu --random-inputs=0 --check --workers=1 | filecheck %s --check-prefix=CHECK
// RUN: mesh-run %t.meshprog --function=gelu --random-inputs=0 --backend=interpreter --check | filecheck %s --check-prefix=CHECK
// RUN: mesh-run %t.meshprog --function=loop --input=2xf32=2,3 2>&1 | filecheck %s --check-prefix=PYTHON
// RUN: not mesh-run %t.meshprog --function=at --input=2xf32=1 --input=5 2>&1 | filecheck %s --check-prefix=PLACE
// RUN: not mesh-run %t.meshprog --function=at --input=2xf32=1 --input=f32=5 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not mesh-run %t.meshprog 2>&1 | filecheck %s --check-prefix=WHICH
// RUN: not mesh-run %t.meshprog -p spmd 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: not mesh-run %t.meshprog --parameters=a.npz 2>&1 | filecheck %s --check-prefix=PARAMETERS
// RUN: not mesh-run %t.meshprog --device=local-task 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: mesh-run %t.meshprog --function=gelu --simulate --machine=gpu-host | filecheck %s --check-prefix=SIMULATED
// RUN: not mesh-run %t.meshprog --mlir-timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: not mesh-run %t.none.meshprog 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not mesh-opt %s --emit=program 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not mesh-opt %s --emit=program -o %t.none/p.meshprog 2>&1 | filecheck %s --check-prefix=FOLDER

// SAVED: saved_program.mlir:{{[0-9]+}}:8: remark: 'linalg.map' op [backend] runs in Python at each call: a saved program compiles @loop when it is run

// GELU: EXEC @gelu
// GELU-NEXT: result[0]: hal.buffer_view
// GELU-NEXT: 4x2xf32=[0.761594 0.761594][1.92806 1.92806][0 2.98516][0.231059 0.231059]
// EXPECTED: [SUCCESS] all function outputs matched their expected values.
// CHECK: CHECK @gelu on 2 devices agrees with the reference
// PYTHON: remark: {{.*}}.meshprog is compiled again from its IR: @loop has no native code of its own: {{.*}}saved_program.mlir:{{[0-9]+}}:8: 'linalg.map' op runs in Python at each call
// PYTHON: 2xf32=8 9
// PLACE: saved_program.mlir:{{[0-9]+}}:8: error: 'tensor.extract' op has index 5 in dimension 0, which has extent 2
// PLACE-NEXT: %0 = tensor.extract %a[%i] : tensor<2xf32>
// TYPE: mesh-run: input 1 (f32=5) is of type f32, expected i64
// WHICH: mesh-run: --function= must say which function to run; there are @gelu, @loop, @at
// PASSES: mesh-run: '{{.*}}.meshprog' is compiled: passes cannot be run on it
// PARAMETERS: mesh-run: '{{.*}}.meshprog' has its parameters: --parameters cannot be given
// DEVICE: mesh-run: '{{.*}}.meshprog' was saved for its devices: --device cannot be given
// SIMULATED: SIMULATED @gelu on gpu-host: 2 devices, @g of 2; nothing was run
// SIMULATED-NOT: EXEC
// TIMING: mesh-run: '{{.*}}.meshprog' is compiled: there are no passes to watch
// NONE: mesh-run: cannot read '{{.*}}.none.meshprog': No such file or directory
// NAME: mesh-opt: --emit=program writes one file, which -o must name
// FOLDER: mesh-opt: cannot write '{{.*}}': No such file or directory

shard.grid @g(shape = 2)

func.func @gelu(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %a to %s annotate_for_users : tensor<4x2xf32>
  %1 = math.tanh %0 : tensor<4x2xf32>
  %2 = arith.mulf %1, %0 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

func.func @loop(%a: tensor<2xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.map ins(%a : tensor<2xf32>) outs(%e : tensor<2xf32>) (%x: f32, %y: f32) {
    %w = scf.while (%v = %x) : (f32) -> f32 {
      %limit = arith.constant 8.0 : f32
      %c = arith.cmpf olt, %v, %limit : f32
      scf.condition(%c) %v : f32
    } do {
    ^bb0(%v: f32):
      %next = arith.addf %v, %x : f32
      scf.yield %next : f32
    }
    linalg.yield %w : f32
  }
  return %0 : tensor<2xf32>
}

func.func @at(%a: tensor<2xf32>, %i: index) -> f32 {
  %0 = tensor.extract %a[%i] : tensor<2xf32>
  return %0 : f32
}
