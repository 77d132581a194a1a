// RUN: mesh-opt %s --compile | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='builtin.module(spmd,data-tile)' | filecheck %s

#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @d = #hal.device.target<"local", [#exe]> : !hal.device
shard.grid @g(shape = 2)

// One process multiplies its half of `k` on packed tiles, and adds the other's sum.

// CHECK-LABEL: stream.executable private @main_dispatch_0
// CHECK: linalg.mmt4d ins({{.*}} : tensor<1x8x8x1xf32>, tensor<2x8x16x1xf32>)
// CHECK-LABEL: stream.executable private @main_dispatch_1
// CHECK: shard.all_reduce {{.*}} on @g grid_axes = [0] : tensor<8x32xf32>
// CHECK-LABEL: util.func public @main(
// CHECK-SAME: shard.boundary = {global_type = tensor<8x16xf32>, grid = @g
// CHECK: stream.async.dispatch {{.*}}@main_dispatch_0
// CHECK: stream.async.dispatch {{.*}}@main_dispatch_1
// CHECK: stream.tensor.export {{.*}} tensor<8x32xf32>
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x16xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
