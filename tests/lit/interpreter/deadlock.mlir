// RUN: not mesh-run %s --input=2xf32=1 2>&1 | filecheck %s

// CHECK: deadlock.mlir:[[LINE:.*]]:10: error: 'shard.all_reduce' op is waited at by device 0, but the devices of its group never meet there
// CHECK: note: device 0 waits at shard.all_reduce for [0, 1]
// CHECK: note: finished already: 1

shard.grid @g(shape = 2)

func.func @one_sided(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0 : index
  %process = shard.process_linear_index on @g : index
  %first = arith.cmpi eq, %process, %zero : index
  %r = scf.if %first -> (tensor<2xf32>) {
    %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %0 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}
