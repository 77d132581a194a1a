// Pieces are separate programs; one with an error does not stop the others.
// RUN: not mesh-opt %s --split-input-file 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=ERROR --input-file=%t

// CHECK: func.func @a
// CHECK: // -----
// CHECK-NEXT: // -----
// CHECK: func.func @a
func.func @a() { return }

// -----

// ERROR: split_input.mlir:[[# @LINE + 1]]:17: error: expected an operation
func.func @b() {)}
// ERROR-NEXT: func.func @b() {)}
// ERROR-NEXT: {{^                \^$}}

// -----

func.func @a() { return }
