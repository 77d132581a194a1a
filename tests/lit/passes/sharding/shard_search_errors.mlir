// RUN: not mesh-opt %s --shard-search='grid=2x4 devices=8' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not mesh-opt %s --shard-search='devices=1' 2>&1 | filecheck %s --check-prefix=FEW
// RUN: not mesh-opt %s --shard-search 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not mesh-opt %s --shard-search='grid=2x4 memory=lots' 2>&1 | filecheck %s --check-prefix=MEMORY
// RUN: not mesh-opt %s --shard-search='grid=2 memory=100B' 2>&1 | filecheck %s --check-prefix=FULL
// RUN: not mesh-opt %s --shard-search='grid=4x4' 2>&1 | filecheck %s --check-prefix=LARGE
// RUN: not mesh-opt %s --shard-search='grid=4x4 machine=gpu' 2>&1 | filecheck %s --check-prefix=MACHINE
// RUN: not mesh-opt %s --shard-search='grid=4 time-limit=0' 2>&1 | filecheck %s --check-prefix=TIME
// RUN: not mesh-opt %s -p 'shard-annotate{grid=4 args=x:[[0]]},shard-search{grid=2x4}' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: mesh-opt %s --shard-search='grid=4x4 machine=cpu-cluster objective=bytes' --remarks=sharding 2>&1 | filecheck %s --check-prefix=REMARKS

// BOTH: options 'grid' and 'devices' exclude each other: use one
// FEW: option 'devices' is 1, expected 2 to 1048576
// NONE: needs the option 'grid': the program has none
// MEMORY: option 'memory' is 'lots', expected bytes, as 16GB or 512MiB
// FULL: shard_search_errors.mlir:26:1: error: 'func.func' op has no sharding that fits into 100 bytes of each device; the best one found needs 128
// LARGE: machine 'gpu-host' has 8 devices, but a grid of shape 4x4 needs 16
// MACHINE: there is no machine 'gpu', expected gpu-host, tpu-torus, cpu-cluster or a file that ends in .toml
// TIME: option 'time-limit' is 0.0, expected seconds above 0
// OTHER: 'shard.shard' op places a tensor on @grid, but shardings are searched on @grid_0; use grid=@grid
// REMARKS: remark: 'func.func' op [sharding] on a grid of 4x4 costs 0 bytes sent, 16 bytes held
// REMARKS: note: before: 0 bytes sent, 256 bytes held
// REMARKS: note: the plan is optimal in the model
// REMARKS: remark: 'func.func' op [sharding] %x is placed {{.*}}; without it: 30 operations more

func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %y = math.exp %x : tensor<32xf32>
  return %y : tensor<32xf32>
}
