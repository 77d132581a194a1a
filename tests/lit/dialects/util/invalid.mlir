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
