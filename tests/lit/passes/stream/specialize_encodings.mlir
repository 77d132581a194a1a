// RUN: mesh-opt %s --split-input-file --specialize-encodings --remarks=encoding 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=REMARK < %t

// Two exports of one executable, each on two devices: four variants with names of their own.

// CHECK-DAG: #encoding = #iree_encoding.testing<layouts = [#iree_encoding.specialized<1, tensor<16xf32>>]>
// CHECK-DAG: #encoding1 = #iree_encoding.testing<layouts = [#iree_encoding.specialized<2, tensor<16xf32>>]>
// CHECK-LABEL: stream.executable private @ex {
// CHECK: stream.executable.export public @f
// CHECK: stream.executable.export public @g
// CHECK: func.func @f
// CHECK: #encoding
// CHECK: func.func @g
// CHECK: #encoding
// CHECK: stream.executable private @ex_dup1 {
// CHECK-NOT: @g
// CHECK: #encoding1
// CHECK: stream.executable private @ex_dup2 {
// CHECK: stream.executable.export public @g
// CHECK-NOT: @f
// CHECK: #encoding1
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex_dup1::@f
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@g
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex_dup2::@g
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex_dup2::@g
#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  stream.executable.export public @g
  builtin.module {
    func.func @f(%o: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<16xf32, #e>>
      return
    }
    func.func @g(%o: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<16xf32, #e>>
      return
    }
  }
}
stream.executable private @ex_dup0 {
}
util.func public @two_exports(%s: index) {
  %0 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %1 = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@f() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %2 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@g() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %3 = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@g() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %4 = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@g() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  util.return
}

// -----

// Who encoded a value counts and not where it is: device_b's layout is read on device_a, after a
// transfer, through a global, a call, a loop and a copy.

// CHECK-DAG: #encoding = #iree_encoding.testing<layouts = [#iree_encoding.specialized<2, tensor<16xf32>>]>
// CHECK-LABEL: util.initializer {
// CHECK: stream.tensor.encode on(#hal.device.affinity<@b>) {{.*}} : tensor<16xf32> in {{.*}} -> tensor<16xf32, #encoding
// CHECK-LABEL: util.func private @callee
// CHECK: stream.tensor.clone on(#hal.device.affinity<@a>) {{.*}} : tensor<16xf32, #encoding>
// CHECK-LABEL: util.func public @origins
// CHECK: stream.tensor.encode on(#hal.device.affinity<@a>) {{.*}} : tensor<16xf32, #encoding> in {{.*}} -> tensor<16xf32> in
#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "def", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
util.global private @weight : !stream.resource<constant>
util.initializer {
  %s = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  %0 = stream.tensor.splat on(#hal.device.affinity<@b>) %f : f32 -> tensor<16xf32> in !stream.resource<*>{%s}
  %1 = stream.tensor.encode on(#hal.device.affinity<@b>) %0 : tensor<16xf32> in !stream.resource<*>{%s} -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %2 = stream.async.clone on(#hal.device.affinity<@b>) %1 : !stream.resource<*>{%s} -> !stream.resource<constant>{%s}
  util.global.store %2, @weight : !stream.resource<constant>
  util.return
}
util.func private @callee(%r: !stream.resource<*>, %s: index) -> !stream.resource<*> {
  %0 = stream.tensor.clone on(#hal.device.affinity<@a>) %r : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  util.return %0 : !stream.resource<*>
}
util.func public @origins(%s: index, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = util.global.load @weight : !stream.resource<constant>
  %t = stream.async.transfer %w : !stream.resource<constant>{%s} from(#hal.device.affinity<@b>) -> to(#hal.device.affinity<@a>) !stream.resource<*>{%s}
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t) -> (!stream.resource<*>) {
    %y = util.call @callee(%x, %s) : (!stream.resource<*>, index) -> !stream.resource<*>
    scf.yield %y : !stream.resource<*>
  }
  %u = stream.tensor.encode on(#hal.device.affinity<@a>) %l : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<16xf32> in !stream.resource<*>{%s}
  util.return %u : !stream.resource<*>
}

// -----

// A result that is stored in an operand keeps the operand's layout. An operation without an
// affinity of its own runs where its scope says.

// CHECK-DAG: #encoding = #iree_encoding.testing<layouts = [#iree_encoding.specialized<2, tensor<16xf32>>]>
// CHECK-LABEL: builtin.module attributes {stream.affinity.default
// CHECK: func.func @f
// CHECK: readwrite:tensor<16xf32, #encoding
// CHECK: stream.tensor.empty : tensor<16xf32, #encoding
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f({{.*}}) : (tensor<16xf32, #encoding{{.*}} -> tensor<16xf32, #encoding
module attributes {stream.affinity.default = #hal.device.affinity<@b>} {
  util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
  util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "def", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
  stream.executable private @ex {
    stream.executable.export public @f
    builtin.module {
      func.func @f(%o: !stream.binding) {
        %c0 = arith.constant 0 : index
        %0 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<16xf32, #iree_encoding.testing<>>>
        return
      }
    }
  }
  util.func public @ties(%s: index) {
    %0 = stream.tensor.empty : tensor<16xf32, #iree_encoding.testing<>> in !stream.resource<*>{%s}
    %1 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f(%0) : (tensor<16xf32, #iree_encoding.testing<>> in !stream.resource<*>{%s}) -> tensor<16xf32, #iree_encoding.testing<>> in %0{%s}
    util.return
  }
}

// -----

// Targets of one device that want different layouts: none. Equal layouts of different targets:
// one. Neither AVX2 nor AVX-512 has a tile for f64: the identity, and nothing to do.

// CHECK-DAG: #encoding = #iree_encoding.layout<[#iree_encoding.identity]>
// CHECK-DAG: #encoding1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [8, 1], outerDimsPerm = [0, 1]}}>]>
// CHECK-LABEL: util.func public @targets
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@differ>) tensor<17x40xf32, #encoding>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@agree>) tensor<17x40xf32, #encoding1>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@agree>) tensor<17x40xf64, #encoding>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@optional>) tensor<17x40xf32, #encoding>
// REMARK: remark: 'stream.tensor.sizeof' op [encoding] encoding of encoded tensor<17x40xf32> dropped: the targets of #hal.device.affinity<@differ> choose different layouts
// REMARK: remark: 'stream.tensor.sizeof' op [encoding] encoding of encoded tensor<17x40xf64> dropped: #hal.device.affinity<@agree> has no solver, or the solver chooses no tiles for it
#f32 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#f64 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f64, f64, f64], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#avx = #hal.executable.target<"llvm-cpu", "elf", {target_triple = "x86_64-x-x", cpu_features = "+avx", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#avx2 = #hal.executable.target<"llvm-cpu", "elf", {target_triple = "x86_64-x-x", cpu_features = "+avx,+avx2", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#avx512 = #hal.executable.target<"llvm-cpu", "elf", {target_triple = "x86_64-x-x", cpu_features = "+avx,+avx2,+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @differ = #hal.device.target<"local", [#avx512, #avx2]> : !hal.device
util.global private @agree = #hal.device.target<"local", [#avx, #avx2]> : !hal.device
util.global private @optional = #hal.device.select<[#hal.device.target<"local", [#avx512]> : !hal.device, #hal.device.fallback<@agree> : !hal.device]> : !hal.device
util.func public @targets() {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@differ>) tensor<17x40xf32, #f32> : index
  %1 = stream.tensor.sizeof on(#hal.device.affinity<@agree>) tensor<17x40xf32, #f32> : index
  %2 = stream.tensor.sizeof on(#hal.device.affinity<@agree>) tensor<17x40xf64, #f64> : index
  %3 = stream.tensor.sizeof on(#hal.device.affinity<@optional>) tensor<17x40xf32, #f32> : index
  util.return
}

// -----

// A kernel without encodings is shared between formats that devices tell apart, and not between two
// targets of one format.

// CHECK-LABEL: util.func public @plain_kernels
// CHECK: stream.async.dispatch on(#hal.device.affinity<@a>) @ex::@f
// CHECK: stream.async.dispatch on(#hal.device.affinity<@b>) @ex_dup0::@f
// CHECK: stream.async.dispatch on(#hal.device.affinity<@c>) @ex::@f
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "elf", {cpu_features = "+avx"}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"x", "elf", {cpu_features = "+avx512f"}>]> : !hal.device
util.global private @c = #hal.device.target<"local", [#hal.executable.target<"vmvx", "bytecode">]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%o: !stream.binding) {
      return
    }
  }
}
util.func public @plain_kernels(%s: index) {
  %0 = stream.async.dispatch on(#hal.device.affinity<@a>) @ex::@f() : () -> !stream.resource<*>{%s}
  %1 = stream.async.dispatch on(#hal.device.affinity<@b>) @ex::@f() : () -> !stream.resource<*>{%s}
  %2 = stream.async.dispatch on(#hal.device.affinity<@c>) @ex::@f() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

// What nobody knows and what is resolved already stay as they are, on any device.

// CHECK-DAG: #encoding = #iree_encoding.unknown
// CHECK-DAG: #encoding1 = #iree_encoding.testing<layouts = [#iree_encoding.specialized<123>]>
// CHECK-LABEL: util.func public @as_it_was
// CHECK: stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<4xf32, #encoding>
// CHECK: stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<4xf32, #encoding1>
// CHECK: stream.tensor.slice {{.*}} : tensor<4xf32, #encoding>
util.global private @d : !hal.device
util.func public @as_it_was(%s: index, %i: index) {
  %0 = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<4xf32, #iree_encoding.unknown> in !stream.resource<*>{%s}
  %1 = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<4xf32, #iree_encoding.testing<layouts = [#iree_encoding.specialized<123>]>> in !stream.resource<*>{%s}
  %2 = stream.tensor.slice on(#hal.device.affinity<@d>) %0[%i for %i] : tensor<4xf32, #iree_encoding.unknown> in !stream.resource<*>{%s} -> tensor<4xf32, #iree_encoding.unknown> in !stream.resource<*>{%s}
  util.return
}

// -----

// One function under two names, a binding read as two tensors, a dispatch of several entry points.

// CHECK-LABEL: util.func public @entries
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex_dup1::@g
// CHECK: stream.tensor.dispatch on(#hal.device.affinity<@b>) {@ex_dup0::@f, @ex_dup1::@g}
#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  stream.executable.export public @f as("g")
  builtin.module {
    func.func @f(%o: !stream.binding, %n: index, %p: !stream.binding) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %0 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<16xf32, #e>>
      %1 = stream.binding.subspan %o[%c64] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32, #e>>
      %2 = stream.binding.subspan %p[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<16xf32, #e>>
      return
    }
  }
}
util.func public @entries(%s: index) {
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  %1 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f(%0, %s) : (tensor<16xf32, #e> in !stream.resource<*>{%s}, index) -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %2 = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@g(%0, %s) : (tensor<16xf32, #e> in !stream.resource<*>{%s}, index) -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %3 = stream.tensor.dispatch on(#hal.device.affinity<@b>) {@ex::@f, @ex::@g}(%0, %s) : (tensor<16xf32, #e> in !stream.resource<*>{%s}, index) -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  util.return
}

// -----

// What comes from outside is taken to be laid out for the device that reads it.

// REMARK: reads encoded tensor<16xf32>, whose source device is unknown: it is assumed to be laid out for #hal.device.affinity<@a>
// CHECK-LABEL: util.func public @from_outside
// CHECK: stream.tensor.encode on(#hal.device.affinity<@a>) %{{.*}} : tensor<16xf32, #encoding> in
#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.func public @from_outside(%r: !stream.resource<*>, %s: index) {
  %0 = stream.tensor.encode on(#hal.device.affinity<@a>) %r : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<16xf32> in !stream.resource<*>{%s}
  util.return
}

// -----

// A solver that is none lays out as if there were none; a processor without a triple has no tiles.

// CHECK-DAG: #[[PLAIN:.*]] = #iree_encoding.layout<[#iree_encoding.identity]>
// CHECK-LABEL: util.func public @no_tiles
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16x4xf32, #[[PLAIN]]>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@b>) tensor<16x4xf32, #[[PLAIN]]>
// REMARK: runs on a target whose iree.encoding.resolver cannot lay out tensors: "junk"; it is ignored
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = "junk"}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "elf", {iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.func public @no_tiles(%s: index) {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16x4xf32, #e> : index
  %1 = stream.tensor.sizeof on(#hal.device.affinity<@b>) tensor<16x4xf32, #e> : index
  util.return
}

// -----

// The encoding for tests keeps what each target of a device says; others have one layout or none.

// CHECK-DAG: #[[BOTH:.*]] = #iree_encoding.testing<layouts = [#iree_encoding.specialized<1, tensor<16x4xf32>>, #iree_encoding.specialized<2, tensor<16x4xf32>>]>
// CHECK-DAG: #[[NAMED:.*]] = #iree_encoding.layout<[#iree_encoding.specialized<1, tensor<16x4xf32>>]>
// CHECK-LABEL: util.func public @test_solvers
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16x4xf32, #[[BOTH]]>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@b>) tensor<16x4xf32, #[[NAMED]]>
#t = #iree_encoding.testing<>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
#one = #hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>
#two = #hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>
util.global private @a = #hal.device.target<"local", [#one, #two]> : !hal.device
util.global private @b = #hal.device.target<"local", [#one]> : !hal.device
util.func public @test_solvers(%s: index) {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16x4xf32, #t> : index
  %1 = stream.tensor.sizeof on(#hal.device.affinity<@b>) tensor<16x4xf32, #e> : index
  util.return
}

// -----

// A kernel that another one calls stays with it.

// CHECK-LABEL: stream.executable private @ex {
// CHECK: stream.executable private @ex_dup0 {
// CHECK-NOT: stream.executable.export public @f
// CHECK: func.func @f
// CHECK: func.func @g
// CHECK: call @f
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "elf", {cpu_features = "+avx"}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"x", "elf", {cpu_features = "+avx512f"}>]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  stream.executable.export public @g
  builtin.module {
    func.func @f(%o: !stream.binding) {
      return
    }
    func.func @g(%o: !stream.binding) {
      call @f(%o) : (!stream.binding) -> ()
      return
    }
  }
}
util.func public @calling_kernels(%s: index) {
  %c0 = arith.constant 0 : index
  %0 = stream.async.dispatch on(#hal.device.affinity<@a>) @ex::@g() : () -> !stream.resource<*>{%s}
  %1 = stream.async.dispatch on(#hal.device.affinity<@b>) @ex::@g() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

// A collective's result is in its target.
// CHECK-LABEL: @collective
// CHECK: flow.collective.all_gather f32, %0, %x, %channel
util.func public @collective(%x: tensor<4xf32>, %channel: !flow.channel) -> tensor<8xf32> {
  %0 = flow.tensor.empty : tensor<8xf32>
  %1 = flow.collective.all_gather f32, %0, %x, %channel : (tensor<8xf32>, tensor<4xf32>, !flow.channel) -> %0 as tensor<8xf32>
  util.return %1 : tensor<8xf32>
}
