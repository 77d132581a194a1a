// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Conversions, comparisons and selections of types that do not fit.

func.func @f(%ti: tensor<4xi32>) {
  // expected-error @+1 {{'arith.extsi' op operand type 'tensor<4xi32>' and result type 'tensor<4xi8>' are cast incompatible}}
  %r = arith.extsi %ti : tensor<4xi32> to tensor<4xi8>
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'arith.extui' op operand type 'i32' and result type 'i32' are cast incompatible}}
  %r = arith.extui %i : i32 to i32
  return
}

// -----

func.func @f(%t8: tensor<4xi8>) {
  // expected-error @+1 {{'arith.trunci' op operand type 'tensor<4xi8>' and result type 'tensor<4xi32>' are cast incompatible}}
  %r = arith.trunci %t8 : tensor<4xi8> to tensor<4xi32>
  return
}

// -----

func.func @f(%ti: tensor<4xi32>) {
  // expected-error @+1 {{'arith.sitofp' op operand type 'tensor<4xi32>' and result type 'tensor<5xf32>' are cast incompatible}}
  %r = arith.sitofp %ti : tensor<4xi32> to tensor<5xf32>
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'arith.extf' op operand type 'f32' and result type 'f16' are cast incompatible}}
  %r = arith.extf %f : f32 to f16
  return
}

// -----

func.func @f(%th: tensor<4xf16>) {
  // expected-error @+1 {{'arith.truncf' op operand type 'tensor<4xf16>' and result type 'tensor<4xf32>' are cast incompatible}}
  %r = arith.truncf %th : tensor<4xf16> to tensor<4xf32>
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'arith.fptosi' op operand type 'f32' and result type 'f64' are cast incompatible}}
  %r = arith.fptosi %f : f32 to f64
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'arith.index_cast' op operand type 'i32' and result type 'i64' are cast incompatible}}
  %r = arith.index_cast %i : i32 to i64
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'arith.index_castui' op operand type 'index' and result type 'f32' are cast incompatible}}
  %r = arith.index_castui %n : index to f32
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'arith.bitcast' op operand type 'f32' and result type 'i64' are cast incompatible}}
  %r = arith.bitcast %f : f32 to i64
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{expected one of eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge}}
  %r = arith.cmpi olt, %i, %i : i32
  return
}

// -----

func.func @f(%tf: tensor<4xf32>) {
  // expected-error @+1 {{'arith.cmpf' op failed to verify that result type has i1 element type and same shape as operands: expected 'tensor<4xi1>', found 'i1'}}
  %r = "arith.cmpf"(%tf, %tf) <{predicate = 4 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> i1
  return
}

// -----

func.func @f(%ti: tensor<4xi32>) {
  // expected-error @+1 {{'arith.cmpi' op expected a predicate from 0 to 9 of type i64}}
  %r = "arith.cmpi"(%ti, %ti) <{predicate = 44 : i64}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%tf: tensor<4xf32>, %tb: tensor<5xi1>) {
  // expected-error @+1 {{'arith.select' op failed to verify that condition is signless i1 or has matching shape: 'tensor<5xi1>'}}
  %r = arith.select %tb, %tf, %tf : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

func.func @f(%tf: tensor<4xf32>, %t5: tensor<5xf32>, %tb: tensor<5xi1>) {
  // expected-error @+1 {{'arith.select' op failed to verify that all of {true_value, false_value, result} have same type: 'tensor<4xf32>', 'tensor<5xf32>', 'tensor<5xf32>'}}
  %r = "arith.select"(%tb, %tf, %t5) : (tensor<5xi1>, tensor<4xf32>, tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%tf: tensor<4xf32>) {
  // expected-error @+1 {{'math.isnan' op expected a result of type 'tensor<4xi1>', but found 'i1'}}
  %r = "math.isnan"(%tf) : (tensor<4xf32>) -> i1
  return
}

// -----

func.func @f(%b: i1, %x: f32) {
  // expected-error @+1 {{expected an operation}}
  %r = arith.select %b, %x, %x : i1, f32, f32
  return
}
