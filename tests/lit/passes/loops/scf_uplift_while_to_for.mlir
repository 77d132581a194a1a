// RUN: mesh-opt %s --scf-uplift-while-to-for | filecheck %s
// RUN: mesh-run %s --function=counts --input=i32=3 --input=i32=9 --input=4xf32=2 -p scf-uplift-while-to-for --check
// RUN: mesh-run %s --function=counts --input=i32=9 --input=i32=3 --input=4xf32=2 -p scf-uplift-while-to-for --check
// RUN: mesh-run %s --function=counts --input=i32=-2147483648 --input=i32=-2147483645 --input=4xf32=2 -p scf-uplift-while-to-for --backend=interpreter --check
// RUN: mesh-run %s --function=steps --input=f32=2 -p scf-uplift-while-to-for --check
// RUN: mesh-run %s --function=steps --input=f32=2 -p scf-uplift-while-to-for --backend=interpreter --check
// RUN: mesh-run %s --function=narrow -p scf-uplift-while-to-for --check
// RUN: mesh-run %s --function=kept --input=i32=5 -p scf-uplift-while-to-for --check

// The bound is carried unchanged, and the counter is read after the loop.
// CHECK-LABEL: func.func @counts
// CHECK:         %[[LOW:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %[[HIGH:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[R:.*]] = scf.for %[[I:.*]] = %[[LOW]] to %[[HIGH]] step %[[ONE]] iter_args(%v = %x) -> (tensor<4xf32>)
// CHECK-NEXT:      %[[N:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      arith.sitofp %[[N]] : i32 to f32
// CHECK:         %[[END:.*]] = arith.maxsi
// CHECK-NEXT:    tensor.from_elements %[[END]]
func.func @counts(%a: tensor<i32>, %b: tensor<i32>, %x: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %low = tensor.extract %a[] : tensor<i32>
  %high = tensor.extract %b[] : tensor<i32>
  %r:3 = scf.while (%i = %low, %n = %high, %v = %x) : (i32, i32, tensor<4xf32>) -> (i32, i32, tensor<4xf32>) {
    %c = arith.cmpi sgt, %n, %i : i32
    scf.condition(%c) %i, %n, %v : i32, i32, tensor<4xf32>
  } do {
  ^bb0(%i: i32, %n: i32, %v: tensor<4xf32>):
    %f = arith.sitofp %i : i32 to f32
    %t = tensor.splat %f : tensor<4xf32>
    %w = arith.addf %v, %t : tensor<4xf32>
    %one = arith.constant 1 : i32
    %next = arith.addi %one, %i : i32
    scf.yield %next, %n, %w : i32, i32, tensor<4xf32>
  }
  %end = tensor.from_elements %r#0 : tensor<i32>
  func.return %end, %r#2 : tensor<i32>, tensor<4xf32>
}

// Other counters are computed from the index, and so are the counters after the loop: of 11, which is
// beyond the bound, and -3 + 4 * -7.
// CHECK-LABEL: func.func @steps
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%x = %s) -> (f32)
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%y = %x) -> (f32)
// CHECK:         %[[END:.*]] = arith.constant 11 : i32
// CHECK:         tensor.from_elements %{{.*}}, %[[END]]
func.func @steps(%a: tensor<f32>) -> (tensor<f32>, tensor<2xi32>) {
  %s = tensor.extract %a[] : tensor<f32>
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %zero = arith.constant 0 : i32
  %start = arith.constant -3 : i32
  %down = arith.constant -7 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.while (%i = %two, %x = %s) : (i32, f32) -> (i32, f32) {
    %ten = arith.constant 10 : i32
    %c = arith.cmpi slt, %i, %ten : i32
    scf.condition(%c) %i, %x : i32, f32
  } do {
  ^bb0(%i: i32, %x: f32):
    %q:4 = scf.while (%j = %zero, %k = %start, %y = %x, %dead = %zero) : (i32, i32, f32, i32) -> (i32, i32, f32, i32) {
      %four = arith.constant 4 : i32
      %c = arith.cmpi ult, %j, %four : i32
      scf.condition(%c) %j, %k, %y, %dead : i32, i32, f32, i32
    } do {
    ^bb0(%j: i32, %k: i32, %y: f32, %dead: i32):
      %f = arith.sitofp %k : i32 to f32
      %z = arith.addf %y, %f : f32
      %next = arith.addi %j, %c1 : i32
      %then = arith.addi %k, %down : i32
      %also = arith.addi %dead, %c1 : i32
      scf.yield %next, %then, %z, %also : i32, i32, f32, i32
    }
    %g = arith.sitofp %q#1 : i32 to f32
    %h = arith.addf %q#2, %g : f32
    %next = arith.addi %i, %three : i32
    scf.yield %next, %h : i32, f32
  }
  %t = tensor.from_elements %r#1 : tensor<f32>
  %ends = tensor.from_elements %r#0, %r#0 : tensor<2xi32>
  func.return %t, %ends : tensor<f32>, tensor<2xi32>
}

// A second counter of i8 wraps around.
// CHECK-LABEL: func.func @narrow
// CHECK:         scf.for {{.*}} iter_args(%s = %{{.*}}) -> (i32)
// CHECK:           arith.index_cast %{{.*}} : index to i8
func.func @narrow() -> tensor<2xi32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %most = arith.constant 300 : i32
  %z = arith.constant 100 : i8
  %o = arith.constant 1 : i8
  %r:3 = scf.while (%i = %zero, %k = %z, %s = %zero) : (i32, i8, i32) -> (i32, i8, i32) {
    %c = arith.cmpi slt, %i, %most : i32
    scf.condition(%c) %i, %k, %s : i32, i8, i32
  } do {
  ^bb0(%i: i32, %k: i8, %s: i32):
    %e = arith.extsi %k : i8 to i32
    %t = arith.muli %s, %i : i32
    %u = arith.addi %t, %e : i32
    %next = arith.addi %i, %one : i32
    %then = arith.addi %k, %o : i8
    scf.yield %next, %then, %u : i32, i8, i32
  }
  %e = arith.extsi %r#1 : i8 to i32
  %t = tensor.from_elements %r#2, %e : tensor<2xi32>
  func.return %t : tensor<2xi32>
}

// Loops that do not count upwards by a constant, or whose counter may overflow, are kept.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: scf.while
// CHECK-NOT:     scf.for
func.func @kept(%a: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %n = tensor.extract %a[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %down = arith.constant -1 : i32
  %two = arith.constant 2 : i32
  %p = scf.while (%i = %one) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %i : i32
    scf.yield %next : i32
  }
  %q = scf.while (%i = %zero) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %two : i32
    scf.yield %next : i32
  }
  %r = scf.while (%i = %n) : (i32) -> i32 {
    %c = arith.cmpi sgt, %i, %zero : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %down : i32
    scf.yield %next : i32
  }
  %s = arith.addi %p, %r : i32
  %t = tensor.from_elements %s : tensor<i32>
  %u = tensor.from_elements %q : tensor<i32>
  func.return %t, %u : tensor<i32>, tensor<i32>
}
