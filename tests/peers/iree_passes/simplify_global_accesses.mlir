// builtin.module(util.func(iree-util-simplify-global-accesses),util.initializer(iree-util-simplify-global-accesses))
util.global private @a = 5 : index
util.func private @ext()
util.func public @f(%b: i1) -> (index, index) {
  %c = arith.constant 3 : index
  util.call @ext() : () -> ()
  %0 = util.global.load @a : index
  %1 = util.global.load @a : index
  %2 = arith.addi %0, %c : index
  util.return %2, %1 : index, index
}
// -----
util.global private @a = 5 : index
util.global private @b = 6 : index
util.func public @f(%b: i1) -> (index) {
  cf.cond_br %b, ^bb1, ^bb2
^bb1:
  %0 = util.global.load @a : index
  util.return %0 : index
^bb2:
  %1 = util.global.load @b : index
  %2 = util.global.load @a : index
  %3 = arith.addi %1, %2 : index
  util.return %3 : index
}
// -----
util.global private mutable @a = 5 : index
util.func private @ext()
util.func public @f(%n: index) -> index {
  %c = arith.constant 3 : index
  %0 = util.global.load @a : index
  %1 = arith.addi %0, %n : index
  util.global.store %1, @a : index
  %2 = arith.addi %1, %c : index
  util.global.store %2, @a : index
  %3 = arith.muli %2, %c : index
  util.call @ext() : () -> ()
  %4 = arith.muli %3, %c : index
  %5 = util.global.load @a : index
  %6 = arith.addi %4, %5 : index
  util.return %6 : index
}
// -----
util.global private mutable @b = 5 : index
util.global private mutable @a = 5 : index
util.func public @f(%n: index, %m: index) {
  util.global.store %n, @b : index
  util.global.store %m, @a : index
  %x = arith.addi %n, %m : index
  "test.op"(%x) : (index) -> ()
  util.return
}
// -----
util.global public @a = 5 : index
util.func public @f(%n: index) -> (index, index) {
  %x = arith.addi %n, %n : index
  %y = util.global.load @a : index
  %z = util.global.load @a : index
  util.return %y, %z : index, index
}
// -----
util.global private mutable @a = 5 : index
util.func public @f(%n: index) -> (index) {
  %x = arith.addi %n, %n : index
  %y = util.global.load @a : index
  cf.br ^bb1(%x : index)
^bb1(%w: index):
  %v = arith.addi %w, %n : index
  %z = util.global.load @a : index
  util.global.store %v, @a : index
  %u = arith.addi %v, %z : index
  util.return %u: index
}
// -----
util.global private mutable @a = 5 : index
util.func public @f(%n: index, %t: tensor<4xf32>) -> (index, tensor<4xf32>) {
  %x = arith.addi %n, %n : index
  util.global.store %x, @a : index
  %t2 = flow.tensor.transfer %t : tensor<4xf32> to "x"
  %t3 = util.optimization_barrier %t2 : tensor<4xf32>
  %z = util.global.load @a : index
  util.return %z, %t3: index, tensor<4xf32>
}
// -----
util.global private mutable @a = 5 : index
util.func public @f(%n: index, %f: !hal.fence) -> (index) {
  %x = arith.addi %n, %n : index
  util.global.store %x, @a : index
  %c = arith.constant -1 : i32
  %st = hal.fence.await until([%f]) timeout_millis(%c) flags("None") : i32
  %z = util.global.load @a : index
  util.return %z: index
}
// -----
util.global private mutable @a = 5 : index
util.func public @f(%n: index, %t: !stream.timepoint, %r: !stream.resource<external>) -> (index, !stream.resource<external>) {
  %x = arith.addi %n, %n : index
  util.global.store %x, @a : index
  %r2 = stream.timepoint.await %t => %r : !stream.resource<external>{%n}
  %z = util.global.load @a : index
  util.return %z, %r2: index, !stream.resource<external>
}
// -----
util.global private mutable @a = 5 : index
stream.async.func private @ext(%a: !stream.resource<*>, %n: index) -> %a
util.func public @f(%n: index, %t: !stream.timepoint, %r: !stream.resource<*>) -> (index) {
  %x = arith.addi %n, %n : index
  util.global.store %x, @a : index
  %r2 = stream.async.call @ext(%r[%n to %n for %n], %n) : (!stream.resource<*>{%n}, index) -> %r{%n}
  %z = util.global.load @a : index
  util.return %z : index
}
// -----
util.global private mutable @b = 5 : index
util.global private mutable @a = 5 : index
util.func public @f(%n: index, %c: i1) -> (index, index) {
  %x = arith.addi %n, %n : index
  %p = util.global.load @b : index
  %z = util.global.load @a : index
  %v = arith.addi %p, %z : index
  util.global.store %v, @a : index
  util.return %z, %v : index, index
}
