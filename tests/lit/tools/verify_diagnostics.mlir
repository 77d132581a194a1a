// Diagnostics are compared with the comments of each piece of a file.
// RUN: mesh-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// A text that does not parse.
func.func @f(%a: i32) -> i32 {
  // expected-error @+1 {{use of undefined value '%b'}}
  %x = arith.addi %b, %a : i32
  return %x : i32
}

// -----

// The line above, by name and by number, and the same line.
func.func @f(%a: i32) -> i64 {
  return %a : i32 // expected-error {{'func.return' op Expected arguments to have the same types}}
}

// -----

// expected-note @+1 {{in the body of this 'func.func'}}
func.func @f() {
  %c = arith.constant 1 : i32
  // expected-error @-1 {{'arith.constant' op ends a block but is not a terminator}}
}

// -----

func.func @f(%a: i32) -> i32 {
  // expected-error @below {{operand #0 does not dominate this use}}
  // expected-note-re @+2 {{{{defined .*}}}}
  %y = arith.addi %x, %a : i32
  %x = arith.addi %a, %a : i32
  return %x : i32
}

// -----

// Every function with an error is reported, not only the first.
// expected-error-re @+1 {{empty block, which {{must|may}} end}}
func.func @f() { ^bb0: }
func.func @g() { ^bb0: }
// expected-error @above {{has an empty block}}

// -----

// Nothing is wrong here.
func.func @f() {
  return
}
