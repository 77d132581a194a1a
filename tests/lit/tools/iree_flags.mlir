// RUN: mesh-opt %s --split-input-file --iree-stream-partitioning-favor=debug --iree-stream-schedule-execution --iree-stream-schedule-concurrency | filecheck %s --check-prefix=DEBUG
// RUN: mesh-opt %s --split-input-file --iree-stream-partitioning-favor=max-concurrency --iree-stream-schedule-execution --iree-stream-schedule-concurrency | filecheck %s --check-prefix=MOST
// RUN: mesh-opt %s --split-input-file --iree-stream-resource-min-offset-alignment=256 --iree-stream-layout-slices | filecheck %s --check-prefix=ALIGNED
// RUN: mesh-opt %s --split-input-file --iree-codegen-materialize-device-encoding --iree-llvmcpu-enable-scalable-vectorization | filecheck %s --check-prefix=SCALED
// RUN: mesh-opt %s --split-input-file --iree-codegen-materialize-device-encoding | filecheck %s --check-prefix=FIXED
// RUN: mesh-opt %s --split-input-file --iree-rocm-target gfx942 --iree-hal-memoization=false --remarks=backend 2>&1 >%t | filecheck %s --check-prefix=IGNORED
// RUN: not mesh-opt %s --iree-hal-dump-executable-sources-to=- 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: not mesh-opt %s --iree-rocm-target 2>&1 | filecheck %s --check-prefix=BARE

// IGNORED: --iree-rocm-target is ignored: there is no GPU backend
// IGNORED: --iree-hal-memoization is ignored: devices are those that the module names
// REFUSED: there is no option or pass '--iree-hal-dump-executable-sources-to'
// BARE: option '--iree-rocm-target' needs a value

// DEBUG-LABEL: @two
// DEBUG: stream.async.execute
// DEBUG-NOT: stream.async.concurrent
// MOST-LABEL: @two
// MOST: stream.async.execute
// MOST: stream.async.concurrent
util.func public @two(%n: index, %z: i32) -> (!stream.resource<external>, !stream.resource<external>) {
  %0 = stream.async.splat %z : i32 -> !stream.resource<external>{%n}
  %1 = stream.async.splat %z : i32 -> !stream.resource<external>{%n}
  util.return %0, %1 : !stream.resource<external>, !stream.resource<external>
}

// -----

// What the module says goes before the flag.
// MOST-LABEL: @said
// MOST-NOT: stream.async.concurrent
module attributes {stream.partitioning = #stream.partitioning_config<"debug">} {
  util.func public @said(%n: index, %z: i32) -> (!stream.resource<external>, !stream.resource<external>) {
    %0 = stream.async.splat %z : i32 -> !stream.resource<external>{%n}
    %1 = stream.async.splat %z : i32 -> !stream.resource<external>{%n}
    util.return %0, %1 : !stream.resource<external>, !stream.resource<external>
  }
}

// -----

// ALIGNED-LABEL: @slices
// ALIGNED: arith.constant 256 : index
util.func public @slices() -> (index, index, index) {
  %c16 = arith.constant 16 : index
  %0:3 = stream.resource.pack slices({
    [0, 1] = %c16,
    [0, 1] = %c16
  }) : index
  util.return %0#0, %0#1, %0#2 : index, index, index
}

// -----

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#rhs = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, ?, ?]>
// Tiles of a size that only the machine knows count as the largest.
// SCALED-LABEL: @scalable
// SCALED: linalg.pack {{.*}} inner_tiles = [128, 1]
// FIXED-LABEL: @scalable
// FIXED: linalg.pack {{.*}} inner_tiles = [8, 1]
func.func @scalable(%a: tensor<?x?xf32>, %m: index, %n: index, %k: index) -> tensor<?x?xf32, #rhs> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu_features = "+sve", target_triple = "aarch64-xyz-xyz", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %0 = iree_encoding.set_encoding %a encoding_dims{%m, %n, %k} : tensor<?x?xf32> -> tensor<?x?xf32, #rhs>
  return %0 : tensor<?x?xf32, #rhs>
}
