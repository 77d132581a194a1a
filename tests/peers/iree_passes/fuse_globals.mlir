// builtin.module(iree-util-fuse-globals)
util.global private mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.func public @f(%n: index, %c: i1) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
^bb2:
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1 : index, index
}
// -----
util.global private mutable @a = 5 : index
util.global private mutable @b = 6 : index
util.func public @f(%n: index, %c: i1) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1 : index, index
}
// -----
util.global private mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.global private mutable @c = 5 : index
util.func public @f(%n: index, %m: index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.global.store %n, @c : index
  util.return
}
util.func public @f2(%n: index, %m: index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.global.store %m, @c : index
  util.return
}
util.func public @g() -> (index, index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  %2 = util.global.load @c : index
  util.return %0, %1, %2 : index, index, index
}
// -----
util.global public mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.func public @f(%n: index, %m: i1) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
// -----
util.global private mutable @a : index
util.global private mutable @b = 0 : index
util.func public @f(%n: index, %m: i1) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
// -----
util.global private @a : index
util.global private @b : index
util.func private @ext() -> index
util.initializer {
  %n = util.call @ext() : () -> index
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load immutable @a : index
  %1 = util.global.load immutable @b : index
  util.return %0, %1: index, index
}
// -----
util.global private mutable @a : index
util.global private mutable @b : index
util.global private mutable @c : index
util.global private mutable @e : index
util.func public @f(%n: index, %m: index) {
  util.global.store %n, @c : index
  util.global.store %m, @b : index
  util.global.store %n, @a : index
  util.global.store %m, @e : index
  util.return
}
util.func public @g() -> (index, index, index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  %2 = util.global.load @c : index
  %3 = util.global.load @e : index
  util.return %0, %1, %2, %3: index, index, index, index
}
// -----
util.global private mutable @a : index
util.global private mutable @b : index
util.func public @f(%n: index, %m: index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.global.store %m, @a : index
  util.global.store %m, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
// -----
util.global private mutable @a : index
util.global private mutable @b : index
util.func public @f(%n: index, %m: index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.global.store %m, @a : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
// -----
util.global private mutable @a : index
util.global private mutable @b : i32
util.global private mutable @c : index
util.func public @f(%n: index, %m: i32) {
  util.global.store %n, @a : index
  util.global.store %m, @b : i32
  util.return
}
// -----
util.global private mutable @a : index
util.global private mutable @b : index
util.func public @f(%n: index, %m: i1) {
  cf.cond_br %m, ^bb1, ^bb2
^bb1:
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  cf.br ^bb3
^bb2:
  util.global.store %n, @a : index
  cf.br ^bb4
^bb4:
  util.global.store %n, @b : index
  cf.br ^bb3
^bb3:
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
// -----
util.global private mutable @a : tensor<4xf32>
util.global private mutable @b : tensor<4xf32>
util.global private mutable @c : tensor<4xf32>
util.func public @f(%n: tensor<4xf32>, %m: tensor<4xf32>) {
  util.global.store %n, @b : tensor<4xf32>
  util.global.store %n, @a : tensor<4xf32>
  util.return
}
util.func public @f2(%n: tensor<4xf32>, %m: tensor<4xf32>) {
  util.global.store %n, @b : tensor<4xf32>
  util.global.store %n, @a : tensor<4xf32>
  util.global.store %n, @c : tensor<4xf32>
  util.return
}
util.func public @f3(%n: tensor<4xf32>, %m: tensor<4xf32>) {
  util.global.store %n, @c : tensor<4xf32>
  util.return
}
util.func public @g() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = util.global.load @a : tensor<4xf32>
  %1 = util.global.load @b : tensor<4xf32>
  %2 = util.global.load @c : tensor<4xf32>
  util.return %0, %1, %2: tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// -----
util.global private @a : index
util.global private mutable @b : index
util.initializer {
  %n = arith.constant 3 : index
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @g() -> (index, index) {
  %0 = util.global.load immutable @a : index
  %1 = util.global.load @b : index
  util.return %0, %1: index, index
}
