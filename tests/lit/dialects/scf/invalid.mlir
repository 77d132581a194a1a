// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @no_else(%p: i1, %x: f32) {
  // expected-error @+1 {{must have an else block if defining values}}
  %0 = scf.if %p -> (f32) { scf.yield %x : f32 }
  return
}

// -----

func.func @other_type(%p: i1, %x: f32, %c: i32) {
  // expected-error @+1 {{along control flow edge from Operation scf.yield to parent: successor operand type #0 'i32' should match successor input type #0 'f32'}}
  %0 = scf.if %p -> (f32) { scf.yield %x : f32 } else { scf.yield %c : i32 }
  return
}

// -----

func.func @too_few(%p: i1) {
  // expected-error @+1 {{region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.if %p -> (f32) { scf.yield } else { scf.yield }
  return
}

// -----

func.func @no_condition(%x: f32) {
  // expected-error @+1 {{expects the 'before' region to terminate with 'scf.condition'}}
  %0 = scf.while (%a = %x) : (f32) -> f32 { scf.yield %a : f32 } do { ^bb0(%z: f32): scf.yield %z : f32 }
  return
}

// -----

func.func @passed_on(%x: f32, %p: i1) {
  // expected-error @+1 {{Block arguments with wrong type, expected f32, got i32}}
  %0 = scf.while (%a = %x) : (f32) -> f32 { scf.condition(%p) %a : f32 } do { ^bb0(%z: i32): scf.yield %x : f32 }
  return
}

// -----

func.func @repeated(%x: f32, %p: i1, %c: i32) {
  // expected-error @+1 {{along control flow edge from Operation scf.yield to Region #0}}
  %0 = scf.while (%a = %x) : (f32) -> f32 { scf.condition(%p) %a : f32 } do { ^bb0(%z: f32): scf.yield %c : i32 }
  return
}

// -----

func.func @executed(%c: i32) {
  // expected-error @+1 {{along control flow edge from Operation scf.yield to parent}}
  %0 = scf.execute_region -> f32 { scf.yield %c : i32 }
  return
}

// -----

func.func @bounds(%i: index) {
  // expected-error @+1 {{expected 1 operands}}
  scf.parallel (%j) = (%i, %i) to (%i) step (%i) { }
  return
}

// -----

func.func @unsigned(%i: index) {
  // expected-error @+1 {{loops with unsigned comparison of bounds are not supported}}
  scf.for unsigned %j = %i to %i step %i { }
  return
}

// -----

func.func @entry() {
  // expected-error @+1 {{entry block of region may not have predecessors}}
  ^bb0: cf.br ^bb0
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
func.func private @twice()
// expected-error @+1 {{redefinition of symbol named 'twice'}}
func.func private @twice()

// -----

func.func @rounding(%c: f32) {
  // expected-error @+1 {{expected a rounding mode from 0 to 4 of type i32}}
  %0 = "arith.truncf"(%c) <{roundingmode = 7 : i32}> : (f32) -> f16
  return
}
