// RUN: mesh-opt %s --split-input-file --verify-diagnostics

util.func private @f(%a: index) -> i32 {
  // expected-error @+1 {{type of return operand 0 ('index') doesn't match function result type ('i32')}}
  util.return %a : index
}

// -----

// expected-error @+1 {{'%b' is not an operand}}
util.func private @f(%a: index) -> %b

// -----

util.func private @f(%i: index) {
  // expected-error @+1 {{expected 2 assumptions, one for each value, found 1}}
  %0:2 = "util.assume.int"(%i, %i) <{assumptions = [[#util.int.assumption<umin = 0>]]}> : (index, index) -> (index, index)
  util.return
}

// -----

util.func private @f(%i: index, %n: i32) -> i32 {
  // expected-error @+1 {{expected default_value, values to have the same type, found i32 and index}}
  %0 = "util.switch"(%i, %n, %i) : (index, i32, index) -> i32
  util.return %0 : i32
}

// -----

util.func private @callee(%x: i32) -> %x

util.func private @f(%x: i32) {
  // expected-error @+1 {{results are not tied to the same operands as those of the function}}
  %0 = util.call @callee(%x) : (i32) -> i32
  util.return
}

// -----

util.func private @callee(%x: i32) -> i64

util.func private @f(%x: i32) {
  // expected-error @+1 {{function type mismatch; expected '(i32) -> i32' but callee is '(i32) -> i64'}}
  %0 = util.call @callee(%x) : (i32) -> i32
  util.return
}

// -----

util.func private @callee(%x: i32) -> i64

util.func private @f(%x: i32) {
  // expected-error @+1 {{undefined/incompatible callee: caller; did you mean 'callee'?}}
  %0 = util.call @caller(%x) : (i32) -> i64
  util.return
}

// -----

util.global private mutable @weight : tensor<4xf32>

util.func private @f() {
  // expected-error @+1 {{is marked as immutable but the global is mutable: '@weight'}}
  %0 = util.global.load immutable @weight : tensor<4xf32>
  util.return
}

// -----

util.global private @weight : tensor<4xf32>

util.func private @f() {
  %0 = util.global.load @weight : tensor<?xf32>
  // expected-error @+1 {{'@weight' is of type tensor<4xf32>, but the value is of type tensor<5xf32>}}
  %1 = util.global.load @weight : tensor<5xf32>
  util.return
}

// -----

util.func private @f(%x: i32) {
  // expected-error @+1 {{undefined global: @f}}
  util.global.store %x, @f : i32
  util.return
}

// -----

util.func private @f(%address: !util.ptr<i32>) {
  // expected-error @+1 {{the global is of type i32, but the value is of type i64}}
  %0 = util.global.load.indirect %address : !util.ptr<i32> -> i64
  util.return
}

// -----

util.initializer {
  %x = arith.constant 1 : i32
  // expected-error @+1 {{has 1 operands, but enclosing function-like op returns 0}}
  util.return %x : i32
}

// -----

util.func public @caller(%a: index) {
  // expected-error @+1 {{expects a callee of a function type, but has '[unit]'}}
  util.call @untyped(%a) : (index) -> ()
  util.return
}
// expected-error @+1 {{must be function type}}
"util.func"() <{sym_name = "untyped", function_type = [unit]}> ({}) : () -> ()

// -----

util.func public @caller(%a: index) {
  // expected-error @+1 {{expects integers as tied operands, but has [@x]}}
  %0 = util.call @tied(%a) : (index) -> index
  util.return
}
// expected-error @+1 {{should be of base attribute integer}}
"util.func"() <{sym_name = "tied", function_type = (index) -> index, tied_operands = [@x]}> ({}) : () -> ()
