// RUN: mesh-opt %s --iree-stream-annotate-constant-transient-size | filecheck %s

util.func private @constant$size(%n: index) -> index {
  %c256 = arith.constant 256 : index
  util.return %c256 : index
}

// CHECK: util.func public @constant
// CHECK-SAME: iree.abi.transients.size = @constant$size, iree.abi.transients.size.constant = 256 : index
util.func public @constant() attributes {iree.reflection = {iree.abi.transients.size = @constant$size}} {
  util.return
}

util.func private @open$size(%n: index) -> index {
  util.return %n : index
}

// CHECK: util.func public @open()
// CHECK-NOT: iree.abi.transients.size.constant
util.func public @open() attributes {iree.reflection = {iree.abi.transients.size = @open$size}} {
  util.return
}

// Nobody says what the function that is asked looks like.
util.func private @elsewhere$size(%n: index) -> index

// CHECK: util.func public @elsewhere()
util.func public @elsewhere() attributes {iree.reflection = {iree.abi.transients.size = @elsewhere$size}} {
  util.return
}
