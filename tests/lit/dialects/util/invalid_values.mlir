// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Values of other types than an operation is made for.

util.func private @cast(%b: !util.buffer) {
  // expected-error @+1 {{operand type '!util.buffer' and result type '!hal.buffer' are cast incompatible}}
  %0 = util.cast %b : !util.buffer to !hal.buffer
  util.return
}

// -----

util.func private @number(%x: i32) {
  // expected-error @+1 {{operand type 'i32' and result type 'f32' are cast incompatible}}
  %0 = util.cast %x : i32 to f32
  util.return
}

// -----

util.func private @get(%l: !util.list<i32>, %i: index) {
  // expected-error @+1 {{list contains 'i32' and cannot be accessed as 'i64'}}
  %0 = util.list.get %l[%i] : !util.list<i32> -> i64
  util.return
}

// -----

util.func private @set(%l: !util.list<!util.buffer>, %i: index, %v: !hal.buffer) {
  // expected-error @+1 {{list contains '!util.buffer' and cannot be mutated as '!hal.buffer'}}
  util.list.set %l[%i], %v : !hal.buffer -> !util.list<!util.buffer>
  util.return
}

// -----

util.func private @construct(%x: i64, %n: i32) {
  // expected-error @+1 {{list[1] type 'i32' cannot be be cast to list type 'i64'}}
  %0 = util.list.construct [%x : i64, %n : i32] : !util.list<i64>
  util.return
}

// -----

util.func private @arguments(%x: i64) {
  // expected-error @+1 {{format string placeholder count does not match the 1 provided argument(s)}}
  %0 = util.string.format "{}{}"(%x) : (i64) -> !util.buffer
  util.return
}

// -----

util.func private @numbered(%x: i64) {
  // expected-error @+1 {{format string placeholder count does not match the 2 provided argument(s)}}
  %0 = util.string.format "{0}{2}"(%x, %x) : (i64, i64) -> !util.buffer
  util.return
}

// -----

util.func private @mixed(%x: i64) {
  // expected-error @+1 {{cannot mix sequential '{}' and explicit '{N}' placeholders}}
  %0 = util.string.format "{}{0}"(%x, %x) : (i64, i64) -> !util.buffer
  util.return
}

// -----

util.func private @word(%x: i64) {
  // expected-error @+1 {{invalid placeholder '{x}' in format string; expected '{}' or '{N}'}}
  %0 = util.string.format "{x}"(%x) : (i64) -> !util.buffer
  util.return
}

// -----

util.func private @open() {
  // expected-error @+1 {{unclosed '{' in format string}}
  %0 = util.string.format "{"() : () -> !util.buffer
  util.return
}

// -----

util.func private @closed() {
  // expected-error @+1 {{unmatched '}' in format string}}
  %0 = util.string.format "}"() : () -> !util.buffer
  util.return
}

// -----

util.func private @formatted(%x: f32) {
  // expected-error @+1 {{operand #0 must be variadic of index or signless integer or util.buffer, but got 'f32'}}
  %0 = util.string.format "{}"(%x) : (f32) -> !util.buffer
  util.return
}

// -----

util.func private @assumed(%a: i32, %s: index) {
  // expected-error @+1 {{expected operand #1 to have 2 assumptions but it has 3}}
  %0:2 = util.assume.int %a[<umin = 5>, <umax = 3>], %s[<umin = 5>, <umin = 2>, <umin = 2>] : i32, index
  util.return
}

// -----

util.func private @stored(%b: !util.buffer, %s: index, %p: vector<4xi32>) {
  // expected-error @+1 {{operand #0 must be floating-point or index or integer, but got 'vector<4xi32>'}}
  util.buffer.store %p, %b[%s for %s] : vector<4xi32> -> !util.buffer{%s}
  util.return
}

// -----

// expected-error @+1 {{symbol declaration cannot have public visibility}}
util.func @declared(%a: i32)
