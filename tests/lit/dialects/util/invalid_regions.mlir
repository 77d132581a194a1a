// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{arguments may only have dialect attributes, as 'dialect.name': argument #0 has 'foo'}}
util.func private @names(%a: i32 {foo}) -> i32

// -----

util.func private @returns(%n: index) -> i32 {
  // expected-error @+1 {{expects its region to return values of the types of its results}}
  %0 = util.hoistable_conversion "a" inverts("b") (%x = %n) : (index) -> i32 {
    util.return %x : index
  }
  util.return %0 : i32
}

// -----

util.func private @nothing() -> index {
  // expected-error @+1 {{expected 1 or more operands, but found 0}}
  %0 = "util.range.min"() : () -> index
  util.return %0 : index
}

// -----

util.func private @bytes() -> !util.buffer {
  // expected-error @+1 {{expects the bytes of a buffer as its value, found @nowhere}}
  %0 = util.buffer.constant : !util.buffer = @nowhere
  util.return %0 : !util.buffer
}
