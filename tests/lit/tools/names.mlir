// RUN: mesh-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// What is wrong with names of values and blocks is told with the place of their other use.

func.func @types(%a: i32) -> i32 {
  // expected-note @+1 {{prior use here}}
  %b = arith.addi %a, %a : i32
  // expected-error @+1 {{use of value '%b' expects different type than prior uses: 'i64' vs 'i32'}}
  %c = arith.addi %b, %b : i64
  return %c : i32
}

// -----

func.func @types_before_the_definition() {
  // expected-note @+1 {{prior use here}}
  "test.x"(%u) : (i32) -> ()
  // expected-error @+1 {{use of value '%u' expects different type than prior uses: 'i64' vs 'i32'}}
  "test.y"(%u) : (i64) -> ()
  %u = "test.z"() : () -> i32
  return
}

// -----

func.func @type_of_the_definition() {
  // expected-note @+1 {{previously used here with type 'i32'}}
  "test.x"(%u#1) : (i32) -> ()
  // expected-error @+1 {{definition of SSA value '%u#1' has type 'i64'}}
  %u:2 = "test.z"() : () -> (i32, i64)
  return
}

// -----

// expected-note @+1 {{previously defined here}}
func.func @twice(%a: i32) {
  // expected-error @+1 {{redefinition of SSA value '%a'}}
  %a = arith.constant 1 : i32
  return
}

// -----

func.func @no_such_result() {
  // expected-note @+1 {{defined here}}
  %a:2 = "test.z"() : () -> (i32, i64)
  // expected-error @+1 {{there is no '%a#2': '%a' has 2 results}}
  "test.x"(%a#2) : (i32) -> ()
  return
}

// -----

func.func @no_such_result_later() {
  // expected-note @+1 {{'%a#1' is used here}}
  "test.x"(%a#1) : (i32) -> ()
  // expected-error @+1 {{definition of SSA value '%a' has 1 result}}
  %a = "test.z"() : () -> i32
  return
}

// -----

func.func @block(%a: i32) {
  cf.br ^a(%a : i32)
// expected-note @+1 {{previously defined here}}
^a(%x: i32):
  return
// expected-error @+1 {{redefinition of block '^a'}}
^a(%y: i32):
  return
}

// -----

func.func @dominance() {
  // expected-error @+2 {{operand #0 does not dominate this use}}
  // expected-note @+2 {{operand defined here (op in the same block)}}
  %x = arith.addi %z, %z : i32
  %z = arith.constant 1 : i32
  return
}

// -----

func.func @dominance_between_blocks(%c: i1, %z: i32) {
  cf.cond_br %c, ^a, ^b
^a:
  // expected-note @+1 {{operand defined here (op in the same region)}}
  %y = arith.constant 1 : i32
  return
^b:
  // expected-error @+1 {{operand #1 does not dominate this use}}
  %w = arith.addi %z, %y : i32
  return
}

// -----

func.func @regions(%c: i1) {
  scf.if %c {
    // expected-error @+1 {{operand #0 does not dominate this use}}
    "test.use"(%late) : (i32) -> ()
  }
  // expected-note @+1 {{operand defined here (op in a parent region)}}
  %late = arith.constant 1 : i32
  return
}
