// RUN: mesh-opt %s --split-input-file --verify-diagnostics

util.func private @f(%a: index) -> i32 {
  // expected-error @+1 {{returns (index), but the function @f is of (i32)}}
  util.return %a : index
}

// -----

// expected-error @+1 {{'%b' is not an operand}}
util.func private @f(%a: index) -> %b

// -----

util.func private @f(%i: index) {
  // expected-error @+1 {{2 values, but assumptions about 1}}
  %0:2 = "util.assume.int"(%i, %i) <{assumptions = [[#util.int.assumption<umin = 0>]]}> : (index, index) -> (index, index)
  util.return
}

// -----

util.func private @f(%i: index, %n: i32) -> i32 {
  // expected-error @+1 {{expected values, default and result of one type, found i32 and index}}
  %0 = "util.switch"(%i, %n, %i) : (index, i32, index) -> i32
  util.return %0 : i32
}
