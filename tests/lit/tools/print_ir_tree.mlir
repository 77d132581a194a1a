// RUN: rm -rf %t
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize),symbol-dce,func.func(cse))' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t 2>&1 | filecheck %s --check-prefix=NO-DUMP
// RUN: filecheck %s --input-file=%t/builtin_module_no-symbol-name/func_func_f/0_0_cse.mlir --check-prefix=F
// RUN: filecheck %s --input-file=%t/builtin_module_no-symbol-name/func_func_g/0_1_canonicalize.mlir --check-prefix=G
// RUN: filecheck %s --input-file=%t/builtin_module_no-symbol-name/1_symbol-dce.mlir --check-prefix=MODULE
// RUN: filecheck %s --input-file=%t/builtin_module_no-symbol-name/func_func_g/2_0_cse.mlir --check-prefix=G
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after=cse --mlir-print-ir-module-scope 2>&1 >%t.out | filecheck %s --check-prefix=SCOPE

// NO-DUMP-NOT: IR Dump
// F: func.func @f
// F-NOT: func.func @g
// G: func.func @g
// MODULE: builtin.module
// SCOPE: // -----// IR Dump After CommonSubexpressionElimination (cse) ('func.func' operation: @f) //----- //
// SCOPE-NEXT: builtin.module {
func.func @f() { return }
func.func @g() { return }
