// RUN: not mesh-opt %s -p "shard-annotate{grid=2x2 args=y:[[0]]}" 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not mesh-opt %s -p "shard-annotate{grid=2x2 args=x:[0]}" 2>&1 | filecheck %s --check-prefix=LISTS
// RUN: not mesh-opt %s -p "shard-annotate{args=x:[[0]]}" 2>&1 | filecheck %s --check-prefix=GRID
// RUN: not mesh-opt %s -p "shard-annotate{grid=0x2 args=x:[[0]]}" 2>&1 | filecheck %s --check-prefix=EXTENTS
// RUN: not mesh-opt %s -p "shard-annotate{grid=@g args=x:[[0]]}" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not mesh-opt %s -p "shard-annotate{grid=2x2 args=x:[[7]]}" 2>&1 | filecheck %s --check-prefix=AXIS
// RUN: not mesh-opt %s -p "shard-annotate{grid=2x2 args=x:[[],[0]]}" 2>&1 | filecheck %s --check-prefix=RANK
// RUN: not mesh-opt %s -p "shard-annotate{grid=2 args=x:[[0]]},shard-annotate{args=x:[[]]}" 2>&1 | filecheck %s --check-prefix=TWICE

// NONE: option 'args' has the pattern 'y', which matches no tensor of @main that earlier entries leave; names are x
// LISTS: option 'args' has the entry 'x:[0]', expected a pattern and the axes of each dimension, as w*:{{\[\[0\],\[\]\]}}
// GRID: needs the option 'grid': the program has none
// EXTENTS: option 'grid' is '0x2', expected extents, as 2x4, or @name
// NAME: there is no grid @g; the program has none
// AXIS: 'func.func' op cannot be annotated by 'x' of shard-annotate with {{\[\[7\]\]}} for a tensor<8xf32>: 0-based grid axis index 7 is out of bounds
// RANK: cannot be annotated by 'x' of shard-annotate with {{\[\[\], \[0\]\]}} for a tensor<8xf32>: sharding splits dimension 1 of a tensor of rank 1
// TWICE: 'shard.shard' op annotates a value that 'x' of shard-annotate annotates, too; remove one of them
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
