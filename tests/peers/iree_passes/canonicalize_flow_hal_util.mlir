// builtin.module(canonicalize)

// Flow load of splat.
util.func public @a(%v: f32, %i: index) -> f32 {
  %0 = flow.tensor.splat %v : tensor<4xf32>
  %1 = flow.tensor.load %0[%i] : tensor<4xf32>
  util.return %1 : f32 }

// -----

// Store const.
util.func public @a() -> tensor<3xf32> {
  %c1 = arith.constant 1 : index
  %v = arith.constant 9.0 : f32
  %0 = arith.constant dense<[1.0,2.0,3.0]> : tensor<3xf32>
  %1 = flow.tensor.store %v, %0[%c1] : tensor<3xf32>
  util.return %1 : tensor<3xf32> }

// -----

// Reshape chain.
util.func public @a(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = flow.tensor.reshape %x : tensor<4x4xf32> -> tensor<16xf32>
  %1 = flow.tensor.reshape %0 : tensor<16xf32> -> tensor<4x4xf32>
  util.return %1 : tensor<4x4xf32> }

// -----

// Reshape dyn chain.
util.func public @a(%x: tensor<?x4xf32>, %d: index, %e: index) -> tensor<?xf32> {
  %0 = flow.tensor.reshape %x : tensor<?x4xf32>{%d} -> tensor<4x?xf32>{%d}
  %1 = flow.tensor.reshape %0 : tensor<4x?xf32>{%d} -> tensor<?xf32>{%e}
  util.return %1 : tensor<?xf32> }

// -----

// Reshape of splat/empty.
util.func public @a(%v: f32, %d: index, %e: index) -> (tensor<?xf32>, tensor<4x?xf32>) {
  %0 = flow.tensor.splat %v : tensor<?x4xf32>{%d}
  %1 = flow.tensor.reshape %0 : tensor<?x4xf32>{%d} -> tensor<?xf32>{%e}
  %2 = flow.tensor.empty : tensor<?x4xf32>{%d}
  %3 = flow.tensor.reshape %2 : tensor<?x4xf32>{%d} -> tensor<4x?xf32>{%d}
  util.return %1, %3 : tensor<?xf32>, tensor<4x?xf32> }

// -----

// Bitcast.
util.func public @a(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x8xi16>) {
  %0 = flow.tensor.bitcast %x : tensor<4x4xf32> -> tensor<4x4xi32>
  %1 = flow.tensor.bitcast %0 : tensor<4x4xi32> -> tensor<4x4xf32>
  %2 = flow.tensor.bitcast %0 : tensor<4x4xi32> -> tensor<4x8xi16>
  util.return %1, %2 : tensor<4x4xf32>, tensor<4x8xi16> }

// -----

// Clone folding.
util.func public @a(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = flow.tensor.clone %x : tensor<4xf32>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %1 = flow.tensor.clone %c : tensor<4xf32>
  util.return %0, %1 : tensor<4xf32>, tensor<4xf32> }

// -----

// Slice const.
util.func public @a() -> tensor<2xi32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c = arith.constant dense<[1,2,3,4]> : tensor<4xi32>
  %1 = flow.tensor.slice %c[%c1 for %c2] : tensor<4xi32> -> tensor<2xi32>
  util.return %1 : tensor<2xi32> }

// -----

// Slice 2d const.
util.func public @a() -> tensor<1x2xf64> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c = arith.constant dense<[[1.0,2.0,3.0],[4.0,5.0,6.0]]> : tensor<2x3xf64>
  %1 = flow.tensor.slice %c[%c1, %c1 for %c1, %c2] : tensor<2x3xf64> -> tensor<1x2xf64>
  util.return %1 : tensor<1x2xf64> }

// -----

// Slice whole.
util.func public @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %1 = flow.tensor.slice %x[%c0 for %c4] : tensor<4xf32> -> tensor<4xf32>
  util.return %1 : tensor<4xf32> }

// -----

// Slice of zero size.
util.func public @a(%x: tensor<4xf32>) -> tensor<0xf32> {
  %c0 = arith.constant 0 : index
  %1 = flow.tensor.slice %x[%c0 for %c0] : tensor<4xf32> -> tensor<0xf32>
  util.return %1 : tensor<0xf32> }

// -----

// Update const.
util.func public @a() -> tensor<4xi32> {
  %c1 = arith.constant 1 : index
  %c = arith.constant dense<[1,2,3,4]> : tensor<4xi32>
  %u = arith.constant dense<[8,9]> : tensor<2xi32>
  %1 = flow.tensor.update %u, %c[%c1] : tensor<2xi32> -> %c as tensor<4xi32>
  util.return %1 : tensor<4xi32> }

// -----

// Update whole.
util.func public @a(%u: tensor<4xi32>, %x: tensor<4xi32>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %1 = flow.tensor.update %u, %x[%c0] : tensor<4xi32> -> %x as tensor<4xi32>
  util.return %1 : tensor<4xi32> }

// -----

// Update through casts.
util.func public @a(%u: tensor<?xi32>, %x: tensor<4xi32>, %d: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %uc = tensor.cast %u : tensor<?xi32> to tensor<2xi32>
  %xc = tensor.cast %x : tensor<4xi32> to tensor<?xi32>
  %1 = flow.tensor.update %uc, %xc[%c0] : tensor<2xi32> -> %xc as tensor<?xi32>{%d}
  util.return %1 : tensor<?xi32> }

// -----

// Transfer.
util.global private @d0 : !hal.device
util.global private @d1 : !hal.device
util.func public @a(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %1 = flow.tensor.transfer %x : tensor<4xi32> to #hal.device.affinity<@d0>
  %2 = flow.tensor.transfer %1 : tensor<4xi32> to #hal.device.affinity<@d0>
  %3 = flow.tensor.transfer %2 : tensor<4xi32> to #hal.device.affinity<@d1>
  util.return %2, %3 : tensor<4xi32>, tensor<4xi32> }

// -----

// Dispatch unused operands workgroups.
util.func public @a(%x: tensor<4xi32>, %y: tensor<4xi32>, %w: index) -> tensor<4xi32> {
  %0 = flow.dispatch.workgroups[%w](%x, %y, %x) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> =
    (%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi32>>, %b: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi32>>, %c: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi32>>, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi32>>) {
    %1 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi32>> -> tensor<4xi32>
    %2 = iree_tensor_ext.dispatch.tensor.load %c, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xi32>> -> tensor<4xi32>
    %3 = arith.addi %1, %2 : tensor<4xi32>
    iree_tensor_ext.dispatch.tensor.store %3, %o, offsets = [0], sizes = [4], strides = [1] : tensor<4xi32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xi32>>
    flow.return
  } count(%z: index) -> (index,index,index) { flow.return %z, %z, %z : index,index,index }
  util.return %0 : tensor<4xi32> }

// -----

// Dispatch region results unused.
util.func public @a(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0:2 = flow.dispatch.region -> (tensor<4xi32>, tensor<4xi32>) {
    %1 = arith.addi %x, %x : tensor<4xi32>
    %2 = arith.muli %x, %x : tensor<4xi32>
    flow.return %1, %2 : tensor<4xi32>, tensor<4xi32>
  }
  util.return %0#1 : tensor<4xi32> }

// -----

// Dispatch region dup and cast.
util.func public @a(%x: tensor<4xi32>, %d: index) -> (tensor<?xi32>, tensor<?xi32>) {
  %0:2 = flow.dispatch.region -> (tensor<?xi32>{%d}, tensor<?xi32>{%d}) {
    %1 = arith.addi %x, %x : tensor<4xi32>
    %c = tensor.cast %1 : tensor<4xi32> to tensor<?xi32>
    flow.return %c, %c : tensor<?xi32>, tensor<?xi32>
  }
  util.return %0#0, %0#1 : tensor<?xi32>, tensor<?xi32> }

// -----

// Flow dispatch dedupe entry points.
flow.executable private @e { flow.executable.export public @f }
util.func public @a(%x: tensor<?xi32>, %d: index) -> tensor<?xi32> {
  %0 = flow.dispatch {@e::@f, @e::@f}(%x) : (tensor<?xi32>{%d}) -> tensor<?xi32>{%d}
  util.return %0 : tensor<?xi32> }

// -----

// Tensor dim of flow ops.
util.func public @a(%x: tensor<?x4xi32>, %d: index, %v: i32) -> (index, index) {
  %c0 = arith.constant 0 : index
  %0 = flow.tensor.splat %v : tensor<?xi32>{%d}
  %1 = tensor.dim %0, %c0 : tensor<?xi32>
  %2 = flow.tensor.reshape %x : tensor<?x4xi32>{%d} -> tensor<4x?xi32>{%d}
  %c1 = arith.constant 1 : index
  %3 = tensor.dim %2, %c1 : tensor<4x?xi32>
  util.return %1, %3 : index, index }

// -----

// Tie_shape.
util.func public @a(%x: tensor<?x4xi32>, %d: index) -> (index, tensor<?x4xi32>) {
  %c0 = arith.constant 0 : index
  %0 = flow.tensor.tie_shape %x : tensor<?x4xi32>{%d}
  %1 = tensor.dim %0, %c0 : tensor<?x4xi32>
  util.return %1, %0 : index, tensor<?x4xi32> }

// -----

// Tie_shape static.
util.func public @a(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = flow.tensor.tie_shape %x : tensor<4xi32>
  util.return %0 : tensor<4xi32> }

// -----

// Alloca/empty/splat unused.
util.func public @a(%d: index, %v: i32) {
  %0 = flow.tensor.empty : tensor<?xi32>{%d}
  %1 = flow.tensor.splat %v : tensor<?xi32>{%d}
  %2 = flow.tensor.alloca : tensor<?xi32>{%d}
  util.return }

// -----

// Channel.
util.func public @a() -> (index, index) {
  %ch = flow.channel.default : !flow.channel
  %r = flow.channel.rank %ch : index
  %c = flow.channel.count %ch : index
  util.return %r, %c : index, index }

// -----

// Encode identity.
#e = #iree_encoding.testing<>
util.func public @a(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = flow.tensor.encode %x : tensor<4xi32> -> tensor<4xi32>
  %1 = flow.tensor.encode %0 : tensor<4xi32> -> tensor<4xi32, #e>
  %2 = flow.tensor.encode %1 : tensor<4xi32, #e> -> tensor<4xi32>
  util.return %2 : tensor<4xi32> }

// -----

// Set/unset encode fold.
#e = #iree_encoding.testing<>
util.func public @a(%x: tensor<4xi32>, %y: tensor<4xi32, #e>) -> (tensor<4xi32>, tensor<4xi32, #e>) {
  %1 = iree_encoding.set_encoding %x : tensor<4xi32> -> tensor<4xi32, #e>
  %2 = iree_encoding.unset_encoding %1 : tensor<4xi32, #e> -> tensor<4xi32>
  %3 = iree_encoding.unset_encoding %y : tensor<4xi32, #e> -> tensor<4xi32>
  %4 = iree_encoding.set_encoding %3 : tensor<4xi32> -> tensor<4xi32, #e>
  util.return %2, %4 : tensor<4xi32>, tensor<4xi32, #e> }

// -----

// Cast of set encoding.
#e = #iree_encoding.testing<>
util.func public @a(%x: tensor<?xi32>, %y: tensor<4xi32>, %d: index) -> (tensor<4xi32, #e>, tensor<?xi32>) {
  %c = tensor.cast %x : tensor<?xi32> to tensor<4xi32>
  %1 = iree_encoding.set_encoding %c : tensor<4xi32> -> tensor<4xi32, #e>
  %2 = iree_encoding.unset_encoding %1 : tensor<4xi32, #e> -> tensor<4xi32>
  %3 = tensor.cast %2 : tensor<4xi32> to tensor<?xi32>
  util.return %1, %3 : tensor<4xi32, #e>, tensor<?xi32> }

// -----

// Dispatch tensor load of whole / cast / store cast.
util.func private @a(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x?xf32>>, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x?xf32>>, %d: index) {
  %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0, 0], sizes = [4, %d], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x?xf32>>{%d} -> tensor<4x?xf32>
  %c = tensor.cast %0 : tensor<4x?xf32> to tensor<?x?xf32>
  %e = arith.constant 4 : index
  iree_tensor_ext.dispatch.tensor.store %c, %o, offsets = [0, 0], sizes = [%e, %d], strides = [1, 1] : tensor<?x?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x?xf32>>{%d}
  util.return }

// -----

// Load const sizes.
util.func private @a(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x8xf32>>) -> tensor<?x?xf32> {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [%c2, 0], sizes = [%c2, %c3], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x8xf32>> -> tensor<?x?xf32>
  util.return %0 : tensor<?x?xf32> }

// -----

// Compute barriers.
util.func private @a(%x: tensor<4xf32>, %y: tensor<?xf32>) -> (tensor<4xf32>) {
  %0 = iree_tensor_ext.compute_barrier.start %x : tensor<4xf32> -> tensor<4xf32>
  %1 = iree_tensor_ext.compute_barrier.end %0 : tensor<4xf32> -> tensor<4xf32>
  util.return %1 : tensor<4xf32> }

// -----

// Hal folds.
util.func private @a(%b: !hal.buffer, %n: index) -> (!hal.buffer, index, index) {
  %c0 = arith.constant 0 : index
  %et = hal.element_type<f32> : i32
  %en = hal.encoding_type<dense_row_major> : i32
  %v = hal.buffer_view.create buffer(%b : !hal.buffer)[%c0, %n] shape([%n]) type(%et) encoding(%en) : !hal.buffer_view
  %x = hal.buffer_view.buffer<%v : !hal.buffer_view> : !hal.buffer
  %d = hal.buffer_view.dim<%v : !hal.buffer_view>[0] : index
  %r = hal.buffer_view.rank<%v : !hal.buffer_view> : index
  util.return %x, %d, %r : !hal.buffer, index, index }

// -----

// Hal subspan.
util.func private @a(%b: !hal.buffer, %n: index, %m: index) -> (!hal.buffer_view) {
  %c0 = arith.constant 0 : index
  %et = hal.element_type<f32> : i32
  %en = hal.encoding_type<dense_row_major> : i32
  %s = hal.buffer.subspan<%b : !hal.buffer>[%m, %n] : !hal.buffer
  %v = hal.buffer_view.create buffer(%s : !hal.buffer)[%c0, %n] shape([%n]) type(%et) encoding(%en) : !hal.buffer_view
  util.return %v : !hal.buffer_view }

// -----

// Hal import export.
util.func private @a(%v: !hal.buffer_view, %d: index) -> (!hal.buffer_view, !hal.buffer_view) {
  %0 = hal.tensor.import %v : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = hal.tensor.export %0 : tensor<?xf32>{%d} -> !hal.buffer_view
  %2 = hal.tensor.export %0 "x" : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %1, %2 : !hal.buffer_view, !hal.buffer_view }

// -----

// Hal tensor barrier.
util.func private @a(%x: tensor<4xf32>, %f: !hal.fence) -> tensor<4xf32> {
  %0 = hal.tensor.barrier join(%x : tensor<4xf32>) => %f : !hal.fence
  util.return %0 : tensor<4xf32> }

// -----

// Hal device barrier elision.
util.func private @a(%dev: !hal.device, %q: i64, %f: !hal.fence) -> () {
  %c0 = arith.constant 0 : i32
  %n = util.null : !hal.fence
  hal.device.queue.barrier<%dev : !hal.device> affinity(%q) wait(%n) signal(%f) flags("None")
  util.return }

// -----

// Hal select / memoize consts.
util.func private @a(%dev: !hal.device) -> (i1) {
  %ok, %v = hal.device.query<%dev : !hal.device> key("a" :: "b") : i1, i32 = 3 : i32
  util.return %ok : i1 }

// -----

// Align chains.
util.func private @a(%x: index, %y: index) -> (index, index, index) {
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %0 = util.align %x, %c64 : index
  %1 = util.align %0, %c16 : index
  %a = util.align %y, %c16 : index
  %s = arith.addi %0, %a : index
  %2 = util.align %s, %c16 : index
  %b = arith.addi %0, %y : index
  %3 = util.align %b, %c64 : index
  util.return %1, %2, %3 : index, index, index }

// -----

// Sizeof.
util.func private @a() -> (index, index, index, index) {
  %0 = util.sizeof f32
  %1 = util.sizeof i1
  %2 = util.sizeof bf16
  %3 = util.sizeof i64
  util.return %0, %1, %2, %3 : index, index, index, index }

// -----

// Cmp and null.
util.func private @a(%x: !util.buffer) -> (i1, i1) {
  %n = util.null : !util.buffer
  %0 = util.cmp.eq %x, %x : !util.buffer
  %1 = util.cmp.eq %n, %x : !util.buffer
  util.return %0, %1 : i1, i1 }

// -----

// Buffer ops.
util.func private @a(%n: index, %x: !util.buffer, %o: index) -> (index, i32, !util.buffer) {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %b = util.buffer.alloc uninitialized : !util.buffer{%n}
  %s = util.buffer.size %b : !util.buffer
  %1 = util.buffer.subspan %x[%c8] : !util.buffer{%n} -> !util.buffer{%c16}
  %2 = util.buffer.subspan %1[%c4] : !util.buffer{%c16} -> !util.buffer{%c8}
  %3 = util.buffer.load %2[%o for %c4] : !util.buffer{%c8} -> i32
  util.return %s, %3, %2 : index, i32, !util.buffer }

// -----

// Assume int.
util.func private @a(%n: index) -> (index, index) {
  %0 = util.assume.int %n<umin = 4, umax = 4> : index
  %1:2 = util.assume.int %n<umin = 0, umax = 8, udiv = 2>, %n<udiv = 16> : index, index
  util.return %0, %1#1 : index, index }

// -----

// Global load indirect, address folds.
util.global private @g = 5 : i32
util.func private @a() -> i32 {
  %p = util.global.address @g : !util.ptr<i32>
  %0 = util.global.load.indirect %p : !util.ptr<i32> -> i32
  util.return %0 : i32 }

// -----

// Cast chain.
util.func private @a(%x: !util.object) -> !util.buffer {
  %0 = util.cast %x : !util.object to !util.buffer
  %1 = util.cast %0 : !util.buffer to !util.object
  %2 = util.cast %1 : !util.object to !util.buffer
  util.return %2 : !util.buffer }

// -----

// Call unused and initializers.
util.initializer { util.return }
util.func private @f() -> i32 { 
 %c = arith.constant 1 : i32
 util.return %c : i32 }
util.func public @a() {
  %0 = util.call @f() : () -> i32
  util.return }

// -----

// String format.
util.func private @a(%i: index) -> !util.buffer {
  %c3 = arith.constant 3 : index
  %0 = util.string.format "a{}b{}"(%i, %c3) : (index, index) -> !util.buffer
  util.return %0 : !util.buffer }
// -----
// Constants, sizes, conversions.
util.func public @a() -> (tensor<4xi32>, tensor<2x2xf32>, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = arith.constant dense<[1,2,3,4]> : tensor<4xi32>
  %b = arith.constant dense<9> : tensor<2xi32>
  %0 = flow.tensor.update %b, %a[%c1] : tensor<2xi32> -> %a as tensor<4xi32>
  %m = arith.constant dense<[[1.0,2.0],[3.0,4.0]]> : tensor<2x2xf32>
  %n = arith.constant dense<[[9.0]]> : tensor<1x1xf32>
  %1 = flow.tensor.update %n, %m[%c0, %c1] : tensor<1x1xf32> -> %m as tensor<2x2xf32>
  %l = flow.tensor.load %a[%c1] : tensor<4xi32>
  util.return %0, %1, %l : tensor<4xi32>, tensor<2x2xf32>, i32
}
// -----
util.func public @resh(%v: f32, %d: index, %e: index, %x: tensor<?x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>, tensor<?x?xf32>, tensor<?x4xi32>, tensor<?x?xf32>) {
  %s = flow.tensor.splat %v : tensor<16xf32>
  %0 = flow.tensor.reshape %s : tensor<16xf32> -> tensor<4x4xf32>
  %c = arith.constant dense<2.0> : tensor<4x4xf32>
  %1 = flow.tensor.reshape %c : tensor<4x4xf32> -> tensor<16xf32>
  %2 = flow.tensor.reshape %x : tensor<?x4xf32>{%d} -> tensor<?x?xf32>{%e, %e}
  %3 = flow.tensor.bitcast %x : tensor<?x4xf32>{%d} -> tensor<?x4xi32>{%d}
  %y = flow.tensor.bitcast %3 : tensor<?x4xi32>{%d} -> tensor<?x?xf32>{%d, %e}
  util.return %0, %1, %2, %3, %y : tensor<4x4xf32>, tensor<16xf32>, tensor<?x?xf32>, tensor<?x4xi32>, tensor<?x?xf32>
}
// -----
util.func public @dims(%x: tensor<?x4xf32>, %d: index, %e: index, %v: f32) -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = flow.tensor.clone %x : tensor<?x4xf32>{%d}
  %1 = tensor.dim %0, %c0 : tensor<?x4xf32>
  %r = flow.tensor.reshape %x : tensor<?x4xf32>{%d} -> tensor<4x?xf32>{%e}
  %2 = tensor.dim %r, %c1 : tensor<4x?xf32>
  %s = flow.tensor.splat %v : tensor<?x?xf32>{%d, %e}
  %3 = tensor.dim %s, %c1 : tensor<?x?xf32>
  %p = flow.dispatch @ex::@k(%x, %d) : (tensor<?x4xf32>{%d}, index) -> tensor<?x4xf32>{%e}
  %4 = tensor.dim %p, %c0 : tensor<?x4xf32>
  %bv = util.null : !hal.buffer_view
  %i = hal.tensor.import %bv : !hal.buffer_view -> tensor<?xf32>{%e}
  %5 = tensor.dim %i, %c0 : tensor<?xf32>
  util.return %1, %2, %3, %4, %5 : index, index, index, index, index
}
// -----
// Constants in accesses of kernels.
util.func private @a(%x: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x?xf32>>, %y: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x?xf32>>, %n: index, %m: index) -> tensor<?x?xf32> {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = iree_tensor_ext.dispatch.tensor.load %x, offsets = [%c2, 0], sizes = [%c2, %m], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x?xf32>>{%n} -> tensor<?x?xf32>
  iree_tensor_ext.dispatch.tensor.store %0, %y, offsets = [%c3, %m], sizes = [%c2, %c3], strides = [1, %m] : tensor<?x?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x?xf32>>{%n}
  util.return %0 : tensor<?x?xf32>
}
// -----
// Casts.
func.func @a(%x: tensor<4x?xf32>, %y: tensor<4x4xf32>) -> (tensor<4x?xf32>, tensor<?x4xf32>, tensor<?x?xf32>, tensor<4x4xf32>) {
  %0 = tensor.cast %x : tensor<4x?xf32> to tensor<?x?xf32>
  %1 = tensor.cast %0 : tensor<?x?xf32> to tensor<4x?xf32>
  %2 = tensor.cast %0 : tensor<?x?xf32> to tensor<?x4xf32>
  %3 = tensor.cast %y : tensor<4x4xf32> to tensor<4x?xf32>
  %4 = tensor.cast %3 : tensor<4x?xf32> to tensor<?x?xf32>
  %5 = tensor.cast %y : tensor<4x4xf32> to tensor<4x4xf32>
  return %1, %2, %4, %5 : tensor<4x?xf32>, tensor<?x4xf32>, tensor<?x?xf32>, tensor<4x4xf32>
}
// -----
func.func @b(%x: tensor<?x4xf32>) -> (tensor<4x?xf32>, tensor<*xf32>, tensor<?x4xf32>) {
  %0 = tensor.cast %x : tensor<?x4xf32> to tensor<?x?xf32>
  %1 = tensor.cast %0 : tensor<?x?xf32> to tensor<4x?xf32>
  %2 = tensor.cast %x : tensor<?x4xf32> to tensor<*xf32>
  %3 = tensor.cast %2 : tensor<*xf32> to tensor<?x4xf32>
  %4 = tensor.cast %x : tensor<?x4xf32> to tensor<4x4xf32>
  %5 = tensor.cast %4 : tensor<4x4xf32> to tensor<?x4xf32>
  return %1, %2, %5 : tensor<4x?xf32>, tensor<*xf32>, tensor<?x4xf32>
}
// -----
// Blocks of constants.
hal.executable private @ex {
  hal.executable.variant public @v target(<"a", "b">) {
    hal.executable.constant.block() -> () as () {
      hal.return
    }
    hal.executable.constant.block(%d: !hal.device) -> (i32, i32) as ("a", "a") {
      %x = arith.constant 1 : i32
      %y = arith.constant 2 : i32
      hal.return %x, %y : i32, i32
    }
    hal.executable.constant.block(%d: !hal.device) -> i32 as "b" {
      %x = arith.constant 1 : i32
      hal.return %x : i32
    }
  }
}
// -----
hal.executable private @ex {
  hal.executable.variant public @v target(<"a", "b">) {
    hal.executable.constant.block(%d: !hal.device) -> (i32, i32) as ("a", "b") {
      %ok, %y = hal.device.query<%d : !hal.device> key("sys" :: "k") : i1, i32
      %x = arith.constant 1 : i32
      hal.return %x, %y : i32, i32
    }
    hal.executable.constant.block(%d: !hal.device) -> i32 as "b" {
      %x = arith.constant 1 : i32
      hal.return %x : i32
    }
    hal.executable.constant.block(%d: !hal.device) -> i32 as "c" {
      %ok, %y = hal.device.query<%d : !hal.device> key("sys" :: "k") : i1, i32
      hal.return %y : i32
    }
  }
}
// -----
// Choices of devices with something in common.
util.func public @sel(%d: !hal.device, %d2: !hal.device, %q: i64, %q2: i64, %t: i32, %u: i32) -> (!hal.device, i64, i64, !hal.device) {
  %0, %1 = hal.allocator.select from([(%d, %q : !hal.device, i64), (%d, %q2 : !hal.device, i64)]) type(%t) usage(%u) : !hal.device, i64
  %2, %3 = hal.allocator.select from([(%d, %q : !hal.device, i64), (%d2, %q : !hal.device, i64)]) type(%t) usage(%u) : !hal.device, i64
  util.return %0, %1, %3, %2 : !hal.device, i64, i64, !hal.device
}
// -----
// A tensor listed twice.
util.func public @tb(%a: tensor<4xf32>, %b: tensor<4xf32>, %f: !hal.fence) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = hal.tensor.barrier join(%a, %b, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) => %f : !hal.fence
  util.return %0#0, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// -----
// Subspans in commands.
util.func public @cmd(%d: !hal.device, %q: i64, %b: !hal.buffer, %o: index, %l: index, %p: i32, %e: !hal.executable, %ch: !hal.channel, %f: !hal.fence, %g: !hal.fence) -> !hal.command_buffer {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c0_i64 = arith.constant 0 : i64
  %c = hal.command_buffer.create device(%d : !hal.device) mode("OneShot") categories("Transfer|Dispatch") affinity(%q) : !hal.command_buffer
  %s = hal.buffer.subspan<%b : !hal.buffer>[%o, %l] : !hal.buffer
  hal.command_buffer.fill_buffer<%c : !hal.command_buffer> target(%s : !hal.buffer)[%c0, %l] pattern(%p : i32) flags("None")
  hal.command_buffer.copy_buffer<%c : !hal.command_buffer> source(%s : !hal.buffer)[%c0] target(%s : !hal.buffer)[%o] length(%l) flags("None")
  hal.command_buffer.collective<%c : !hal.command_buffer> channel(%ch : !hal.channel) op(<all_reduce with sum : f32>) param(%p : i32) send(%s : !hal.buffer)[%c0, %l] recv(%s : !hal.buffer)[%c0, %l] count(%l)
  hal.command_buffer.dispatch<%c : !hal.command_buffer> target(%e : !hal.executable)[%c0_i64] workgroups([%l, %l, %l]) bindings([
    (%s : !hal.buffer)[%c0, %l]
  ]) flags("None")
  hal.command_buffer.dispatch.indirect<%c : !hal.command_buffer> target(%e : !hal.executable)[%c0_i64] workgroups(%s : !hal.buffer)[%c0] bindings([
    (%s : !hal.buffer)[%c0, %l]
  ]) flags("None")
  hal.command_buffer.execution_barrier<%c : !hal.command_buffer> source("CommandIssue") target("CommandProcess") flags("None")
  hal.command_buffer.execution_barrier<%c : !hal.command_buffer> source("CommandIssue") target("CommandProcess") flags("None")
  hal.command_buffer.finalize<%c : !hal.command_buffer>
  %n = util.null : !hal.command_buffer
  hal.device.queue.execute<%d : !hal.device> affinity(%q) wait(%f) signal(%g) commands(%n) flags("None")
  hal.device.queue.execute.indirect<%d : !hal.device> affinity(%q) wait(%f) signal(%g) commands(%n) bindings([
    (%s : !hal.buffer)[%c0, %l]
  ]) flags("None")
  hal.device.queue.fill<%d : !hal.device> affinity(%q) wait(%f) signal(%g) target(%s : !hal.buffer)[%c0] length(%l) pattern(%p : i32) flags("None")
  hal.device.queue.copy<%d : !hal.device> affinity(%q) wait(%f) signal(%g) source(%s : !hal.buffer)[%o] target(%s : !hal.buffer)[%c0] length(%l) flags("None")
  util.return %c : !hal.command_buffer
}
// -----
// The size of a chosen buffer.
util.func public @size(%n: index, %c: i1) -> index {
  %0 = util.buffer.alloc uninitialized : !util.buffer{%n}
  %1 = util.buffer.constant : !util.buffer = dense<[1, 2, 3]> : tensor<3xi32>
  %2 = arith.select %c, %0, %1 : !util.buffer
  %3 = util.buffer.size %2 : !util.buffer
  util.return %3 : index
}
