// The report goes to standard error; the program alone to standard output.
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse),canonicalize)' --mlir-timing 2>%t | filecheck %s --check-prefix=OUT
// RUN: filecheck %s --check-prefix=TIME --input-file=%t

// OUT-NOT: Execution time
// OUT:     builtin.module
// OUT-NOT: Execution time

// TIME: ... Execution time report ...
// TIME: Total Execution Time: {{[0-9.]+}} seconds
// TIME: ----Wall Time----  ----Name----
// TIME: Parser
// TIME: 'func.func' Pipeline
// TIME:     CommonSubexpressionElimination
// TIME:   CanonicalizePass
// TIME: Output
// TIME: 100.0%)  Total
func.func @f() {
  return
}
