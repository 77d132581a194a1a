// builtin.module(util.func(iree-stream-encode-host-tensors))
util.func public @mul_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = arith.muli %d1, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @shl_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %o = arith.shli %d1, %c3 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @add_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o0 = arith.muli %d1, %c16 : index
  %o = arith.addi %o0, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @assume_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = util.assume.int %d1<umin = 0, umax = 800, udiv = 8> : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @rows_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %c8] : tensor<?x8xi2>{%d0} in !stream.resource<*>{%n} -> tensor<1x8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @dynrows_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %w = arith.muli %d0, %c8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %w] : tensor<4x?xi2>{%w} in !stream.resource<*>{%n} -> tensor<1x?xi2>{%w} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @oddrows_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c1] : tensor<?x1xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8x1xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @five_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c5 = arith.constant 5 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c5] : tensor<?x5xi2>{%d0} in !stream.resource<*>{%n} -> tensor<8x5xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @tail_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %x = stream.tensor.slice %r[%c8 for %c3] : tensor<11xi2> in !stream.resource<*>{%n} -> tensor<3xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @whole_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c0 for %d0] : tensor<?xi2>{%d0} in !stream.resource<*>{%n} -> tensor<?xi2>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @fillrow_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1 : i8
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c16] : tensor<?x16xi2>{%d0} in !stream.resource<*>{%n} -> tensor<2x16xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @mul_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = arith.muli %d1, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @shl_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %o = arith.shli %d1, %c3 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @add_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o0 = arith.muli %d1, %c16 : index
  %o = arith.addi %o0, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @assume_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = util.assume.int %d1<umin = 0, umax = 800, udiv = 8> : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @rows_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %c8] : tensor<?x8xi4>{%d0} in !stream.resource<*>{%n} -> tensor<1x8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @dynrows_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %w = arith.muli %d0, %c8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %w] : tensor<4x?xi4>{%w} in !stream.resource<*>{%n} -> tensor<1x?xi4>{%w} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @oddrows_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c1] : tensor<?x1xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8x1xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @five_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c5 = arith.constant 5 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c5] : tensor<?x5xi4>{%d0} in !stream.resource<*>{%n} -> tensor<8x5xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @tail_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %x = stream.tensor.slice %r[%c8 for %c3] : tensor<11xi4> in !stream.resource<*>{%n} -> tensor<3xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @whole_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c0 for %d0] : tensor<?xi4>{%d0} in !stream.resource<*>{%n} -> tensor<?xi4>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @fillrow_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1 : i8
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c16] : tensor<?x16xi4>{%d0} in !stream.resource<*>{%n} -> tensor<2x16xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @mul_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = arith.muli %d1, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @shl_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %o = arith.shli %d1, %c3 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @add_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o0 = arith.muli %d1, %c16 : index
  %o = arith.addi %o0, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @assume_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = util.assume.int %d1<umin = 0, umax = 800, udiv = 8> : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @rows_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %c8] : tensor<?x8xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<1x8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @dynrows_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %w = arith.muli %d0, %c8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %w] : tensor<4x?xi1, #iree_encoding.packed_storage>{%w} in !stream.resource<*>{%n} -> tensor<1x?xi1, #iree_encoding.packed_storage>{%w} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @oddrows_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c1] : tensor<?x1xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8x1xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @five_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c5 = arith.constant 5 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c5] : tensor<?x5xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<8x5xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @upd_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = arith.muli %d1, %c8 : index
  %x = stream.tensor.update %r, %q[%o] : tensor<8xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n} -> tensor<?xi1, #iree_encoding.packed_storage>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @updrow_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.update %r, %q[%d1, %c0, %c0] : tensor<1x4x4xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n} -> tensor<?x4x4xi1, #iree_encoding.packed_storage>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @tail_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %x = stream.tensor.slice %r[%c8 for %c3] : tensor<11xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n} -> tensor<3xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @whole_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c0 for %d0] : tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<?xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @fillrow_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1 : i8
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c16] : tensor<?x16xi1, #iree_encoding.packed_storage>{%d0} in !stream.resource<*>{%n} -> tensor<2x16xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @mul_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = arith.muli %d1, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @shl_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %o = arith.shli %d1, %c3 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @add_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o0 = arith.muli %d1, %c16 : index
  %o = arith.addi %o0, %c8 : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @assume_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %o = util.assume.int %d1<umin = 0, umax = 800, udiv = 8> : index
  %x = stream.tensor.slice %r[%o for %c8] : tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @rows_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %c8] : tensor<?x8xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<1x8xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @dynrows_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %w = arith.muli %d0, %c8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c1, %w] : tensor<4x?xf4E2M1FN>{%w} in !stream.resource<*>{%n} -> tensor<1x?xf4E2M1FN>{%w} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @oddrows_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c1] : tensor<?x1xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8x1xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @five_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c5 = arith.constant 5 : index
  %x = stream.tensor.slice %r[%c8, %c0 for %c8, %c5] : tensor<?x5xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<8x5xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @tail_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %x = stream.tensor.slice %r[%c8 for %c3] : tensor<11xf4E2M1FN> in !stream.resource<*>{%n} -> tensor<3xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @whole_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = stream.tensor.slice %r[%c0 for %d0] : tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<?xf4E2M1FN>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @fillrow_f42M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1 : i8
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c16] : tensor<?x16xf4E2M1FN>{%d0} in !stream.resource<*>{%n} -> tensor<2x16xf4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i1_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xi1> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i1__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xi1>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i1_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<i1> : index
  util.return %x : index
}
// -----
util.func public @update_i1(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xi1> in !stream.resource<*>{%n} -> tensor<?x8xi1>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @store_i1(%v: i1, %d0: index, %d1: index, %r: !stream.resource<staging>, %n: index) -> !stream.resource<staging> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.store %v, %r[%d1, %c2] : i1 -> tensor<?x8xi1>{%d0} in %r as !stream.resource<staging>{%n}
  util.return %x : !stream.resource<staging>
}
// -----
util.func public @sizeof_i2_4x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x?xi2>{%d0} : index
  util.return %x : index
}
// -----
util.func public @empty_i2_0x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<0x5xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @slice8_i2(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%c8 for %c8] : tensor<24xi2> in !stream.resource<*>{%n} -> tensor<8xi2> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_i3__x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<?x8xi3>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_i3_3x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<3x5xi3> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_i3_8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<8xi3> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @update8_i3(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%c8] : tensor<8xi3> in !stream.resource<*>{%n} -> tensor<24xi3> in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_i4__x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<?x8xi4>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i4_0x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<0x5xi4> : index
  util.return %x : index
}
// -----
util.func public @slice_i4(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c8] : tensor<?x8xi4>{%d0} in !stream.resource<*>{%n} -> tensor<2x8xi4> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i8__x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x8xi8>{%d0} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i8_3x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<3x5xi8> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i8_8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<8xi8> : index
  util.return %x : index
}
// -----
util.func public @slice8_i8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%c8 for %c8] : tensor<24xi8> in !stream.resource<*>{%n} -> tensor<8xi8> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i12_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xi12> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i12__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xi12>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i12_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<i12> : index
  util.return %x : index
}
// -----
util.func public @update_i12(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xi12> in !stream.resource<*>{%n} -> tensor<?x8xi12>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i16_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xi16> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i16__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xi16>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i16_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<i16> : index
  util.return %x : index
}
// -----
util.func public @update_i16(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xi16> in !stream.resource<*>{%n} -> tensor<?x8xi16>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @store_i16(%v: i16, %d0: index, %d1: index, %r: !stream.resource<staging>, %n: index) -> !stream.resource<staging> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.store %v, %r[%d1, %c2] : i16 -> tensor<?x8xi16>{%d0} in %r as !stream.resource<staging>{%n}
  util.return %x : !stream.resource<staging>
}
// -----
util.func public @empty_i32_4x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<4x?xi32>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_i32_0x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<0x5xi32> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @slice_i32(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c8] : tensor<?x8xi32>{%d0} in !stream.resource<*>{%n} -> tensor<2x8xi32> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i33_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xi33> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i33__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xi33>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i33_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<i33> : index
  util.return %x : index
}
// -----
util.func public @update_i33(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xi33> in !stream.resource<*>{%n} -> tensor<?x8xi33>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_i64_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xi64> : index
  util.return %x : index
}
// -----
util.func public @sizeof_i64__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xi64>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_i64_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<i64> : index
  util.return %x : index
}
// -----
util.func public @update_i64(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xi64> in !stream.resource<*>{%n} -> tensor<?x8xi64>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @store_i64(%v: i64, %d0: index, %d1: index, %r: !stream.resource<staging>, %n: index) -> !stream.resource<staging> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.store %v, %r[%d1, %c2] : i64 -> tensor<?x8xi64>{%d0} in %r as !stream.resource<staging>{%n}
  util.return %x : !stream.resource<staging>
}
// -----
util.func public @sizeof_f16_4x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x?xf16>{%d0} : index
  util.return %x : index
}
// -----
util.func public @sizeof_f16_0x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<0x5xf16> : index
  util.return %x : index
}
// -----
util.func public @clone_f16(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.clone %r : tensor<?x8xf16>{%d0} in !stream.resource<*>{%n} -> tensor<?x8xf16>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @splat_f16(%v: f16, %d0: index, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.splat %v : f16 -> tensor<?x8xf16>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_bf16__x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x8xbf16>{%d0} : index
  util.return %x : index
}
// -----
util.func public @sizeof_bf16_3x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<3x5xbf16> : index
  util.return %x : index
}
// -----
util.func public @sizeof_bf16_8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<8xbf16> : index
  util.return %x : index
}
// -----
util.func public @slice8_bf16(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%c8 for %c8] : tensor<24xbf16> in !stream.resource<*>{%n} -> tensor<8xbf16> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f32_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<4x8xf32> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f32__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<?x?xf32>{%d0, %d1} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f32_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<f32> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @slice1_f32(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%c1 for %c2] : tensor<8xf32> in !stream.resource<*>{%n} -> tensor<2xf32> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f64_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<4x8xf64> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f64__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<?x?xf64>{%d0, %d1} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f64_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<f64> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @slice1_f64(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%c1 for %c2] : tensor<8xf64> in !stream.resource<*>{%n} -> tensor<2xf64> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @sizeof_f8E4M3FN_4x8(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<4x8xf8E4M3FN> : index
  util.return %x : index
}
// -----
util.func public @sizeof_f8E4M3FN__x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<?x?xf8E4M3FN>{%d0, %d1} : index
  util.return %x : index
}
// -----
util.func public @sizeof_f8E4M3FN_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.sizeof tensor<f8E4M3FN> : index
  util.return %x : index
}
// -----
util.func public @update_f8E4M3FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%d1, %c0] : tensor<2x8xf8E4M3FN> in !stream.resource<*>{%n} -> tensor<?x8xf8E4M3FN>{%d0} in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @store_f8E4M3FN(%v: f8E4M3FN, %d0: index, %d1: index, %r: !stream.resource<staging>, %n: index) -> !stream.resource<staging> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.store %v, %r[%d1, %c2] : f8E4M3FN -> tensor<?x8xf8E4M3FN>{%d0} in %r as !stream.resource<staging>{%n}
  util.return %x : !stream.resource<staging>
}
// -----
util.func public @empty_f4E2M1FN_4x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<4x?xf4E2M1FN>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_f4E2M1FN_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<f4E2M1FN> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @update8_f4E2M1FN(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.update %r, %q[%c8] : tensor<8xf4E2M1FN> in !stream.resource<*>{%n} -> tensor<24xf4E2M1FN> in %q as !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_complex_f32__4x_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<4x?xcomplex<f32>>{%d0} in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @empty_complex_f32__0x5(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.empty : tensor<0x5xcomplex<f32>> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}
// -----
util.func public @slice_complex_f32_(%d0: index, %d1: index, %r: !stream.resource<*>, %q: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = stream.tensor.slice %r[%d1, %c0 for %c2, %c8] : tensor<?x8xcomplex<f32>>{%d0} in !stream.resource<*>{%n} -> tensor<2x8xcomplex<f32>> in !stream.resource<*>{%n}
  util.return %x : !stream.resource<*>
}

// -----

// Products of sizes have a flag where the tensor has a layout.
util.func public @a(%d0: index, %d1: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<?x5xf32, #iree_encoding.identity>{%d0} : index
  %1 = stream.tensor.sizeof tensor<?x8x?xi1, #iree_encoding.packed_storage>{%d0, %d1} : index
  %2 = stream.tensor.sizeof tensor<?x48xf16, #iree_encoding.layout<[#iree_encoding.padding<[0, 0]>]>>{%d0} : index
  %3 = stream.tensor.sizeof tensor<?x6xf32>{%d0} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}
