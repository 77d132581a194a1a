// RUN: mesh-opt %s --split-input-file --encode-host-tensors --verify-diagnostics

util.func public @open() {
  // expected-error @+1 {{the layout of tensor<4xf32, #iree_encoding.testing<>> is not resolved}}
  %0 = stream.tensor.sizeof tensor<4xf32, #iree_encoding.testing<>> : index
  util.return
}

// -----

util.func public @without_a_size() {
  // expected-error @+1 {{'iree_encoding.specialized' is for tests only and has no layout}}
  %0 = stream.tensor.sizeof tensor<4xf32, #iree_encoding.testing<layouts = [#iree_encoding.specialized<1>]>> : index
  util.return
}

// -----

util.func public @overflow() {
  // expected-error @+1 {{a tensor of 18446744073709551616 bytes exceeds 9223372036854775807}}
  %0 = stream.tensor.sizeof tensor<4294967296x1073741824xf32> : index
  util.return
}

// -----

util.func public @wide_pattern(%v: complex<f64>, %s: index) {
  // expected-error @+1 {{has unsupported pattern type complex<f64>}}
  %0 = stream.tensor.splat %v : complex<f64> -> tensor<4xcomplex<f64>> in !stream.resource<*>{%s}
  util.return
}

// -----

#tiled = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16], outerDimsPerm = [0]}}>]>
util.func public @element_of_tile(%r: !stream.resource<staging>, %s: index) {
  // expected-error @+1 {{cannot address single elements of a tensor with encoding}}
  %0 = stream.tensor.load %r[%s] : tensor<4xf32, #tiled> in !stream.resource<staging>{%s} -> f32
  util.return
}

// -----

util.func public @columns(%r: !stream.resource<*>, %s: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{accesses a slice of tensor<?x4xf32> that may not be contiguous}}
  %0 = stream.tensor.slice %r[%c0, %c1 for %n, %c1] : tensor<?x4xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x1xf32>{%n} in !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @block(%r: !stream.resource<*>, %s: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{accesses a slice of tensor<4x4xf32> that may not be contiguous}}
  %0 = stream.tensor.fill %f, %r[%c0, %c0 for %c2, %c2] : f32 -> tensor<4x4xf32> in %r as !stream.resource<*>{%s}
  util.return
}

// -----

// What comes before the error is not rewritten either.

util.func public @late(%r: !stream.resource<*>, %s: index, %f: f32) {
  %size = stream.tensor.sizeof tensor<?x4xf32>{%s} : index
  %0 = stream.tensor.empty : tensor<?x4xf32>{%s} in !stream.resource<*>{%size}
  %1 = stream.tensor.splat %f : f32 -> tensor<?x4xf32>{%s} in !stream.resource<*>{%size}
  // expected-error @+1 {{is not resolved}}
  %2 = stream.tensor.sizeof tensor<4xf32, #iree_encoding.testing<>> : index
  util.return
}

// -----

// Elements that share a byte can only be taken apart by a kernel.

util.func public @begins_inside_of_a_byte(%r: !stream.resource<*>, %s: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{accesses a slice of tensor<4xi4> that may not begin at a byte boundary: 2 elements share a byte, and only kernels can access them separately}}
  %0 = stream.tensor.slice %r[%c1 for %c2] : tensor<4xi4> in !stream.resource<*>{%s} -> tensor<2xi4> in !stream.resource<*>{%c1}
  util.return
}

// -----

util.func public @begins_anywhere(%r: !stream.resource<*>, %s: index, %i: index) {
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{that may not begin at a byte boundary: 4 elements share a byte}}
  %0 = stream.tensor.slice %r[%i for %c4] : tensor<9xi2> in !stream.resource<*>{%s} -> tensor<4xi2> in !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @ends_inside_of_a_byte(%r: !stream.resource<*>, %s: index, %v: i4) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  // expected-error @+1 {{accesses a slice of tensor<4xi4> that may not end at a byte boundary}}
  %0 = stream.tensor.fill %v, %r[%c0 for %c3] : i4 -> tensor<4xi4> in %r as !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @update_ends_anywhere(%r: !stream.resource<*>, %u: !stream.resource<*>, %s: index, %n: index) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{that may not end at a byte boundary}}
  %0 = stream.tensor.update %u, %r[%c0] : tensor<?xi4>{%n} in !stream.resource<*>{%s} -> tensor<9xi4> in %r as !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @unsigned_element(%r: !stream.resource<staging>, %s: index) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{accesses one of several ui4 elements in a byte: only signless integers can be shifted, so use i4}}
  %0 = stream.tensor.load %r[%c1] : tensor<4xui4> in !stream.resource<staging>{%s} -> ui4
  util.return
}

// -----

// Booleans that are packed are found by no position.

util.func public @packed_booleans(%r: !stream.resource<staging>, %s: index) {
  // expected-error @+1 {{cannot address single elements of a tensor with encoding #iree_encoding.packed_storage}}
  %0 = stream.tensor.load %r[%s] : tensor<4xi1, #iree_encoding.packed_storage> in !stream.resource<staging>{%s} -> i1
  util.return
}

// -----

// Four booleans begin in the middle of a byte, and a part without gaps is none of a tensor with gaps.

#bits = #iree_encoding.packed_storage
util.func public @part_of_byte(%r: !stream.resource<*>, %s: index, %n: index, %d: index) {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %m = arith.muli %n, %c4 : index
  // expected-error @+1 {{accesses a slice of tensor<?xi1, #iree_encoding.packed_storage> that may not begin at a byte boundary: 8 elements share a byte}}
  %0 = stream.tensor.slice %r[%m for %c8] : tensor<?xi1, #bits>{%d} in !stream.resource<*>{%s} -> tensor<8xi1, #bits> in !stream.resource<*>{%s}
  util.return
}

// -----

#bits = #iree_encoding.packed_storage
util.func public @other_storage(%r: !stream.resource<*>, %s: index, %n: index, %d: index) {
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{cannot address single elements of a tensor with encoding #iree_encoding.packed_storage}}
  %0 = stream.tensor.slice %r[%c8 for %c8] : tensor<?xi1>{%d} in !stream.resource<*>{%s} -> tensor<8xi1, #bits> in !stream.resource<*>{%s}
  util.return
}

// -----

util.func public @unsigned_pattern(%v: ui16, %s: index) -> !stream.resource<*> {
  // expected-error @+1 {{repeats ui16 elements: only signless integers can be shifted, so use i16}}
  %0 = stream.tensor.splat %v : ui16 -> tensor<4xui16> in !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}
