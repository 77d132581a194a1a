// RUN: mesh-opt %s --split-input-file --encode-host-tensors | filecheck %s

// Sizes: the largest of the layouts; constants where shapes are static; unknown sizes in a
// formula: tiles and bytes behind the first of them.

// CHECK-LABEL: util.func public @sizes
// CHECK: arith.constant 256 : index
// CHECK: arith.constant 481 : index
// CHECK: arith.constant 2048 : index
// CHECK: arith.constant 5120 : index
// CHECK: arith.constant 17039360 : index
// CHECK: arith.constant 2 : index
// CHECK: %[[FOUR:.*]] = arith.constant 40 : index
// CHECK: arith.muli %m, %[[FOUR]] : index
// CHECK: %[[T:.*]] = arith.constant 16 : index
// CHECK: %[[A:.*]] = arith.ceildivsi %m, %[[T]] : index
// CHECK: %[[M:.*]] = arith.muli %[[A]], %{{.*}} overflow<nsw> : index
// CHECK: %[[B:.*]] = arith.ceildivsi %n, %{{.*}} : index
// CHECK: %[[N:.*]] = arith.muli %[[B]], %{{.*}} overflow<nsw> : index
// CHECK: %[[BYTES:.*]] = arith.constant 4 : index
// CHECK: %[[C:.*]] = arith.muli %[[M]], %[[BYTES]] overflow<nsw> : index
// CHECK: %[[ONE:.*]] = arith.muli %[[C]], %[[N]] overflow<nsw> : index
// CHECK: arith.maxui %[[ONE]], %{{.*}} : index
// CHECK: arith.ceildivui
#tiled = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 2], outerDimsPerm = [0, 1]}}>
#other = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [8, 4], outerDimsPerm = [0, 1]}}>
util.func public @sizes(%m: index, %n: index) {
  %0 = stream.tensor.sizeof tensor<16x16xi1> : index
  %1 = stream.tensor.sizeof tensor<31x31xi4> : index
  %2 = stream.tensor.sizeof tensor<16x16xcomplex<f32>> : index
  %3 = stream.tensor.sizeof tensor<17x40xf32, #iree_encoding.layout<[#tiled, #other]>> : index
  %4 = stream.tensor.sizeof tensor<2048x4096xf16, #iree_encoding.layout<[#iree_encoding.padding<[0, 64]>]>> : index
  %5 = stream.tensor.sizeof tensor<3x3xi1, #iree_encoding.packed_storage> : index
  %6 = stream.tensor.sizeof tensor<?x10xf32>{%m} : index
  %7 = stream.tensor.sizeof tensor<?x?xf32, #iree_encoding.layout<[#tiled, #other]>>{%m, %n} : index
  %8 = stream.tensor.sizeof tensor<?xi4>{%m} : index
  util.return
}

// -----

// Operations on tensors become operations on bytes, in the same place.

// CHECK-LABEL: util.func public @operations
// CHECK: stream.async.alloca on(#hal.device.affinity<@d>) : !stream.resource<*>{%s}
// CHECK: stream.async.constant on(#hal.device.affinity<@d>) : !stream.resource<constant>{%{{.*}}} = dense<[1, 0, 1]> : tensor<3xi8>
// CHECK: arith.bitcast %f : f32 to i32
// CHECK: stream.async.splat on(#hal.device.affinity<@d>) %{{.*}} : i32 -> !stream.resource<*>{%s}
// CHECK: arith.extui %nibble : i4 to i8
// CHECK: arith.shli
// CHECK: %[[BYTE:.*]] = arith.ori
// CHECK: stream.async.splat %[[BYTE]] : i8 -> !stream.resource<*>{%s}
// CHECK: arith.constant 24 : index
// CHECK: stream.async.slice on(#hal.device.affinity<@d>) %{{.*}}[%{{.*}} to %{{.*}}]
// CHECK: stream.async.fill on(#hal.device.affinity<@d>) %{{.*}}, %{{.*}}[%{{.*}} to %s for %s] : i32
// CHECK: stream.async.update on(#hal.device.affinity<@d>)
// CHECK: stream.async.load %staging[%{{.*}}] : !stream.resource<staging>{%s} -> f32
// CHECK: stream.async.store
// CHECK: stream.async.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%{{.*}}[%[[ZERO:.*]] to %s for %s], %n) : (!stream.resource<*>{%s}, index) -> !stream.resource<*>{%s}
// CHECK: stream.tensor.encode
// CHECK: stream.tensor.export
util.func public @operations(%s: index, %n: index, %f: f32, %nibble: i4, %staging: !stream.resource<staging>) -> !hal.buffer_view {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<4x4xf32> in !stream.resource<*>{%s}
  %1 = stream.tensor.constant on(#hal.device.affinity<@d>) : tensor<3xi1> in !stream.resource<constant> = dense<[true, false, true]> : tensor<3xi1>
  %2 = stream.tensor.splat on(#hal.device.affinity<@d>) %f : f32 -> tensor<4x4xf32> in !stream.resource<*>{%s}
  %3 = stream.tensor.splat %nibble : i4 -> tensor<4x4xi4> in !stream.resource<*>{%s}
  %4 = stream.tensor.clone on(#hal.device.affinity<@d>) %2 : tensor<4x4xf32> in !stream.resource<*>{%s} -> tensor<4x4xf32> in !stream.resource<*>{%s}
  %5 = stream.tensor.slice on(#hal.device.affinity<@d>) %4[%c1, %c2 for %c1, %c2] : tensor<4x4xf32> in !stream.resource<*>{%s} -> tensor<1x2xf32> in !stream.resource<*>{%s}
  %6 = stream.tensor.fill on(#hal.device.affinity<@d>) %f, %4 : f32 -> tensor<4x4xf32> in %4 as !stream.resource<*>{%s}
  %7 = stream.tensor.update on(#hal.device.affinity<@d>) %5, %6[%c1, %c2] : tensor<1x2xf32> in !stream.resource<*>{%s} -> tensor<4x4xf32> in %6 as !stream.resource<*>{%s}
  %8 = stream.tensor.load %staging[%n] : tensor<4xf32> in !stream.resource<staging>{%s} -> f32
  %9 = stream.tensor.store %8, %staging[%n] : f32 -> tensor<4xf32> in %staging as !stream.resource<staging>{%s}
  %10 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%7, %n) : (tensor<4x4xf32> in !stream.resource<*>{%s}, index) -> tensor<4x4xf32> in !stream.resource<*>{%s}
  %11 = stream.tensor.encode on(#hal.device.affinity<@d>) %10 : tensor<4x4xf32> in !stream.resource<*>{%s} -> tensor<4x4xf32, #iree_encoding.identity> in !stream.resource<*>{%s}
  %12 = stream.tensor.export on(#hal.device.affinity<@d>) %11 : tensor<4x4xf32, #iree_encoding.identity> in !stream.resource<*>{%s} -> !hal.buffer_view
  util.return %12 : !hal.buffer_view
}

// -----

// What 2024 allocated before encodings knew targets: M, N and K rounded up, whatever the device.

// CHECK-LABEL: util.func public @baseline
// CHECK: arith.constant 768 : index
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : index
// CHECK: %[[T:.*]] = arith.ceildivsi %k, %[[SIXTEEN]] : index
// CHECK: %[[K:.*]] = arith.muli %[[T]], %{{.*}} overflow<nsw> : index
// CHECK: %[[B:.*]] = arith.muli %b, %{{.*}} overflow<nsw> : index
// CHECK: arith.muli %[[B]], %[[K]] overflow<nsw> : index
// CHECK: complex.bitcast %z : complex<f32> to i64
#lhs = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], round_dims_to = array<i64: 4, 8, 16>>
#batched = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], bcast_map = affine_map<(b, m, k) -> (b, k)>, round_dims_to = array<i64: 4, 8, 16>>
util.func public @baseline(%b: index, %k: index, %z: complex<f32>, %s: index) {
  %0 = stream.tensor.sizeof tensor<10x11xf32, #lhs> : index
  %1 = stream.tensor.sizeof tensor<?x?xf32, #batched>{%b, %k} : index
  %2 = stream.tensor.splat %z : complex<f32> -> tensor<6xcomplex<f32>> in !stream.resource<*>{%s}
  util.return
}

// -----

// Elements that share a byte: it is loaded and shifted, or put together anew. Booleans and odd widths
// have bytes of their own, unless the encoding packs them.

// CHECK-LABEL: util.func public @elements
util.func public @elements(%r: !stream.resource<staging>, %s: index, %i: index, %v: i4) -> (i4, i4, i12, f4E2M1FN, !stream.resource<staging>) {
  %c3 = arith.constant 3 : index
  // CHECK: %[[TWO:.*]] = arith.constant 2 : index
  // CHECK: %[[AT:.*]] = arith.divui %i, %[[TWO]] : index
  // CHECK: %[[WHICH:.*]] = arith.remui %i, %{{.*}} : index
  // CHECK: %[[BITS:.*]] = arith.muli %[[WHICH]], %{{.*}} : index
  // CHECK: %[[SHIFT:.*]] = arith.index_cast %[[BITS]] : index to i8
  // CHECK: %[[BYTE:.*]] = stream.async.load %r[%[[AT]]] : !stream.resource<staging>{%s} -> i8
  // CHECK: %[[LOW:.*]] = arith.shrui %[[BYTE]], %[[SHIFT]] : i8
  // CHECK: arith.trunci %[[LOW]] : i8 to i4
  %0 = stream.tensor.load %r[%i] : tensor<5xi4> in !stream.resource<staging>{%s} -> i4
  // CHECK: %[[AT:.*]] = arith.constant 1 : index
  // CHECK: %[[SHIFT:.*]] = arith.constant 4 : i8
  // CHECK: stream.async.load %r[%[[AT]]]
  // CHECK: arith.shrui %{{.*}}, %[[SHIFT]] : i8
  %1 = stream.tensor.load %r[%c3] : tensor<5xi4> in !stream.resource<staging>{%s} -> i4
  // CHECK: %[[AT:.*]] = arith.constant 6 : index
  // CHECK: stream.async.load %r[%[[AT]]] : !stream.resource<staging>{%s} -> i12
  %2 = stream.tensor.load %r[%c3] : tensor<5xi12> in !stream.resource<staging>{%s} -> i12
  // CHECK: %[[LOW:.*]] = arith.trunci %{{.*}} : i8 to i4
  // CHECK: arith.bitcast %[[LOW]] : i4 to f4E2M1FN
  %3 = stream.tensor.load %r[%c3] : tensor<5xf4E2M1FN> in !stream.resource<staging>{%s} -> f4E2M1FN
  // CHECK: %[[SHIFT:.*]] = arith.constant 4 : i8
  // CHECK: %[[WIDE:.*]] = arith.extui %v : i4 to i8
  // CHECK: %[[NEW:.*]] = arith.shli %[[WIDE]], %[[SHIFT]] : i8
  // CHECK: %[[FIELD:.*]] = arith.shli %{{.*}}, %[[SHIFT]] : i8
  // CHECK: %[[OTHERS:.*]] = arith.xori %[[FIELD]], %{{.*}} : i8
  // CHECK: %[[BYTE:.*]] = stream.async.load %r[%{{.*}}] : !stream.resource<staging>{%s} -> i8
  // CHECK: %[[KEPT:.*]] = arith.andi %[[BYTE]], %[[OTHERS]] : i8
  // CHECK: %[[BOTH:.*]] = arith.ori %[[KEPT]], %[[NEW]] : i8
  // CHECK: stream.async.store %[[BOTH]], %r[%{{.*}}] : i8 -> %r as !stream.resource<staging>{%s}
  %4 = stream.tensor.store %v, %r[%c3] : i4 -> tensor<5xi4> in %r as !stream.resource<staging>{%s}
  util.return %0, %1, %2, %3, %4 : i4, i4, i12, f4E2M1FN, !stream.resource<staging>
}

// -----

// Parts of tensors whose elements share bytes: those that begin with a byte, and end with one or with
// the tensor. What is only read may end anywhere.

// CHECK-LABEL: util.func public @parts
util.func public @parts(%r: !stream.resource<*>, %s: index, %i: index, %v: i4, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %two = stream.tensor.sizeof tensor<3xi4> : index
  // CHECK: stream.async.slice %r[%[[ONE:.*]] to %[[THREE:.*]]] : !stream.resource<*>{%s} -> !stream.resource<*>{%{{.*}}}
  %0 = stream.tensor.slice %r[%c2 for %c3] : tensor<9xi4> in !stream.resource<*>{%s} -> tensor<3xi4> in !stream.resource<*>{%two}
  // CHECK: arith.muli %i, %{{.*}} : index
  // CHECK: stream.async.fill
  %1 = stream.tensor.fill %v, %r[%i, %c0 for %c1, %c8] : i4 -> tensor<3x8xi4> in %r as !stream.resource<*>{%s}
  // CHECK: stream.async.update
  %2 = stream.tensor.update %0, %r[%c2] : tensor<3xi4> in !stream.resource<*>{%two} -> tensor<5xi4> in %r as !stream.resource<*>{%s}
  // CHECK: arith.extui %flag : i1 to i8
  // CHECK-COUNT-7: arith.shli
  // CHECK: stream.async.splat
  %3 = stream.tensor.splat %flag : i1 -> tensor<16xi1, #iree_encoding.packed_storage> in !stream.resource<*>{%two}
  util.return
}

// Constants as they are stored: whole bytes for integers of odd widths, with zeros beyond them.
// CHECK-LABEL: func.func @constants
func.func @constants() -> (!stream.resource<constant>, !stream.resource<constant>, !stream.resource<constant>) {
  // CHECK: stream.async.constant {{.*}} = dense<[7, 2, 4]> : tensor<3xi8>
  %0 = stream.tensor.constant : tensor<3xi3> in !stream.resource<constant> = dense<[-1, 2, -4]> : tensor<3xi3>
  // CHECK: stream.async.constant {{.*}} = dense<4095> : tensor<3xi16>
  %1 = stream.tensor.constant : tensor<3xi12> in !stream.resource<constant> = dense<-1> : tensor<3xi12>
  // CHECK: stream.async.constant {{.*}} = dense<[-1, 2]> : tensor<2xi4>
  %2 = stream.tensor.constant : tensor<2xi4> in !stream.resource<constant> = dense<[-1, 2]> : tensor<2xi4>
  return %0, %1, %2 : !stream.resource<constant>, !stream.resource<constant>, !stream.resource<constant>
}

// Elements without gaps, the first in the lowest bits.
// CHECK-LABEL: func.func @packed_constants
func.func @packed_constants() -> (!stream.resource<constant>, !stream.resource<constant>) {
  // CHECK: stream.async.constant {{.*}} = dense<[-69, 1]> : tensor<2xi8>
  %0 = stream.tensor.constant : tensor<10xi1, #iree_encoding.packed_storage> in !stream.resource<constant> = dense<[1, 1, 0, 1, 1, 1, 0, 1, 1, 0]> : tensor<10xi1, #iree_encoding.packed_storage>
  // CHECK: stream.async.constant {{.*}} = dense<[33, 3]> : tensor<2xi8>
  %1 = stream.tensor.constant : tensor<3xi4, #iree_encoding.packed_storage> in !stream.resource<constant> = dense<[1, 2, 3]> : tensor<3xi4, #iree_encoding.packed_storage>
  return %0, %1 : !stream.resource<constant>, !stream.resource<constant>
}

// A copy of a tensor in rows may be about other elements of as many bytes.
// CHECK-LABEL: util.func public @reinterpreted
util.func public @reinterpreted(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  // CHECK-NEXT: util.return %r
  %0 = stream.tensor.clone %r : tensor<8xi4> in !stream.resource<*>{%s} -> tensor<4xi8> in !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}

// The bytes of a tensor are a number that is loaded itself.
// CHECK-LABEL: util.func public @loaded_size
util.func public @loaded_size(%r: !stream.resource<staging>, %s: index) -> (index, !stream.resource<*>) {
  %c = arith.constant 0 : index
  // CHECK: %[[SIZE:.*]] = stream.async.load
  %n = stream.tensor.load %r[%c] : tensor<4xindex> in !stream.resource<staging>{%s} -> index
  %bytes = stream.tensor.sizeof tensor<?xi8>{%n} : index
  // CHECK: stream.async.alloca : !stream.resource<*>{%[[SIZE]]}
  %0 = stream.tensor.empty : tensor<?xi8>{%n} in !stream.resource<*>{%bytes}
  // CHECK: util.return %[[SIZE]]
  util.return %bytes, %0 : index, !stream.resource<*>
}

// -----

// A copy within one lifetime is its source: what changes bytes gives new ones.

// CHECK-LABEL: util.func public @copies
// CHECK: %[[MOVED:.*]] = stream.async.clone %r : !stream.resource<*>{%s} -> !stream.resource<external>{%s}
// CHECK: util.return %r, %[[MOVED]]
util.func public @copies(%r: !stream.resource<*>, %s: index) -> (!stream.resource<*>, !stream.resource<external>) {
  %0 = stream.tensor.clone %r : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xi32> in !stream.resource<*>{%s}
  %1 = stream.tensor.clone %r : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xf32> in !stream.resource<external>{%s}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<external>
}

// -----

// Parts of elements that share a byte begin and end with whole bytes if computed offsets and sizes
// are known to be multiples.

#bits = #iree_encoding.packed_storage
// CHECK-LABEL: util.func public @multiples
util.func public @multiples(%r: !stream.resource<*>, %s: index, %n: index, %d: index) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %m = arith.muli %n, %c8 : index
  // CHECK: stream.async.slice %r
  %0 = stream.tensor.slice %r[%m for %c8] : tensor<?xi4>{%d} in !stream.resource<*>{%s} -> tensor<8xi4> in !stream.resource<*>{%s}
  %h = arith.shli %n, %c3 : index
  %o = arith.addi %h, %c16 : index
  // CHECK: stream.async.slice %r
  %1 = stream.tensor.slice %r[%o for %c8] : tensor<?xi1, #bits>{%d} in !stream.resource<*>{%s} -> tensor<8xi1, #bits> in !stream.resource<*>{%s}
  // CHECK: stream.async.update
  %2 = stream.tensor.update %r, %r[%n, %c0] : tensor<1x?xi2>{%m} in !stream.resource<*>{%s} -> tensor<?x?xi2>{%d, %m} in %r as !stream.resource<*>{%s}
  %a = util.assume.int %n<udiv = 4> : index
  // CHECK: stream.async.slice %r
  %3 = stream.tensor.slice %r[%a for %c3] : tensor<?xi2>{%d} in !stream.resource<*>{%s} -> tensor<3xi2> in !stream.resource<*>{%s}
  util.return %0, %1, %2, %3 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// -----

// Integers above 64 bits are stored in 16 bytes.
// CHECK-LABEL: @wide_integers
// CHECK: stream.async.constant : !stream.resource<constant>{%{{.*}}} = dense<[1, -170141183460469231731687303715884105728]> : tensor<2xi128>
// CHECK: stream.async.constant : !stream.resource<constant>{%{{.*}}} = dense<[5, 4722366482869645213695]> : tensor<2xi128>
util.func public @wide_integers() -> (!stream.resource<constant>, !stream.resource<constant>) {
  %0 = stream.tensor.constant : tensor<2xi128> in !stream.resource<constant> = dense<[1, -170141183460469231731687303715884105728]> : tensor<2xi128>
  %1 = stream.tensor.constant : tensor<2xi72> in !stream.resource<constant> = dense<[5, -1]> : tensor<2xi72>
  util.return %0, %1 : !stream.resource<constant>, !stream.resource<constant>
}

// -----

// A block has one constant for each number.
// CHECK-LABEL: util.func public @one_constant
// CHECK-NEXT: %[[B:.*]] = arith.constant 16 : index
// CHECK-NEXT: util.optimization_barrier %[[B]] : index
// CHECK-NEXT: util.optimization_barrier %[[B]] : index
// CHECK-NEXT: scf.if %flag {
// CHECK-NEXT:   %[[C:.*]] = arith.constant 16 : index
// CHECK-NEXT:   util.optimization_barrier %[[C]] : index
util.func public @one_constant(%flag: i1) {
  %0 = stream.tensor.sizeof tensor<4xf32> : index
  %1 = util.optimization_barrier %0 : index
  %2 = stream.tensor.sizeof tensor<2xf64> : index
  %3 = util.optimization_barrier %2 : index
  scf.if %flag {
    %4 = stream.tensor.sizeof tensor<4xf32> : index
    %5 = util.optimization_barrier %4 : index
  }
  util.return
}

// -----

// Parameters are loaded and written as bytes, and waited for at once.
// CHECK-LABEL: @parameters
// CHECK: %[[N:.*]] = arith.muli %n
// CHECK: %[[R:.*]], %[[T:.*]] = stream.async.parameter.load %scope::%key[%o] : !stream.resource<constant>{%[[N]]} => !stream.timepoint
// CHECK: stream.timepoint.await %[[T]] => %[[R]] : !stream.resource<constant>{%[[N]]}
// CHECK: stream.async.parameter.write %t[%{{.*}} to %m for %m] -> %key[%o] : !stream.resource<transient>{%m} => !stream.timepoint
// CHECK: stream.timepoint.await
util.func public @parameters(%t: !stream.resource<transient>, %scope: !util.buffer, %key: !util.buffer, %o: i64, %n: index, %m: index) -> (!stream.resource<constant>, !stream.resource<transient>) {
  %0 = stream.tensor.parameter.load %scope::%key[%o] : tensor<?x4xf32>{%n} in !stream.resource<constant>{%m}
  %1 = stream.tensor.parameter.write %t -> %key[%o] : tensor<?x4xf32>{%n} in !stream.resource<transient>{%m}
  util.return %0, %1 : !stream.resource<constant>, !stream.resource<transient>
}

// Products of sizes cannot overflow where the tensor has a layout.

// CHECK-LABEL: util.func public @flags
// CHECK: arith.muli %n, %c20 overflow<nsw> : index
// CHECK: arith.muli %n, %c24 : index
util.func public @flags(%n: index) -> (index, index) {
  %0 = stream.tensor.sizeof tensor<?x5xf32, #iree_encoding.identity>{%n} : index
  %1 = stream.tensor.sizeof tensor<?x6xf32>{%n} : index
  util.return %0, %1 : index, index
}
