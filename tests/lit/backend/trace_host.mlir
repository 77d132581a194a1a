// RUN: mesh-run %s --trace-host --input=3 2>&1 | filecheck %s
// RUN: not mesh-run %s --trace-host --input=-1 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: not mesh-run %s --trace-host --input=3 --backend=interpreter 2>&1 | filecheck %s --check-prefix=BACKEND

// CHECK: EXEC @sum
// CHECK: @sum  %[[SUM:[0-9]+]] = move 0 -> 0
// CHECK: addi_i64 {{.*}} -> 1
// CHECK: loop
// CHECK: addi_i64 {{.*}} -> 3
// CHECK: @sum  return
// CHECK: i64=3

// FAILED: @sum  fail #
// FAILED: error: 'cf.assert' op does not hold: a count is not negative

// BACKEND: --trace-host needs --backend=native

func.func private @add(%x: i64, %y: i64) -> i64 {
  %z = arith.addi %x, %y : i64
  return %z : i64
}

func.func @sum(%n: i64) -> i64 {
  %none = arith.constant 0 : i64
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %is_count = arith.cmpi sge, %n, %none : i64
  cf.assert %is_count, "a count is not negative"
  %end = arith.index_cast %n : i64 to index
  %sum = scf.for %i = %zero to %end step %one iter_args(%s = %none) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %t = func.call @add(%s, %k) : (i64, i64) -> i64
    scf.yield %t : i64
  }
  return %sum : i64
}
