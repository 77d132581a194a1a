// The only annotations are calls of @Sharding: passes on shardings read them, too.
// RUN: mesh-opt %s --sharding-propagation | filecheck %s --check-prefixes=ALL,ANNOTATE
// RUN: mesh-opt %s --shard-partition | filecheck %s --check-prefixes=ALL,PARTITION
// RUN: mesh-opt %s --strip-annotations | filecheck %s --check-prefixes=ALL,STRIP

// ALL: shard.grid @mesh(shape = 2)
// ALL-NEXT: func.func @main(%x: tensor<
// PARTITION-SAME: 3xf32> {shard.boundary
// ANNOTATE: shard.shard %x to
// STRIP-NEXT: return %x
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2]0,1}"} : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
