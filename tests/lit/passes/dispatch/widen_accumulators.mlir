// RUN: mesh-opt %s -p widen-accumulators | filecheck %s

// The sum of a product is accumulated in f32 and rounded once.

// CHECK-LABEL: @product
// CHECK:       [[W:%.+]] = arith.extf %c : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK-NEXT:  [[S:%.+]] = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x4xbf16>) outs([[W]] : tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT:  [[R:%.+]] = arith.truncf [[S]] : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-NEXT:  return [[R]]
func.func @product(%a: tensor<8x16xbf16>, %b: tensor<16x4xbf16>, %c: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
  %r = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x4xbf16>) outs(%c : tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return %r : tensor<8x4xbf16>
}

// A term is computed in its own type, and a maximum stays what it is.

// CHECK-LABEL: @several
// CHECK:       [[W:%.+]] = arith.extf %s : tensor<8xf16> to tensor<8xf32>
// CHECK-NEXT:  [[B:%.+]], [[C:%.+]] = linalg.generic {{.+}} outs([[W]], %m : tensor<8xf32>, tensor<8xf16>) {
// CHECK-NEXT:  ^bb{{[0-9]+}}([[X:%.+]]: f16, [[T:%.+]]: f32, [[M:%.+]]: f16):
// CHECK-NEXT:    [[P:%.+]] = arith.mulf [[X]], [[X]] : f16
// CHECK-NEXT:    [[E:%.+]] = arith.extf [[P]] : f16 to f32
// CHECK-NEXT:    [[A:%.+]] = arith.addf [[T]], [[E]] : f32
// CHECK-NEXT:    [[N:%.+]] = arith.maximumf [[M]], [[X]] : f16
// CHECK-NEXT:    linalg.yield [[A]], [[N]] : f32, f16
// CHECK:       arith.truncf [[B]] : tensor<8xf32> to tensor<8xf16>
func.func @several(%x: tensor<8x16xf16>, %s: tensor<8xf16>, %m: tensor<8xf16>) -> (tensor<8xf16>, tensor<8xf16>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf16>) outs(%s, %m : tensor<8xf16>, tensor<8xf16>) {
  ^bb0(%e: f16, %t: f16, %n: f16):
    %p = arith.mulf %e, %e : f16
    %a = arith.addf %t, %p : f16
    %b = arith.maximumf %n, %e : f16
    linalg.yield %a, %b : f16, f16
  } -> (tensor<8xf16>, tensor<8xf16>)
  return %r#0, %r#1 : tensor<8xf16>, tensor<8xf16>
}

// The order of these terms matters: the result of one is a factor of the next.

// CHECK-LABEL: @in_order
// CHECK-NOT:   f32
// CHECK:       return
func.func @in_order(%x: tensor<16xbf16>, %s: tensor<bf16>) -> tensor<bf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<16xbf16>) outs(%s : tensor<bf16>) {
  ^bb0(%e: bf16, %t: bf16):
    %p = arith.mulf %t, %e : bf16
    %a = arith.addf %t, %p : bf16
    linalg.yield %a : bf16
  } -> tensor<bf16>
  return %r : tensor<bf16>
}

// A term may be from outside of the body, and so may a product, which is rounded there.

// CHECK-LABEL: @captured
// CHECK:         [[P:%.+]] = arith.mulf %k, %k : f16
// CHECK:       ^bb{{[0-9]+}}({{%.+}}: f16, [[T:%.+]]: f32):
// CHECK-NEXT:    [[E:%.+]] = arith.extf [[P]] : f16 to f32
// CHECK-NEXT:    [[A:%.+]] = arith.addf [[T]], [[E]] : f32
// CHECK-NEXT:    linalg.yield [[A]] : f32
func.func @captured(%x: tensor<8x16xf16>, %k: f16, %s: tensor<8xf16>) -> tensor<8xf16> {
  %p = arith.mulf %k, %k : f16
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf16>) outs(%s : tensor<8xf16>) {
  ^bb0(%e: f16, %t: f16):
    %a = arith.addf %t, %p : f16
    linalg.yield %a : f16
  } -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// Another output is what a sum has become, at each point.

// CHECK-LABEL: @largest_sum
// CHECK-NOT:   f32
// CHECK:       return
func.func @largest_sum(%x: tensor<16xbf16>, %s: tensor<bf16>, %m: tensor<bf16>) -> (tensor<bf16>, tensor<bf16>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
                         iterator_types = ["reduction"]}
      ins(%x : tensor<16xbf16>) outs(%s, %m : tensor<bf16>, tensor<bf16>) {
  ^bb0(%e: bf16, %t: bf16, %n: bf16):
    %a = arith.addf %t, %e : bf16
    %b = arith.maximumf %n, %a : bf16
    linalg.yield %a, %b : bf16, bf16
  } -> (tensor<bf16>, tensor<bf16>)
  return %r#0, %r#1 : tensor<bf16>, tensor<bf16>
}

// Which points share an element of the output depends on both loops.

// CHECK-LABEL: @skewed
// CHECK-NOT:   f32
// CHECK:       return
func.func @skewed(%x: tensor<4x6xbf16>, %s: tensor<9xbf16>) -> tensor<9xbf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + j)>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4x6xbf16>) outs(%s : tensor<9xbf16>) {
  ^bb0(%e: bf16, %t: bf16):
    %a = arith.addf %t, %e : bf16
    linalg.yield %a : bf16
  } -> tensor<9xbf16>
  return %r : tensor<9xbf16>
}

// A body with regions runs once a point.

// CHECK-LABEL: @choice
// CHECK-NOT:   f32
// CHECK:       return
func.func @choice(%x: tensor<16xbf16>, %c: i1, %s: tensor<bf16>) -> tensor<bf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<16xbf16>) outs(%s : tensor<bf16>) {
  ^bb0(%e: bf16, %t: bf16):
    %p = scf.if %c -> (bf16) {
      scf.yield %e : bf16
    } else {
      %n = arith.negf %e : bf16
      scf.yield %n : bf16
    }
    %a = arith.addf %t, %p : bf16
    linalg.yield %a : bf16
  } -> tensor<bf16>
  return %r : tensor<bf16>
}

// A product that is a factor twice is computed once: a power takes as many products as before.

// CHECK-LABEL: @power
// CHECK:       ^bb{{[0-9]+}}([[X:%.+]]: bf16, [[T:%.+]]: f32):
// CHECK-NEXT:    [[W:%.+]] = arith.extf [[X]] : bf16 to f32
// CHECK-NEXT:    [[P:%.+]] = arith.mulf [[W]], [[W]] : f32
// CHECK-NEXT:    [[Q:%.+]] = arith.mulf [[P]], [[P]] : f32
// CHECK-NEXT:    [[A:%.+]] = arith.addf [[T]], [[Q]] : f32
// CHECK-NEXT:    linalg.yield [[A]] : f32
func.func @power(%x: tensor<16xbf16>, %s: tensor<bf16>) -> tensor<bf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<16xbf16>) outs(%s : tensor<bf16>) {
  ^bb0(%e: bf16, %t: bf16):
    %p = arith.mulf %e, %e : bf16
    %q = arith.mulf %p, %p : bf16
    %a = arith.addf %t, %q : bf16
    linalg.yield %a : bf16
  } -> tensor<bf16>
  return %r : tensor<bf16>
}
