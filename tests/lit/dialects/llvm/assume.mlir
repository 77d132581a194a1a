// RUN: mesh-opt %s --split-input-file --verify-diagnostics | mesh-opt - --split-input-file | filecheck %s
// RUN: mesh-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @main
// GENERIC-LABEL: "func.func"
func.func @main(%c: i1, %x: i64) {
  // CHECK: llvm.intr.assume %c : i1{{$}}
  // GENERIC: "llvm.intr.assume"(%c) <{op_bundle_sizes = array<i32>}> : (i1) -> ()
  llvm.intr.assume %c : i1
  // CHECK: llvm.intr.assume %c : i1 {note = 1 : i32}
  llvm.intr.assume %c : i1 {note = 1 : i32}
  // CHECK: llvm.intr.assume %c ["align"(%x, %x : i64, i64), "cold"()] : i1
  // GENERIC: "llvm.intr.assume"(%c, %x, %x) <{op_bundle_sizes = array<i32: 2, 0>, op_bundle_tags = ["align", "cold"]}> : (i1, i64, i64) -> ()
  llvm.intr.assume %c ["align"(%x, %x : i64, i64), "cold"()] : i1
  // CHECK: llvm.intr.assume %c : i1{{$}}
  "llvm.intr.assume"(%c) <{op_bundle_sizes = array<i32>, op_bundle_tags = []}> : (i1) -> ()
  func.return
}

// -----

func.func @bundles(%c: i1, %x: i64) {
  // expected-error @+1 {{expected 1 operand bundle tags, but actually got 0}}
  "llvm.intr.assume"(%c, %x) <{op_bundle_sizes = array<i32: 1>}> : (i1, i64) -> ()
  func.return
}

// -----

func.func @operands(%c: i1, %x: i64) {
  // expected-error @+1 {{expected 2 operands in bundles, found 1}}
  "llvm.intr.assume"(%c, %x) <{op_bundle_sizes = array<i32: 2>, op_bundle_tags = ["align"]}> : (i1, i64) -> ()
  func.return
}

// -----

func.func @condition(%c: i8) {
  // expected-error @+1 {{operand #0 must be i1, but got 'i8'}}
  llvm.intr.assume %c : i8
  func.return
}
