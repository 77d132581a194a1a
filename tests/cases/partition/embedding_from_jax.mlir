#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["dp"=2, "tp"=4]> {stablehlo.mesh = {axes = [{name = "dp", size = 2 : i64}, {name = "tp", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<1024x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, %arg1: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}]>}) -> (tensor<64x128xf32> {jax.result_info = "result"}) {
    %c1023 = arith.constant 1023 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<1024> : tensor<i32>
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<64xi32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_0 : tensor<i32>) outs(%0 : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<64xi32>
    %2 = tensor.empty() : tensor<64xi1>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %1 : tensor<64xi32>, tensor<64xi32>) outs(%2 : tensor<64xi1>) {
    ^bb0(%in: i32, %in_1: i32, %out: i1):
      %14 = arith.cmpi slt, %in, %in_1 : i32
      linalg.yield %14 : i1
    } -> tensor<64xi1>
    %4 = tensor.empty() : tensor<64xi32>
    %5 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst : tensor<i32>) outs(%4 : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<64xi32>
    %6 = tensor.empty() : tensor<64xi32>
    %7 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %5 : tensor<64xi32>, tensor<64xi32>) outs(%6 : tensor<64xi32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %14 = arith.addi %in, %in_1 : i32
      linalg.yield %14 : i32
    } -> tensor<64xi32>
    %8 = tensor.empty() : tensor<64xi32>
    %9 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel"]} ins(%3, %7, %arg1 : tensor<64xi1>, tensor<64xi32>, tensor<64xi32>) outs(%8 : tensor<64xi32>) {
    ^bb0(%in: i1, %in_1: i32, %in_2: i32, %out: i32):
      %14 = arith.select %in, %in_1, %in_2 : i32
      linalg.yield %14 : i32
    } -> tensor<64xi32>
    %10 = tensor.empty() : tensor<64x1xi32>
    %11 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<64xi32>) outs(%10 : tensor<64x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<64x1xi32>
    %12 = tensor.empty() : tensor<64x128xf32>
    %13 = linalg.generic {indexing_maps = [#map3], iterator_types = ["parallel", "parallel"]} outs(%12 : tensor<64x128xf32>) {
    ^bb0(%out: f32):
      %14 = linalg.index 0 : index
      %15 = linalg.index 1 : index
      %extracted = tensor.extract %11[%14, %c0] : tensor<64x1xi32>
      %16 = arith.index_cast %extracted : i32 to index
      %17 = arith.maxsi %16, %c0 : index
      %18 = arith.minsi %17, %c1023 : index
      %extracted_1 = tensor.extract %arg0[%18, %15] : tensor<1024x128xf32>
      linalg.yield %extracted_1 : f32
    } -> tensor<64x128xf32>
    return %13 : tensor<64x128xf32>
  }
}
