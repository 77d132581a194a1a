// RUN: mesh-opt %s --convert-elementwise-to-linalg | filecheck %s

// CHECK-DAG: #map = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #map1 = affine_map<(d0, d1) -> ()>
// CHECK: %[[M:.*]] = tensor.dim %a
// CHECK: %[[E:.*]] = tensor.empty(%[[M]]) : tensor<?x4xi1>
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<?x4xf32>, tensor<?x4xf32>) outs(%[[E]] : tensor<?x4xi1>)
// CHECK:   arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: linalg.generic {indexing_maps = [#map1,
// CHECK:   arith.select %{{.*}}, %{{.*}}, %{{.*}} : i1
// CHECK: arith.constant dense<true> : tensor<2xi1>
func.func @main(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %flag: i1) -> (tensor<?x4xi1>, tensor<2xi1>) {
  %c = arith.cmpf olt, %a, %b : tensor<?x4xf32>
  %s = arith.select %flag, %c, %c : tensor<?x4xi1>
  %d = arith.constant dense<true> : tensor<2xi1>
  return %s, %d : tensor<?x4xi1>, tensor<2xi1>
}
