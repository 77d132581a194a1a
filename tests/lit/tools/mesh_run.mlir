// RUN: mesh-run %s --function=bias --input=2x3xf32=1,2,3,4,5,6 --input=3xf32=10 | filecheck %s
// RUN: mesh-run %s --function=bias --input=2x3xf32=1 --input=3xf32="1 2 3" --output_max_element_count=4 | filecheck %s --check-prefix=ELIDED
// RUN: mesh-run %s --function=count --input=f32=1.5 --input=-7 | filecheck %s --check-prefix=SCALAR
// RUN: not mesh-run %s --function=bias --input=2x3xf32=1 --input=4xf32=0 2>&1 | filecheck %s --check-prefix=SHAPE
// RUN: not mesh-run %s --function=divide --input=1 --input=0 2>&1 | filecheck %s --check-prefix=PLACE

// CHECK: EXEC @bias
// CHECK-NEXT: result[0]: hal.buffer_view
// CHECK-NEXT: 2x3xf32=[11 12 13][14 15 16]

// ELIDED: 2x3xf32=[2 3 4][2...]

// SCALAR: EXEC @count
// SCALAR-NEXT: result[0]: f32=1.5
// SCALAR-NEXT: result[1]: i32=-7

// SHAPE: mesh-run: input 1 (4xf32=0) has shape 4, expected 3xf32

// PLACE: mesh_run.mlir:{{[0-9]+}}:8: error: 'arith.divsi' op divides by zero

func.func @bias(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

func.func @count(%x: f32, %n: i8) -> (f32, i8) {
  return %x, %n : f32, i8
}

func.func @divide(%x: i32, %y: i32) -> i32 {
  %r = arith.divsi %x, %y : i32
  return %r : i32
}
