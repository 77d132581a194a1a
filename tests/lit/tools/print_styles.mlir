// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-skip-regions | filecheck %s --check-prefix=SKIP
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-value-users | filecheck %s --check-prefix=USERS
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-value-users | mesh-opt --allow-unregistered-dialect | filecheck %s --check-prefix=AGAIN
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-unique-ssa-ids | filecheck %s --check-prefix=UNIQUE
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-use-nameloc-as-prefix | filecheck %s --check-prefix=NAMES
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-debuginfo --mlir-pretty-debuginfo | filecheck %s --check-prefix=PRETTY
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-debuginfo --verify-roundtrip | mesh-opt --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-elementsattrs-with-hex-if-larger=2 | filecheck %s --check-prefix=HEX
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-elementsattrs-with-hex-if-larger=-1 | filecheck %s --check-prefix=LISTS
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-elide-resource-strings-if-larger=41 | filecheck %s --check-prefix=ELIDE
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-elide-resource-strings-if-larger=42 | filecheck %s --check-prefix=KEEP
// RUN: mesh-opt %s --allow-unregistered-dialect --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// SKIP: builtin.module {...}
// SKIP-NOT: func

// AGAIN-NOT: //
// AGAIN: func.func @f

// UNIQUE: @f(%a: tensor<4xf32>, %b: i32)
// UNIQUE: @g(%a_1: i32)

// GENERIC: %0:2 = "test.two"(%b) : (i32) -> (i32, i32)
// GENERIC: "func.return"(%0#0, %r) : (i32, i32) -> ()

func.func @f(%a: tensor<4xf32>, %b: i32) -> (i32, i32) {
// USERS:      // %a is unused
// USERS-NEXT: // %b is used by %dead, %r, %p, %q, %0#0, %0#1

  // The results of an operation share a name unless they were told apart.
  %0:2 = "test.two"(%b) : (i32) -> (i32, i32) loc("x.py":3:4)
  %p, %q = "test.two"(%b) : (i32) -> (i32, i32) loc(unknown)
// USERS:  %0:2 = "test.two"(%b) : (i32) -> (i32, i32) // users: (%1), (unused)
// USERS:  %p, %q = "test.two"(%b)
// LOC:    %0:2 = "test.two"(%b) : (i32) -> (i32, i32) loc([[TWO:#loc[0-9]*]])
// LOC:    %p, %q = "test.two"(%b) : (i32) -> (i32, i32) loc(unknown)
// PRETTY: @f(%a: tensor<4xf32> {{.*}}print_styles.mlir:{{[0-9]+}}:14,
// PRETTY: %0:2 = "test.two"(%b) : (i32) -> (i32, i32) x.py:3:4
// PRETTY: %p, %q = "test.two"(%b) : (i32) -> (i32, i32) [unknown]

  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
// HEX:    arith.constant dense<"0x0000803F000000400000404000008040"> : tensor<4xf32>

  %r = scf.for %i = %b to %b step %b iter_args(%x = %b) -> (i32) : i32 {
// USERS:        // %i is used by %y
// USERS-NEXT:   // %x is used by %y
    %y = arith.addi %x, %i : i32 loc("sum of all"("z.py":1:2))
// USERS-NEXT:   %y = arith.addi %x, %i : i32 // user: %2
// NAMES:  %sum_of_all = arith.addi %x, %i : i32
// LOC:    %y = arith.addi %x, %i : i32 loc([[NAMED:#loc[0-9]+]])
// PRETTY: %y = arith.addi %x, %i : i32 "sum of all"(z.py:1:2)
    scf.yield %y : i32
// USERS-NEXT:   scf.yield %y : i32 // id: %2
  }
// USERS:  } // user: %1
  %d = arith.constant dense_resource<styled> : tensor<4xf32>
  %dead = arith.muli %b, %b : i32
  return %0#0, %r : i32, i32
// USERS:  func.return %0#0, %r : i32, i32 // id: %1
}

func.func private @g(%a: i32) {
  %big = arith.constant dense<[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]> : tensor<101xi8>
// LISTS:  %big = arith.constant dense<[0, 1,
// KEEP:   %big = arith.constant dense<"0x0001
  return
}
// LOC: [[TWO]] = loc("x.py":3:4)
// LOC: [[PLACE:#loc[0-9]+]] = loc("z.py":1:2)
// LOC: [[NAMED]] = loc("sum of all"([[PLACE]]))
// ELIDE-NOT: dialect_resources
// KEEP: styled: "0x040000000000803F000000400000404000008040"

{-#
  dialect_resources: { builtin: { styled: "0x040000000000803F000000400000404000008040" } }
#-}
