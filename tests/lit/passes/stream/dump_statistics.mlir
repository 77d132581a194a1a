// RUN: mesh-opt %s --pass-pipeline='builtin.module(iree-stream-dump-statistics)' 2>&1 >%t.out | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='builtin.module(iree-stream-dump-statistics{output-format=csv})' 2>&1 >%t.out | filecheck %s --check-prefix=CSV
// RUN: mesh-opt %s --pass-pipeline='builtin.module(iree-stream-dump-statistics{output-format=csv output-file=%t.csv})' && cat %t.csv | filecheck %s --check-prefix=CSV

// CHECK: Aggregate Statistics (static, whole-program)
// CHECK: //   Constants: 1, estimated storage of 8 B (0.00 MiB)
// CHECK-NEXT: //   Variables: 1, (TBD) 0 B (0.00 MiB)
// CHECK-NEXT: //  D->H Syncs: 1
// CHECK-NEXT: // Submissions: 1, using cumulative minimum 64 B (0.00 MiB)
// CHECK-NEXT: //   DMA Fills: 1
// CHECK-NEXT: //  DMA Copies: 1
// CHECK-NEXT: // Collectives: 0
// CHECK-NEXT: //  Dispatches: 2
// CHECK-NEXT: // Async Calls: 0
// CHECK-NEXT: // Executables: 1, 50% reuse
// CHECK: // stream.cmd.execute util.func
// CHECK: // builtin.module > util.func @main > stream.cmd.execute
// CHECK: // stream.executable.export @ex::@f
// CHECK: // builtin.module > stream.executable @ex > builtin.module > func.func @f

// CSV: "Constants","Constant Size","Variables","Variable Size","Awaits","Submissions","Transient Size","Fills","Copies","Dispatches","Async Calls","Executables"
// CSV-NEXT: 1,8,1,0,1,1,64,1,1,2,0,1
// CSV: ; builtin.module > util.func @main > stream.cmd.execute
// CSV-NEXT: "Depth","Command","Symbol","Length","Invocations","Workload","Operands","Resources"
// CSV-NEXT: 0,"fill",,64,,,,
// CSV-NEXT: 1,"copy",,0,,,,
// CSV-NEXT: 1,"dispatch","@ex::@f",,8,"4;?;2",1,1
// CSV-NEXT: 0,"dispatch","@ex::@f",,1,"",1,1

util.global private @weights : !stream.resource<constant>
util.global private mutable @state : !stream.resource<variable>
util.global private @count : index

stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%x: !stream.binding, %n: index) {
      return
    }
  }
}

util.func public @main(%n: index) -> !stream.resource<transient> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 7 : i32
  %bytes = util.buffer.constant : !util.buffer = dense<[1, 2]> : tensor<2xi32>
  %0, %t0 = stream.resource.alloca uninitialized : !stream.resource<transient>{%c64} => !stream.timepoint
  %1, %t1 = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  %t2 = stream.timepoint.join max(%t0, %t1) => !stream.timepoint
  %t3 = stream.cmd.execute await(%t2) => with(%0 as %x: !stream.resource<transient>{%c64}, %1 as %y: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %c64] : i32 -> !stream.resource<transient>{%c64}
    stream.cmd.concurrent {
      stream.cmd.copy %x[%c0], %y[%c0], %n : !stream.resource<transient>{%c64} -> !stream.resource<transient>{%n}
      stream.cmd.dispatch @ex::@f[%c4, %n, %c2](%n : index) {
        rw %x[%c0 for %c64] : !stream.resource<transient>{%c64}
      }
    }
    stream.cmd.dispatch @ex::@f(%n : index) {
      rw %x[%c0 for %c64] : !stream.resource<transient>{%c64}
    }
  } => !stream.timepoint
  %2 = stream.timepoint.await %t3 => %0 : !stream.resource<transient>{%c64}
  util.return %2 : !stream.resource<transient>
}
