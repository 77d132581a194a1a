// RUN: not mesh-run %s --input=2xf32=1 2>&1 | filecheck %s

// CHECK: deadlock.mlir:13:10: error: 'shard.all_reduce' op must match on all devices of its group: device 0 has all_reduce sum of tensor<2xf32> here; device 1 has ended
// CHECK: deadlock.mlir:18:3: note: device 1 has ended

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
