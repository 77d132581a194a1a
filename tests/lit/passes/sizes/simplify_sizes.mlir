// RUN: mesh-opt %s --simplify-sizes | filecheck %s
// RUN: mesh-run %s --function=shapes --input=4x5x6xf32=2 --input=i32=20 -p simplify-sizes --backend=interpreter --check
// RUN: mesh-run %s --function=reads --input=4x1xf32=2 --input=3x4xf32=3 -p simplify-sizes --check
// RUN: mesh-run %s --function=reads --input=1x1xf32=2 --input=3x4xf32=3 -p simplify-sizes --check
// RUN: mesh-run %s --function=views --input=4x6xf32=2 -p simplify-sizes --backend=interpreter --check

// Elements of a shape are known where it is put together of numbers, and so is a size that went
// through them. Of %n nothing is known: the run looks at it.
// CHECK-LABEL: func.func @shapes(%x: tensor<4x?x6xf32>, %n: tensor<i32>)
// CHECK:         %[[SIZE:.*]] = tensor.dim %x, %{{.*}} : tensor<4x?x6xf32>
// CHECK:         %[[N:.*]] = tensor.extract %n[] : tensor<i32>
// CHECK-NOT:     tensor.concat
// CHECK:         tensor.expand_shape %x {{\[\[0\], \[1\], \[2, 3\]\]}} output_shape [4, %[[SIZE]], 2, 3]
// CHECK:         arith.muli %number, %[[N]] : i32
// CHECK:         tensor.reshape %x
func.func @shapes(%x: tensor<4x?x6xf32>, %n: tensor<i32>) -> (tensor<4x?x2x3xf32>, tensor<?x6xf32>) {
  %one = arith.constant 1 : index
  %four = arith.constant dense<4> : tensor<1xi32>
  %rest = arith.constant dense<[2, 3]> : tensor<2xi32>
  %size = tensor.dim %x, %one : tensor<4x?x6xf32>
  %number = arith.index_cast %size : index to i32
  %scalar = tensor.from_elements %number : tensor<i32>
  %own = tensor.expand_shape %scalar [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %shape = tensor.concat dim(0) %four, %own, %rest : (tensor<1xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<4xi32>
  %a = tensor.reshape %x(%shape) : (tensor<4x?x6xf32>, tensor<4xi32>) -> tensor<4x?x2x3xf32>
  %five = arith.constant dense<5> : tensor<i32>
  %times = arith.muli %scalar, %n : tensor<i32>
  %rows = arith.divsi %times, %five : tensor<i32>
  %t = tensor.extract %rows[] : tensor<i32>
  %t_index = arith.index_cast %t : i32 to index
  %six = arith.constant 6 : index
  %other = tensor.from_elements %t_index, %six : tensor<2xindex>
  %b = tensor.reshape %x(%other) : (tensor<4x?x6xf32>, tensor<2xindex>) -> tensor<?x6xf32>
  func.return %a, %b : tensor<4x?x2x3xf32>, tensor<?x6xf32>
}

// What a body reads at the loops' own indices becomes an operand; a row that is known, too. The last
// loop has another size than the dimension that it reads: only where this is 1 is the read in bounds.
// CHECK-LABEL: func.func @reads
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<?x1xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[ROW:.*]], #{{.*}}], {{.*}} ins(%y : tensor<3x?xf32>)
// CHECK:         linalg.generic
// CHECK-NOT:     ins
// CHECK:         tensor.extract %x
func.func @reads(%x: tensor<?x1xf32>, %y: tensor<3x?xf32>) -> (tensor<?x5xf32>, tensor<?xf32>, tensor<?x5xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = tensor.dim %x, %zero : tensor<?x1xf32>
  %m = tensor.dim %y, %one : tensor<3x?xf32>
  %is_one = arith.cmpi eq, %n, %one : index
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %at = arith.select %is_one, %zero, %i : index
    %v = tensor.extract %x[%at, %zero] : tensor<?x1xf32>
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  %f = tensor.empty(%m) : tensor<?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%f : tensor<?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %y[%two, %i] : tensor<3x?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %g = tensor.empty(%m) : tensor<?x5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%g : tensor<?x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %at = arith.select %is_one, %zero, %i : index
    %v = tensor.extract %x[%at, %zero] : tensor<?x1xf32>
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  func.return %r, %s, %q : tensor<?x5xf32>, tensor<?xf32>, tensor<?x5xf32>
}

// An element that is not there is left to the run, which refuses it.
// CHECK-LABEL: func.func @outside
// CHECK:         tensor.extract %sizes
func.func @outside(%x: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %n = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %sizes = tensor.from_elements %n, %n : tensor<2xindex>
  %last = tensor.extract %sizes[%two] : tensor<2xindex>
  func.return %e, %last : tensor<?xf32>, index
}

// A view's sizes may be -1, which is asked of each; the size of a dimension is not.
// CHECK-LABEL: func.func @views
// CHECK:         tensor.expand_shape %x {{\[\[0\], \[1, 2\]\]}} output_shape [%{{.*}}, 2, 3]
func.func @views(%x: tensor<?x6xf32>) -> tensor<?x2x3xf32> {
  %zero = arith.constant 0 : index
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %size = tensor.dim %x, %zero : tensor<?x6xf32>
  %rows = arith.index_cast %size : index to i64
  %is_left = arith.cmpi slt, %rows, %none : i64
  %count = arith.muli %rows, %three : i64
  %first = arith.select %is_left, %count, %rows : i64
  %shape = tensor.from_elements %first, %two, %three : tensor<3xi64>
  %y = tensor.reshape %x(%shape) : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x3xf32>
  func.return %y : tensor<?x2x3xf32>
}
