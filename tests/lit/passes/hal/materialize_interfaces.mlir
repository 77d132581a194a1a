// RUN: mesh-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --iree-hal-materialize-interfaces | filecheck %s

// An executable has a variant for each target that it is dispatched to.

// CHECK: #[[L:.*]] = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>
// CHECK: hal.executable private @ex {
// CHECK:   hal.executable.variant public @embedded_elf_x86_64 target(
// CHECK:     hal.executable.export public @f ordinal(0) layout(#[[L]]) count(%{{.*}}: !hal.device, %[[N:.*]]: index) -> (index, index, index) {
// CHECK:       hal.return %[[N]], %[[N]], %[[N]]
// CHECK:     func.func @f() {
// CHECK:       %[[I:.*]] = hal.interface.constant.load layout(#[[L]]) ordinal(0) : i32
// CHECK:       %[[Z:.*]] = arith.constant 0
// CHECK:       hal.interface.binding.subspan layout(#[[L]]) binding(0) offset(%[[Z]]) flags(ReadOnly) : memref<4xf32>
// CHECK:       hal.interface.binding.subspan layout(#[[L]]) binding(1) offset(%[[Z]]) : memref<4xf32>
// CHECK:       hal.interface.workgroup.id[0] : index
// CHECK:   hal.executable.variant public @vmvx_bytecode_fb target(
// CHECK-NOT: @unused
// CHECK: stream.cmd.dispatch {@ex::@embedded_elf_x86_64::@f, @ex::@vmvx_bytecode_fb::@f}[%n](%i : i32)
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">, #hal.executable.target<"vmvx", "vmvx-bytecode-fb">]> : !hal.device
stream.executable private @unused {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding) {
      func.return
    }
  }
}
stream.executable private @ex {
  stream.executable.export public @f workgroups(%n: index) -> (index, index, index) {
    stream.return %n, %n, %n : index, index, index
  }
  builtin.module {
    func.func @f(%a: !stream.binding, %i: i32, %b: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> memref<4xf32>
      %1 = stream.binding.subspan %b[%c0] : !stream.binding -> memref<4xf32>
      %2 = stream.dispatch.workgroup.id[0] : index
      "test.use"(%0, %1, %2, %i) : (memref<4xf32>, memref<4xf32>, index, i32) -> ()
      func.return
    }
  }
}
util.func public @main(%r: !stream.resource<external>, %n: index, %i: i32) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %a: !stream.resource<external>{%n}) {
    stream.cmd.dispatch @ex::@f[%n](%i : i32) {ro %a[%n for %n] : !stream.resource<external>{%n}, wo %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding) {
      func.return
    }
  }
}
util.func public @main(%r: !stream.resource<external>, %n: index) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %a: !stream.resource<external>{%n}) {
    // expected-error @below {{does not run on a known device, so its kernels have no target}}
    stream.cmd.dispatch @ex::@f {rw %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// What is known of arguments is told where they are asked for. Without a count of workgroups any
// sizes may be given.

// CHECK: hal.executable.export public @f ordinal(0) layout(#{{[a-z_]*}}){{$}}
// CHECK: hal.interface.constant.load layout(#{{.*}}) ordinal(0) values([4 : i32, 8 : i32]) : i32
// CHECK: hal.interface.binding.subspan layout(#{{.*}}) binding(0) alignment(64) offset(%{{.*}}) : memref<4xf32>
// CHECK: stream.cmd.dispatch @ex::@embedded_elf_x86_64::@f[%n, %n](
// CHECK: stream.cmd.dispatch @ex::@embedded_elf_x86_64::@f[%n](
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
stream.executable private @ex {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%a: !stream.binding {stream.alignment = 64 : index}, %i: i32 {stream.values = [4 : i32, 8 : i32]}) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> memref<4xf32>
      "test.use"(%0, %i) : (memref<4xf32>, i32) -> ()
      func.return
    }
  }
}
util.func public @main(%r: !stream.resource<external>, %n: index, %i: i32) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %a: !stream.resource<external>{%n}) {
    stream.cmd.dispatch @ex::@f[%n, %n](%i : i32) {rw %a[%n for %n] : !stream.resource<external>{%n}}
    stream.cmd.dispatch @ex::@f[%n](%i : i32) {rw %a[%n for %n] : !stream.resource<external>{%n}}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// A source has its layouts already, and a variant for each target that it is dispatched to.

// CHECK-NOT: hal.executable.source
// CHECK: hal.executable private @ex {
// CHECK: hal.executable.variant public @embedded_elf_arm_64 target(
// CHECK: hal.executable.export public @entry0 ordinal(0)
// CHECK: hal.executable.variant public @embedded_elf_x86_64 target(
// CHECK: hal.executable.export public @entry0 ordinal(0)
// CHECK: stream.cmd.dispatch {@ex::@embedded_elf_arm_64::@entry0, @ex::@embedded_elf_x86_64::@entry0}[
util.global private @device = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-arm_64">, #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
hal.executable.source private @ex {
  hal.executable.export public @entry0 ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%d: !hal.device, %n: index) -> (index, index, index) {
    hal.return %n, %n, %n : index, index, index
  }
  builtin.module {
    func.func @entry0() {
      %0 = hal.interface.constant.load layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) ordinal(0) : i32
      return
    }
  }
}
util.func public @main(%arg0: !stream.resource<constant>, %arg1: !stream.resource<transient>, %arg2: index, %arg3: i32) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %0 = stream.cmd.execute on(#hal.device.affinity<@device>) with(%arg0 as %a: !stream.resource<constant>{%arg2}, %arg1 as %b: !stream.resource<transient>{%arg2}) {
    stream.cmd.dispatch @ex::@entry0[%arg2](%arg3 : i32) {
      ro %a[%c0 for %arg2] : !stream.resource<constant>{%arg2},
      wo %b[%c0 for %arg2] : !stream.resource<transient>{%arg2}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}
