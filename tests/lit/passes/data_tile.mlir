// RUN: mesh-opt %s --data-tile | filecheck %s --check-prefix=TILED
// RUN: mesh-opt %s '--pass-pipeline=builtin.module(data-tile{data-tiling=false})' | filecheck %s --check-prefix=PLAIN
// RUN: mesh-opt %s --compile | filecheck %s --check-prefix=TILED

#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @d = #hal.device.target<"local", [#exe]> : !hal.device

// The left operand takes 16 rows for its 4, as does the result; the weight is encoded beforehand.

// TILED: stream.executable private @_encoding_0
// TILED: util.global private @w__encoded
// TILED: util.initializer
// TILED: util.global.store {{.*}}, @w__encoded
// TILED-LABEL: util.func public @main(
// TILED: stream.tensor.import
// TILED: stream.async.dispatch {{.*}} -> !stream.resource<*>
// TILED: util.global.load @w__encoded
// TILED: stream.async.dispatch {{.*}}@main_dispatch_0
// TILED: stream.tensor.export

// PLAIN-NOT: encod{{(ing|ed)}}_0
// PLAIN-LABEL: util.func public @main(
// PLAIN: stream.async.dispatch {{.*}}@main_dispatch_0
// PLAIN-NOT: stream.async.dispatch
// PLAIN: stream.tensor.export
util.global private @w = dense<2.0> : tensor<5x6xf32>
func.func @main(%a: tensor<4x5xf32>) -> tensor<4x6xf32> {
  %w = util.global.load @w : tensor<5x6xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.matmul ins(%a, %w : tensor<4x5xf32>, tensor<5x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
