// builtin.module(iree-util-fold-globals)
util.global private mutable @pointed = 5 : i32
util.func public @f() -> i32 {
  %p = util.global.address @pointed : !util.ptr<i32>
  %0 = util.global.load.indirect %p : !util.ptr<i32> -> i32
  util.return %0 : i32
}
// -----
util.global public @constant = 5 : i32
util.global public mutable @variable = 5 : i32
util.global public @set : i32
util.initializer {
  %0 = arith.constant 7 : i32
  util.global.store %0, @set : i32
  util.return
}
util.func public @f() -> (i32, i32, i32) {
  %0 = util.global.load @constant : i32
  %1 = util.global.load @variable : i32
  %2 = util.global.load @set : i32
  util.return %0, %1, %2 : i32, i32, i32
}
// -----
util.global private @computed : i32
util.initializer {
  %0 = arith.constant 7 : i32
  %1 = arith.addi %0, %0 : i32
  util.global.store %1, @computed : i32
  util.return
}
util.func public @f() -> i32 {
  %0 = util.global.load @computed : i32
  %1 = arith.constant 3 : i32
  %2 = arith.muli %0, %1 : i32
  util.return %2 : i32
}
// -----
util.global private mutable @same = 3 : i32
util.func public @f(%v: i32) -> i32 {
  %0 = util.global.load @same : i32
  util.global.store %0, @same : i32
  util.return %0 : i32
}
// -----
util.global private @chosen : i32
util.global private @flag = 1 : i1
util.initializer {
  %f = util.global.load @flag : i1
  %a = arith.constant 3 : i32
  %b = arith.constant 4 : i32
  %s = arith.select %f, %a, %b : i32
  util.global.store %s, @chosen : i32
  util.return
}
util.func public @f() -> i32 {
  %0 = util.global.load @chosen : i32
  util.return %0 : i32
}
// -----
util.global private mutable @never : i32
util.func public @f(%c: i1) -> i32 {
  %0 = util.global.load @never : i32
  util.return %0 : i32
}
// -----
util.global private @tensor : tensor<4xf32>
util.global private @buffer : !util.buffer
util.initializer {
  %0 = arith.constant dense<1.0> : tensor<4xf32>
  util.global.store %0, @tensor : tensor<4xf32>
  %1 = util.buffer.constant : !util.buffer = "abc"
  util.global.store %1, @buffer : !util.buffer
  util.return
}
util.func public @f() -> (tensor<4xf32>, !util.buffer) {
  %0 = util.global.load @tensor : tensor<4xf32>
  %1 = util.global.load @buffer : !util.buffer
  util.return %0, %1 : tensor<4xf32>, !util.buffer
}
// -----
util.global private @null : !hal.fence
util.initializer {
  %1 = util.null : !hal.fence
  util.global.store %1, @null : !hal.fence
  util.return
}
util.func public @f() -> (!hal.fence) {
  %0 = util.global.load @null : !hal.fence
  util.return %0 : !hal.fence
}
// -----
util.global private @tp : !stream.timepoint
util.initializer {
  %1 = stream.timepoint.immediate => !stream.timepoint
  util.global.store %1, @tp : !stream.timepoint
  util.return
}
util.func public @f() -> (!stream.timepoint) {
  %0 = util.global.load @tp : !stream.timepoint
  util.return %0 : !stream.timepoint
}
// -----
util.global private mutable @written : i32
util.func public @f(%v: i32) {
  util.global.store %v, @written : i32
  util.return
}
util.func public @g() {
  %c = arith.constant 4 : i32
  util.global.store %c, @written : i32
  util.return
}
// -----
util.global private mutable @three = 3 : i32
util.func public @f() {
  %c = arith.constant 3 : i32
  util.global.store %c, @three : i32
  util.return
}
util.func public @g() -> i32 {
  %0 = util.global.load @three : i32
  util.return %0 : i32
}
// -----
util.global private mutable @four = 3 : i32
util.func public @f() {
  %c = arith.constant 4 : i32
  util.global.store %c, @four : i32
  util.return
}
util.func public @g() -> i32 {
  %0 = util.global.load @four : i32
  util.return %0 : i32
}
// -----
util.global private @m : i32
util.initializer {
  %c = arith.constant 7 : i32
  %cond = arith.constant true
  cf.cond_br %cond, ^a, ^b
^a:
  util.global.store %c, @m : i32
  cf.br ^b
^b:
  util.return
}
util.func public @f() -> i32 {
  %0 = util.global.load @m : i32
  util.return %0 : i32
}
