// RUN: mesh-opt %S/../../../cases/models/transformer_block_sharded.mlir --convert-sdy-to-shard --sharding-propagation --shard-complete --shard-partition --shard-simplify | filecheck %s

// Annotated on its arguments only, data and tensor parallel, the block ends with two all-reduces along
// the tensor-parallel axis, one after attention and one after the MLP. Nothing is gathered.

// CHECK-NOT: shard.all_gather
// CHECK-COUNT-2: shard.all_reduce {{.*}} grid_axes = [1] : tensor<1x32x64xf32>
// CHECK-NOT: shard.all_
