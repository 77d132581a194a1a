// A layer on two processes, each on a device of the target with tiles of 8x8. The columns of the
// product are split, so that each process has a part of every row; the rows of the input are split
// before.

util.global private @device = #hal.device.target<"local", [#hal.executable.target<"acme", "acme-binary", {iree.encoding.resolver = #acme.solver<8>}>]> : !hal.device
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@device>, #hal.device.affinity<@device>]}

func.func @main(%x: tensor<17x40xf32>, %w: tensor<40x33xf32>) -> tensor<17xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %first = arith.constant 1 : index
  %xs = shard.shard %x to %rows : tensor<17x40xf32>
  %p = acme.add_positions %xs from %first : tensor<17x40xf32> -> tensor<17x40xf32>
  %ws = shard.shard %w to %columns : tensor<40x33xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<17x33xf32>
  %c = linalg.fill ins(%zero : f32) outs(%empty : tensor<17x33xf32>) -> tensor<17x33xf32>
  %y = linalg.matmul ins(%p, %ws : tensor<17x40xf32>, tensor<40x33xf32>)
      outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  %ys = shard.shard %y to %columns : tensor<17x33xf32>
  %e = acme.row_energy %ys : tensor<17x33xf32> -> tensor<17xf32>
  func.return %e : tensor<17xf32>
}
