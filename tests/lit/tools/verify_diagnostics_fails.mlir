// What was expected and did not come, and what came unexpected, are errors of the test.
// RUN: not mesh-opt %s --split-input-file --verify-diagnostics 2>&1 >%t | filecheck %s

// CHECK:      verify_diagnostics_fails.mlir:12:4: error: expected error "nothing like it" was not produced
// CHECK-NEXT: // expected-{{error ..nothing like it..$}}
// CHECK-NEXT: {{^   \^$}}
// CHECK:      verify_diagnostics_fails.mlir:18:3: error: unexpected error: 'func.return' op Expected arguments
// CHECK:      verify_diagnostics_fails.mlir:25:6: error: expected warning "an operand" was not produced
// CHECK:      verify_diagnostics_fails.mlir:30:4: error: expectation is not of the form expected-error
// CHECK-NOT:  error:

// expected-error {{nothing like it}}
func.func @f() { return }

// -----

func.func @g(%a: i32) -> i64 {
  return %a : i32
}

// -----

func.func @h(%a: i32) -> i64 {
  // Not a warning.
  // expected-warning @+2 {{an operand}}
  // expected-error @+1 {{Expected arguments}}
  return %a : i32
}

// expected-error {{this does not end
