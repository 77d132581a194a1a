// RUN: mesh-opt %s '--pass-pipeline=builtin.module(data-tile{data-tiling=false})' --remarks=encoding 2>&1 | filecheck %s
// RUN: mesh-run %s '--pass-pipeline=data-tile{data-tiling=false}' --device=local-task --random-inputs=0 --check | filecheck %s --check-prefix=RUNS
// RUN: mesh-run %s --pass-pipeline=data-tile --device=local-task --random-inputs=0 --check | filecheck %s --check-prefix=RUNS

// What a target names as its solver, and is none, is ignored: nothing gets tiles.

// CHECK-COUNT-1: remark: {{.*}} runs on a target whose iree.encoding.resolver cannot lay out tensors: "junk"; it is ignored
// CHECK-NOT: remark
// CHECK: linalg.matmul
// RUNS: CHECK @main agrees with the reference
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = "junk"}>]> : !hal.device
func.func @main(%x: tensor<4x5xf32>, %y: tensor<5x6xf32>, %z: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x5xf32>) {
  %0 = linalg.matmul ins(%x, %y : tensor<4x5xf32>, tensor<5x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = linalg.exp ins(%x : tensor<4x5xf32>) outs(%x : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x5xf32>
}
