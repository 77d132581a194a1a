// RUN: mesh-opt %s --split-input-file --specialize-encodings --verify-diagnostics

#e = #iree_encoding.testing<>
util.func public @no_affinity(%s: index) {
  // expected-error @+1 {{has an encoded tensor but no affinity, and no scope around it has a default (stream.affinity.default): its layout cannot be resolved}}
  %0 = stream.tensor.sizeof tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.func public @no_device(%s: index) {
  // expected-error @+1 {{has an affinity to @a, but the module has no such device}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
// expected-note @+1 {{device @a is defined here}}
util.global private @a = #hal.device.target<"local"> : !hal.device
util.func public @no_targets(%s: index) {
  // expected-error @+1 {{runs on @a, whose executable targets are not known: no layout can be resolved for it}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
// expected-error @+1 {{falls back to itself: @a -> @b -> @a}}
util.global private @a = #hal.device.fallback<@b> : !hal.device
util.global private @b = #hal.device.fallback<@a> : !hal.device
util.func public @circle(%s: index) {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.unsupported_resolver}>]> : !hal.device
util.func public @refusing_solver(%s: index) {
  // expected-error @+1 {{'iree_encoding.unsupported_resolver' has no layout for tensors such as tensor<16xf32, #iree_encoding.testing<>>}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.func public @no_such_dialect(%s: index) {
  // expected-error @+1 {{has an affinity of unknown kind: #hal.device.target<"local"> : !hal.device}}
  %0 = "stream.tensor.sizeof"() <{encoding = tensor<16xf32, #e>}> {stream.affinity = #hal.device.target<"local"> : !hal.device} : () -> index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.func public @dialect_without_interface(%s: index) {
  // expected-error @+1 {{has an affinity of dialect 'util', which does not implement AffinityAnalysisDialectInterface}}
  %0 = "stream.tensor.sizeof"() <{encoding = tensor<16xf32, #e>}> {stream.affinity = #util.inline.never} : () -> index
  util.return
}

// -----

util.func public @dangling_executable(%s: index) {
  // expected-error @+1 {{dispatches @ex::@f, but the module has no executable @ex}}
  %0 = stream.async.dispatch @ex::@f() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

stream.executable private @ex {
}
util.func public @dangling_export(%s: index) {
  // expected-error @+1 {{dispatches @ex::@f, but @ex has no such export}}
  %0 = stream.async.dispatch @ex::@f() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
  }
}
util.func public @dangling_function(%s: index) {
  // expected-error @+1 {{needs the function @f, which does not exist}}
  %0 = stream.async.dispatch @ex::@f() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
util.func public @join(%s: index, %p: i1) {
  // expected-note @+1 {{laid out here for #hal.device.affinity<@a> as #iree_encoding.testing<layouts = [#iree_encoding.specialized<1, tensor<16xf32>>]>}}
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  // expected-note @+1 {{laid out here for #hal.device.affinity<@b> as #iree_encoding.testing<layouts = [#iree_encoding.specialized<2, tensor<16xf32>>]>}}
  %1 = stream.tensor.empty on(#hal.device.affinity<@b>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  %2 = arith.select %p, %0, %1 : !stream.resource<*>
  // expected-error @+1 {{reads encoded tensor<16xf32>, which several devices lay out differently; decode it before the values join}}
  %3 = stream.tensor.encode on(#hal.device.affinity<@a>) %2 : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<16xf32> in !stream.resource<*>{%s}
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.func public @slice(%s: index, %i: index) {
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  // expected-error @+1 {{does not support tensors in the layout of a device: source_encoding is tensor<16xf32, #iree_encoding.testing<>>}}
  %1 = stream.tensor.slice on(#hal.device.affinity<@a>) %0[%i for %i] : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<8xf32> in !stream.resource<*>{%s}
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%arg0: !stream.binding, %arg1: !stream.binding) {
      %c0 = arith.constant 0 : index
      %1 = stream.binding.subspan %arg0[%c0] : !stream.binding -> memref<16xf32>
      return
    }
  }
}
util.func public @layout_lost(%s: index) {
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  // expected-error @+1 {{passes an encoded tensor to @f, but the kernel does not read argument #0 as a type that carries an encoding: its layout would be lost}}
  %1 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f(%0) : (tensor<16xf32, #e> in !stream.resource<*>{%s}) -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  util.return
}

// -----

stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%o: !stream.binding) {
      return
    }
  }
}
util.func public @plain_dispatch_on_no_device(%s: index) {
  // expected-error @+1 {{has an affinity to @gone, but the module has no such device}}
  %0 = stream.async.dispatch on(#hal.device.affinity<@gone>) @ex::@f() : () -> !stream.resource<*>{%s}
  util.return
}

// -----

#e = #iree_encoding.testing<>
// expected-note @+1 {{@a is defined here and is not a device}}
util.global private @a = 5 : i32
util.func public @affinity_to_a_number() {
  // expected-error @+1 {{has an affinity to @a, but the module has no such device}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.func public @optimal_of_nothing() {
  // expected-error @+1 {{has an affinity that does not name a device: #hal.device.optimal<[]>}}
  %0 = stream.tensor.sizeof on(#hal.device.optimal<[]>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
// expected-error @+1 {{expected at least one device to select from}}
util.global private @a = #hal.device.select<[]> : !hal.device

// -----

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.select<[#hal.device.fallback<@gone> : !hal.device]> : !hal.device
util.func public @dangling_fallback() {
  // expected-error @+1 {{has an affinity to @gone, but the module has no such device}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

// One of the choices is known. If the other is taken nobody knows how it lays tensors out.

#e = #iree_encoding.testing<>
#known = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
// expected-note @+1 {{device @a is defined here}}
util.global private @a = #hal.device.select<[#known, #hal.device.alias<"vulkan"> : !hal.device]> : !hal.device
util.func public @half_known() {
  // expected-error @+1 {{runs on @a, whose executable targets are not known: no layout can be resolved for it}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "elf", {target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.func public @wrong_rank() {
  // expected-error @+1 {{operand #0 of the encoding's operation has 2 dimensions, not 1}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<16xf32, #e> : index
  util.return
}

// -----

// A value from either branch.

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
util.func public @either(%s: index, %p: i1) {
  %0 = scf.if %p -> (!stream.resource<*>) {
    // expected-note @+1 {{laid out here for #hal.device.affinity<@a>}}
    %1 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  } else {
    // expected-note @+1 {{laid out here for #hal.device.affinity<@b>}}
    %1 = stream.tensor.empty on(#hal.device.affinity<@b>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
    scf.yield %1 : !stream.resource<*>
  }
  // expected-error @+1 {{reads encoded tensor<16xf32>, which several devices lay out differently}}
  %2 = stream.tensor.encode on(#hal.device.affinity<@a>) %0 : tensor<16xf32, #e> in !stream.resource<*>{%s} -> tensor<16xf32> in !stream.resource<*>{%s}
  util.return
}

// -----

// What comes before the error is not rewritten either.

#e = #iree_encoding.testing<>
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<1>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"y", "abc", {iree.encoding.resolver = #iree_encoding.specialization_resolver<2>}>]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%o: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<16xf32, #e>>
      return
    }
  }
}
util.func public @late(%s: index) {
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<16xf32, #e> in !stream.resource<*>{%s}
  %1 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @ex::@f() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  %2 = stream.tensor.dispatch on(#hal.device.affinity<@b>) @ex::@f() : () -> tensor<16xf32, #e> in !stream.resource<*>{%s}
  // expected-error @+1 {{has an affinity to @c, but the module has no such device}}
  %3 = stream.tensor.sizeof on(#hal.device.affinity<@c>) tensor<16xf32, #e> : index
  util.return
}

// -----

#e = #iree_encoding.testing<>
util.func public @no_dialect(%s: index) {
  // expected-error @+1 {{has an affinity of dialect 'array', which does not implement AffinityAnalysisDialectInterface}}
  %0 = "stream.tensor.sizeof"() <{encoding = tensor<16xf32, #e>}> {stream.affinity = [1 : i64]} : () -> index
  util.return
}

// -----

// A tensor program: nothing says yet where its tensors are kept.

#e = #iree_encoding.testing<>
func.func @no_resources(%a: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{has an encoded tensor, tensor<16xf32, #iree_encoding.testing<>>, but layouts are resolved for tensors in resources: run form-dispatches and convert-to-stream first}}
  %0 = iree_encoding.set_encoding %a : tensor<16xf32> -> tensor<16xf32, #e>
  %1 = iree_encoding.unset_encoding %0 : tensor<16xf32, #e> -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

#gpu = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
util.global private @g = #hal.device.target<"hip", [#gpu]> : !hal.device
util.func public @f(%k: index) -> index {
  // expected-error @+1 {{depends on their length, which is not static}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<4x?xf16, #iree_encoding.padding<[0, ?]>>{%k} : index
  util.return %0 : index
}

// -----

#gpu = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
util.global private @g = #hal.device.target<"hip", [#gpu]> : !hal.device
util.func public @f() -> index {
  // expected-error @+1 {{only the rows of a tensor can be padded, found #iree_encoding.padding<[?, ?]>}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<4x8xf16, #iree_encoding.padding<[?, ?]>> : index
  util.return %0 : index
}

// -----

#cpu = #hal.executable.target<"llvm-cpu", "x", {iree.encoding.resolver = #iree_encoding.unsupported_resolver}>
util.global private @g = #hal.device.target<"local", [#cpu]> : !hal.device
util.func public @f() -> index {
  // expected-error @+1 {{'iree_encoding.unsupported_resolver' has no layout for tensors such as tensor<4x8xf16, #iree_encoding.padding<[0, ?]>>}}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<4x8xf16, #iree_encoding.padding<[0, ?]>> : index
  util.return %0 : index
}
