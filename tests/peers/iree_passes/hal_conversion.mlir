// builtin.module(iree-hal-conversion)
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @alloc_17(%n: index) -> (!stream.resource<staging>) {
  %r = stream.resource.alloc uninitialized : !stream.resource<staging>{%n}
  util.return %r : !stream.resource<staging>
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @alloca_19(%n: index, %t: !stream.timepoint) -> (!stream.resource<staging>, !stream.timepoint) {
  %r, %u = stream.resource.alloca uninitialized await(%t) => !stream.resource<staging>{%n} => !stream.timepoint
  util.return %r, %u : !stream.resource<staging>, !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @file_constant_63(%b: !util.buffer, %o: index, %n: index) -> (!stream.file) {
  %bs = util.buffer.size %b : !util.buffer
  %f = stream.file.constant %b[%o for %n] : !util.buffer{%bs} -> !stream.file
  util.return %f : !stream.file
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @export_88(%t: !stream.timepoint) -> (!hal.fence) {
  %f = stream.timepoint.export %t => (!hal.fence)
  util.return %f : !hal.fence
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @barrier_90(%n: index, %r: !stream.resource<external>) -> (!stream.resource<external>, !stream.timepoint) {
  %x, %t = stream.timepoint.barrier %r : !stream.resource<external>{%n} => !stream.timepoint
  util.return %x, %t : !stream.resource<external>, !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @join_92(%s: !stream.timepoint, %t: !stream.timepoint) -> (!stream.timepoint) {
  %x = stream.timepoint.join max(%s, %t) => !stream.timepoint
  util.return %x : !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @channel_create_145(%r: index, %c: index) -> (!stream.channel) {
  %x = stream.channel.create rank(%r) count(%c) : !stream.channel
  util.return %x : !stream.channel
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_177(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<4xf32> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_179(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<?x4xi8>{%d} in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_181(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<?x?xi1>{%d, %d} in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_183(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<f64> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_185(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<2xcomplex<f32>> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_187(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<?xi4>{%d} in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_189(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<?xbf16>{%d} in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_191(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<3xf8E4M3FNUZ> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_193(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<3xui8> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @texport_195(%r: !stream.resource<external>, %d: index, %n: index) -> (!hal.buffer_view) {
  %x = stream.tensor.export %r : tensor<?xi12>{%d} in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %x : !hal.buffer_view
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @timport_buffer_198(%v: !hal.buffer, %d: index, %n: index) -> (!stream.resource<external>) {
  %x = stream.tensor.import %v : !hal.buffer -> tensor<?xf32>{%d} in !stream.resource<external>{%n}
  util.return %x : !stream.resource<external>
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @timport_var_200(%v: !hal.buffer_view, %d: index, %n: index) -> (!stream.resource<external>) {
  %x = stream.tensor.import consume %v : !hal.buffer_view -> tensor<?xf32>{%d} in !stream.resource<external>{%n}
  util.return %x : !stream.resource<external>
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pload_226(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.resource<constant>, !stream.timepoint) {
  %x, %u = stream.cmd.parameter.load await(%t) => {
    %s::%k[%so] : !stream.resource<constant>{%l}
  } => !stream.timepoint
  util.return %x, %u : !stream.resource<constant>, !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pread_228(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.parameter.read await(%t) => %s::%k[%so] -> %r[%o for %l] : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %u : !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pgather_230(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.parameter.gather await(%t) => {
    %s::%k[%so] -> %r[%o for %l] : !stream.resource<transient>{%n},
    %s::%k[%so] -> %r[%n for %l] : !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pload_232(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.resource<constant>, !stream.timepoint) {
  %x, %u = stream.cmd.parameter.load {
    %s::%k[%so] : !stream.resource<constant>{%l}
  } => !stream.timepoint
  util.return %x, %u : !stream.resource<constant>, !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pread_234(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.parameter.read %s::%k[%so] -> %r[%o for %l] : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %u : !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @pgather_236(%s: !util.buffer, %k: !util.buffer, %so: i64, %o: index, %l: index, %r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.parameter.gather {
    %s::%k[%so] -> %r[%o for %l] : !stream.resource<transient>{%n},
    %s::%k[%so] -> %r[%n for %l] : !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @ctx_241() -> (!hal.device) {
  %d = stream.context.resolve : !hal.device
  util.return %d : !hal.device
}
}
// -----
module attributes {stream.affinity.default = #hal.device.affinity<@da>} {
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @ctx3_243() -> (!hal.allocator) {
  %d = stream.context.resolve : !hal.allocator
  util.return %d : !hal.allocator
}
}
// -----
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @copy_opt_130(%r: !stream.resource<transient>, %n: index, %q: !stream.resource<external>, %m: index, %o: index, %p: index, %l: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.execute on(#hal.device.optimal<[#hal.device.affinity<@da>, #hal.device.affinity<@db>]>) await(%t) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<external>{%m}) {
    stream.cmd.copy %x[%o], %y[%p], %l : !stream.resource<transient>{%n} -> !stream.resource<external>{%m}
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
// -----
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @list_249(%t: !stream.timepoint) -> (!util.list<!stream.timepoint>) {
  %c = arith.constant 1 : index
  %x = util.list.create %c : !util.list<!stream.timepoint>
  util.list.set %x[%c], %t : !stream.timepoint -> !util.list<!stream.timepoint>
  util.return %x : !util.list<!stream.timepoint>
}
// -----
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @flush_109(%r: !stream.resource<transient>, %n: index, %q: !stream.resource<external>, %m: index, %o: index, %p: index, %l: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %u = stream.cmd.execute on(#hal.device.affinity<@da>) await(%t) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<external>{%m}) {
    stream.cmd.flush to(#hal.device.affinity<@db>) %x[%o for %l] : !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
// -----
util.global private @da : !hal.device
util.global private @db : !hal.device
util.func public @reduce_120(%r: !stream.resource<transient>, %n: index, %q: !stream.resource<external>, %m: index, %o: index, %p: index, %l: index, %t: !stream.timepoint, %ch: !stream.channel, %v: i32) -> (!stream.timepoint) {
  %u = stream.cmd.execute on(#hal.device.affinity<@da>) await(%t) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<external>{%m}) {
    stream.cmd.collective<reduce with maximum : si8>[%l] channel(%ch) param(%v : i32) {
      ro %x[%o for %p] : !stream.resource<transient>{%n},
      wo %y[%p for %o] : !stream.resource<external>{%m}
    }
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
// -----
util.global private @da : !hal.device
util.global private @db : !hal.device
hal.executable private @ex {
  hal.executable.variant public @v0 target(<"llvm-cpu", "embedded-elf-x86_64">) {
    hal.executable.export public @main ordinal(0) layout(#hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%device: !hal.device, %w0: index, %w1: index) -> (index, index, index) {
      %c4 = arith.constant 4 : index
      %x = affine.apply affine_map<(d0)[s0] -> (d0 ceildiv s0)>(%w0)[%c4]
      %z = arith.constant 1 : index
      hal.return %x, %w1, %z : index, index, index
    }
    builtin.module {}
  }
}
util.func public @dispatch_137(%r: !stream.resource<transient>, %n: index, %q: !stream.resource<external>, %m: index, %o: index, %p: index, %l: index, %t: !stream.timepoint, %v: i32, %w: i32, %w0: index, %w1: index) -> (!stream.timepoint) {
  %u = stream.cmd.execute on(#hal.device.affinity<@da, [0, 1]>) await(%t) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<external>{%m}) {
    stream.cmd.dispatch @ex::@v0::@main[%w0, %w1](%v, %w : i32, i32) {
      ro %x[%o for %l] : !stream.resource<transient>{%n},
      rw %y[%p for %l] : !stream.resource<external>{%m}
    }
  } => !stream.timepoint
  util.return %u : !stream.timepoint
}
// -----
// Nothing waits for what these signal.
util.global private @dev : !hal.device
util.func public @a(%r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %x, %xt = stream.resource.alloca uninitialized on(#hal.device.affinity<@dev>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %d = stream.resource.dealloca on(#hal.device.affinity<@dev>) await(%t) => %r : !stream.resource<transient>{%n} => !stream.timepoint
  %v = arith.constant 1 : i8
  %e = stream.cmd.execute on(#hal.device.affinity<@dev>) await(%t) => with(%x as %a: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %a[%c0 for %n] : i8 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %y, %yt = stream.resource.alloca uninitialized on(#hal.device.affinity<@dev>) await(%t) => !stream.resource<external>{%n} => !stream.timepoint
  util.return
}
// -----
util.global private @dev : !hal.device
util.func public @b(%b: !util.buffer, %r: !stream.resource<constant>, %t: !stream.timepoint, %sc: !util.buffer, %k: !util.buffer, %o: i64, %n: index) {
  %c0 = arith.constant 0 : index
  %c0_i64 = arith.constant 0 : i64
  %c100 = arith.constant 100 : index
  %f = stream.file.constant on(#hal.device.affinity<@dev>) %b[%c0 for %c100] : !util.buffer{%c100} -> !stream.file
  %0 = stream.file.read on(#hal.device.affinity<@dev>) await(%t) => %f[%c0_i64], %r[%c0], %c100 : !stream.file -> !stream.resource<constant>{%c100} => !stream.timepoint
  %1 = stream.file.write on(#hal.device.affinity<@dev>) await(%t) => %r[%c0], %f[%c0_i64], %c100 : !stream.resource<constant>{%c100} -> !stream.file => !stream.timepoint
  %ld, %lt = stream.cmd.parameter.load on(#hal.device.affinity<@dev>) await(%t) => {
    %sc::%k[%o] : !stream.resource<constant>{%n}
  } => !stream.timepoint
  %rt = stream.cmd.parameter.read on(#hal.device.affinity<@dev>) await(%t) => %sc::%k[%o] -> %r[%c0 for %n] : !stream.resource<constant>{%n} => !stream.timepoint
  %wt = stream.cmd.parameter.write on(#hal.device.affinity<@dev>) await(%t) => %r[%c0 for %n] : !stream.resource<constant>{%n} -> %sc::%k[%o] => !stream.timepoint
  util.return
}
