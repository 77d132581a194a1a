// RUN: mesh-run %s --function=bytes -p canonicalize --check | filecheck %s --check-prefix=BYTES
// RUN: not mesh-run %s --function=tensor -p convert-to-stream --check | filecheck %s --check-prefix=COUNT

// Resources agree if their bytes do.

// BYTES: CHECK result[0]: agree
util.func public @bytes() -> !stream.resource<transient> {
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : i8
  %0 = stream.async.splat %c7 : i8 -> !stream.resource<transient>{%c2}
  util.return %0 : !stream.resource<transient>
}

// A tensor becomes a resource and its size.

// COUNT: CHECK @tensor DISAGREES with the reference: it has 2 results, expected 1
util.func public @tensor() -> tensor<2xi8> {
  %0 = arith.constant dense<[1, 2]> : tensor<2xi8>
  util.return %0 : tensor<2xi8>
}
