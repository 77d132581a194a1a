// RUN: mesh-opt %s --linalg-detensorize | filecheck %s
// RUN: mesh-run %s --function=sums --input=f32=1.5 --input=8xf32=2 -p linalg-detensorize --check
// RUN: mesh-run %s --function=sums --input=f32=1.5 --input=8xf32=2 -p linalg-detensorize --backend=interpreter --check
// RUN: mesh-run %s --function=collatz --input=i64=27 -p linalg-detensorize --check
// RUN: mesh-run %s --function=collatz --input=i64=27 -p linalg-detensorize --backend=interpreter --check
// RUN: mesh-run %s --function=scan --input=8xf32=2 --input=8xf32=1 -p linalg-detensorize --check
// RUN: mesh-run %s --function=loss --input=800xf32=2 -p linalg-detensorize --check

#none = affine_map<() -> ()>
#id = affine_map<(i) -> (i)>
#to = affine_map<(i) -> ()>

// Scalars in an inner and an outer loop; the vector is carried as it was, and reads the scalar
// as a tensor.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[S:.*]] = tensor.extract %s[] : tensor<f32>
// CHECK:         scf.for {{.*}} iter_args(%a = %[[S]], %v = %x) -> (f32, tensor<8xf32>)
// CHECK-NEXT:      %[[T:.*]] = tensor.from_elements %a : tensor<f32>
// CHECK-NEXT:      %[[IN:.*]] = scf.for {{.*}} iter_args(%b = %a) -> (f32)
// CHECK-NEXT:        %[[N:.*]] = arith.addf %b, %[[S]] : f32
// CHECK-NEXT:        scf.yield %[[N]] : f32
// CHECK:           linalg.generic {{.*}} ins(%v, %[[T]] : tensor<8xf32>, tensor<f32>)
// CHECK:           scf.yield %[[IN]], %{{.*}} : f32, tensor<8xf32>
func.func @sums(%s: tensor<f32>, %x: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %s, %v = %x) -> (tensor<f32>, tensor<8xf32>) {
    %in = scf.for %j = %c0 to %c3 step %c1 iter_args(%b = %a) -> (tensor<f32>) {
      %n = arith.addf %b, %s : tensor<f32>
      scf.yield %n : tensor<f32>
    }
    %e = tensor.empty() : tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#id, #to, #id], iterator_types = ["parallel"]} ins(%v, %a : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    scf.yield %in, %w : tensor<f32>, tensor<8xf32>
  }
  func.return %r#0, %r#1 : tensor<f32>, tensor<8xf32>
}

// The condition and a branch depend on the data.
// CHECK-LABEL: func.func @collatz
// CHECK:         scf.while (%n = %{{.*}}, %steps = %{{.*}}) : (i64, i64) -> (i64, i64)
// CHECK-NOT:     linalg
// CHECK:         tensor.from_elements %{{.*}} : tensor<i64>
// CHECK-NEXT:    func.return
func.func @collatz(%start: tensor<i64>) -> tensor<i64> {
  %zero = arith.constant dense<0> : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %two = arith.constant dense<2> : tensor<i64>
  %three = arith.constant dense<3> : tensor<i64>
  %r:2 = scf.while (%n = %start, %steps = %zero) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) {
    %c = arith.cmpi ne, %n, %one : tensor<i64>
    %more = tensor.extract %c[] : tensor<i1>
    scf.condition(%more) %n, %steps : tensor<i64>, tensor<i64>
  } do {
  ^bb0(%n: tensor<i64>, %steps: tensor<i64>):
    %rest = arith.remui %n, %two : tensor<i64>
    %is = arith.cmpi eq, %rest, %zero : tensor<i64>
    %even = tensor.extract %is[] : tensor<i1>
    %next = scf.if %even -> (tensor<i64>) {
      %half = arith.divui %n, %two : tensor<i64>
      scf.yield %half : tensor<i64>
    } else {
      %e = tensor.empty() : tensor<i64>
      %more = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%n, %three : tensor<i64>, tensor<i64>) outs(%e : tensor<i64>) {
      ^bb0(%p: i64, %q: i64, %o: i64):
        %m = arith.muli %p, %q : i64
        linalg.yield %m : i64
      } -> tensor<i64>
      %sum = arith.addi %more, %one : tensor<i64>
      scf.yield %sum : tensor<i64>
    }
    %count = arith.addi %steps, %one : tensor<i64>
    scf.yield %next, %count : tensor<i64>, tensor<i64>
  }
  func.return %r#1 : tensor<i64>
}

// A kernel computes the sum, so it stays in memory; the condition reads it and is a scalar.
// CHECK-LABEL: func.func @loss
// CHECK:         scf.while (%a = %{{.*}}) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:      %[[A:.*]] = tensor.extract %a[] : tensor<f32>
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf olt, %[[A]], %{{.*}} : f32
// CHECK-NEXT:      scf.condition(%[[C]]) %a : tensor<f32>
func.func @loss(%x: tensor<800xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %most = arith.constant dense<100.0> : tensor<f32>
  %r = scf.while (%a = %zero) : (tensor<f32>) -> tensor<f32> {
    %c = arith.cmpf olt, %a, %most : tensor<f32>
    %more = tensor.extract %c[] : tensor<i1>
    scf.condition(%more) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %s = linalg.generic {indexing_maps = [#id, #to], iterator_types = ["reduction"]} ins(%x : tensor<800xf32>) outs(%a : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %m = arith.addf %p, %o : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// The sum of a few elements is a scalar.
// CHECK-LABEL: func.func @few
// CHECK:         scf.while (%a = %{{.*}}) : (f32) -> f32
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf olt, %a, %{{.*}} : f32
// CHECK-NEXT:      scf.condition(%[[C]]) %a : f32
// CHECK:           %[[S:.*]] = linalg.generic
// CHECK:           tensor.extract %[[S]][] : tensor<f32>
func.func @few(%x: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %most = arith.constant dense<100.0> : tensor<f32>
  %r = scf.while (%a = %zero) : (tensor<f32>) -> tensor<f32> {
    %c = arith.cmpf olt, %a, %most : tensor<f32>
    %more = tensor.extract %c[] : tensor<i1>
    scf.condition(%more) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %s = linalg.generic {indexing_maps = [#id, #to], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%a : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %m = arith.addf %p, %o : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// Without loops and reads nothing changes.
// CHECK-LABEL: func.func @plain
// CHECK:         arith.addf %x, %x : tensor<f32>
func.func @plain(%x: tensor<f32>) -> tensor<f32> {
  %y = arith.addf %x, %x : tensor<f32>
  func.return %y : tensor<f32>
}

// A scan reads and writes elements in each iteration.
// CHECK-LABEL: func.func @scan
// CHECK:         scf.for %i = {{.*}} iter_args(%sum = %{{.*}}, %all = %initial) -> (f32, tensor<8xf32>)
// CHECK-NEXT:      %[[X:.*]] = tensor.extract %x[%i] : tensor<8xf32>
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %sum, %[[X]] : f32
// CHECK-NEXT:      %[[ONE:.*]] = tensor.insert %[[SUM]] into %all[%i] : tensor<8xf32>
// CHECK-NEXT:      %[[BOTH:.*]] = tensor.insert %[[SUM]] into %[[ONE]][%c0] : tensor<8xf32>
// CHECK-NEXT:      scf.yield %[[SUM]], %[[BOTH]] : f32, tensor<8xf32>
func.func @scan(%x: tensor<8xf32>, %initial: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %zero, %all = %initial) -> (tensor<f32>, tensor<8xf32>) {
    %slice = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %one = tensor.collapse_shape %slice [] : tensor<1xf32> into tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %more = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%sum, %one : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %row = tensor.expand_shape %more [] output_shape [1] : tensor<f32> into tensor<1xf32>
    %next = tensor.insert_slice %row into %all[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    %first = tensor.insert_slice %row into %next[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
    scf.yield %more, %first : tensor<f32>, tensor<8xf32>
  }
  func.return %r#0, %r#1 : tensor<f32>, tensor<8xf32>
}

// Rows are read and written without a dimension of size 1.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[X:.*]] = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
// CHECK:         tensor.insert_slice %{{.*}} into %all[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>
func.func @rows(%x: tensor<8x4xf32>, %initial: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%all = %initial) -> (tensor<8x4xf32>) {
    %slice = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
    %row = tensor.collapse_shape %slice [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %twice = arith.addf %row, %row : tensor<4xf32>
    %back = tensor.expand_shape %twice [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
    %next = tensor.insert_slice %back into %all[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
    scf.yield %next : tensor<8x4xf32>
  }
  func.return %r : tensor<8x4xf32>
}

// The same place is computed once, in a branch, too: a kernel updates the row there.
// CHECK-LABEL: func.func @place
// CHECK:         %[[AT:.*]] = arith.maxsi %n, %{{.*}} : index
// CHECK-NEXT:    %[[OLD:.*]] = tensor.extract_slice %x[%[[AT]]]
// CHECK-NEXT:    %[[NEW:.*]] = arith.addf %[[OLD]], %[[OLD]]
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      tensor.insert_slice %[[NEW]] into %x[%[[AT]]]
func.func @place(%x: tensor<8xf32>, %n: index, %whether: i1) -> tensor<8xf32> {
  %low = arith.constant 0 : index
  %at = arith.maxsi %n, %low : index
  %old = tensor.extract_slice %x[%at] [2] [1] : tensor<8xf32> to tensor<2xf32>
  %new = arith.addf %old, %old : tensor<2xf32>
  %r = scf.if %whether -> (tensor<8xf32>) {
    %zero = arith.constant 0 : index
    %place = arith.maxsi %n, %zero : index
    %next = tensor.insert_slice %new into %x[%place] [2] [1] : tensor<2xf32> into tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
