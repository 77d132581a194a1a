// A function that maps a state to a state is called many times; it goes on from a checkpoint.
// RUN: mesh-run %s -p spmd --function=step --input=4xf32=1 --input=4xf32=2 --steps=3 --statistics --trace=%t.json | filecheck %s --check-prefix=THREE
// RUN: cat %t.json | filecheck %s --check-prefix=TRACE
// RUN: mesh-run %s -p spmd --function=step --input=4xf32=1 --input=4xf32=2 --steps=4 --checkpoint=%t.state --every=2 | filecheck %s --check-prefix=FOUR
// What the state is given as is not looked at any more.
// RUN: mesh-run %s -p spmd --function=step --input=4xf32=9 --input=4xf32=2 --steps=5 --checkpoint=%t.state | filecheck %s --check-prefix=FIVE
// RUN: mesh-run %s --function=step --input=4xf32=9 --input=4xf32=2 --steps=6 --checkpoint=%t.state --backend=interpreter | filecheck %s --check-prefix=SIX
// RUN: not mesh-run %s --function=step --input=4xf32=9 --input=4xf32=2 --steps=1 --checkpoint=%t.state 2>&1 | filecheck %s --check-prefix=PAST
// RUN: not mesh-run %s --function=other --input=1 --steps=9 --checkpoint=%t.state 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not mesh-run %s --function=step --checkpoint=%t.state 2>&1 | filecheck %s --check-prefix=STEPS
// RUN: not mesh-run %s --function=step --steps=2 --every=2 2>&1 | filecheck %s --check-prefix=EVERY
// RUN: not mesh-run %s --function=step --steps=0 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not mesh-run %s --function=step --input=4xf32=9 --input=4xf32=2 --steps=2 --checkpoint=%s 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not mesh-run %s --function=step --trace=%t.json --backend=interpreter 2>&1 | filecheck %s --check-prefix=NATIVE

// THREE: 4xf32=7 7 7 7
// THREE-NEXT: STATISTICS process 0: {{.*}} 1 dispatches, 0 bytes received
// THREE-NEXT: STATISTICS process 1: {{.*}} 1 dispatches, 0 bytes received
// TRACE: {"traceEvents": [{"name": "thread_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "process 0"}}
// TRACE-SAME: {"name": "arith.addf_0", "cat": "kernel", "ph": "X", "pid": 0, "tid": {{0|256}}, "ts": {{.*}}, "dur": {{.*}}, "args": {"tiles": 1}}
// FOUR: 4xf32=9 9 9 9
// FIVE: 4xf32=11 11 11 11
// SIX: 4xf32=13 13 13 13
// PAST: mesh-run: the checkpoint is after step 6, but 1 are requested
// OTHER: mesh-run: the checkpoint after step 6 has tensor<4xf32> as array 0, expected i32
// STEPS: mesh-run: --checkpoint needs --steps
// EVERY: mesh-run: --every needs --checkpoint
// NONE: mesh-run: --steps must be at least 1, found 0
// FILE: mesh-run: --checkpoint={{.*}}long_runs.mlir is a file, expected a folder or a new name
// NATIVE: mesh-run: --trace needs --backend=native

shard.grid @g(shape = 2)

func.func @step(%x: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<4xf32>
  %r = arith.addf %a, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func @other(%x: i32) -> i32 {
  return %x : i32
}
