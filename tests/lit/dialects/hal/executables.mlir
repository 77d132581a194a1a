// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Kernels for several targets, in all the forms that they have on their way, and from outside.

#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<uniform_buffer, "ReadOnly|Indirect">], flags = Indirect>

// CHECK-LABEL: hal.executable private lazy @kernels {
hal.executable private lazy @kernels {
  // CHECK-NEXT: hal.executable.variant public @x86 target(#executable_target_embedded_elf_x86_64) objects([#hal.executable.object<{path = "a.o", data = dense<[1, 2]> : vector<2xi8>}>]) sources({a.mlir = dense<1> : vector<4xi8>}) {
  hal.executable.variant public @x86 target(<"llvm-cpu", "embedded-elf-x86_64">) objects([#hal.executable.object<{path = "a.o", data = dense<[1, 2]> : vector<2xi8>}>]) sources({a.mlir = dense<1> : vector<4xi8>}) {
    // CHECK-NEXT: hal.executable.condition(%device: !hal.device) -> i1 {
    hal.executable.condition(%device: !hal.device) -> i1 {
      %ok, %v = hal.device.query<%device : !hal.device> key("cpu" :: "avx") : i1, i1 = false
      hal.return %v : i1
    // CHECK: } attributes {first}
    } attributes {first}
    // CHECK: hal.executable.export public @main ordinal(0) layout(#pipeline_layout) condition(%device: !hal.device, %w: index) -> i1 {
    hal.executable.export public @main ordinal(0) layout(#layout) condition(%device: !hal.device, %w: index) -> i1 {
      %ok = arith.constant true
      hal.return %ok : i1
    // CHECK: } fallback(@other) count(%{{.*}}: !hal.device, %{{.*}}: index) -> (index, index, index) {
    } fallback(@other) count(%device: !hal.device, %w: index) -> (index, index, index) {
      hal.return %w, %w, %w : index, index, index
    // CHECK: } <workgroup_size = [4 : index, 1 : index, 1 : index], subgroup_size = 64, workgroup_local_memory = 4> attributes {note}
    } <workgroup_size = [4 : index, 1 : index, 1 : index], subgroup_size = 64, workgroup_local_memory = 4> attributes {note}
    // CHECK-NEXT: hal.executable.export public @other layout(#pipeline_layout)
    hal.executable.export public @other layout(#layout)
    // CHECK: hal.executable.constant.block(%device: !hal.device) -> (i32, i32) as ("foo", "bar") attributes {note} {
    hal.executable.constant.block(%device: !hal.device) -> (i32, i32) as ("foo", "bar") attributes {note} {
      %c = arith.constant 0 : i32
      hal.return %c, %c : i32, i32
    }
    // CHECK: hal.executable.constant.block() -> i32 as "one" {
    hal.executable.constant.block() -> i32 as "one" {
      %c = arith.constant 0 : i32
      hal.return %c : i32
    }
    builtin.module {
    }
  }
  // CHECK: hal.executable.binary public @code <format = "elf", data = dense<1> : vector<8xi8>, mime_type = "application/x-elf"> attributes {note}
  hal.executable.binary public @code <format = "elf", data = dense<1> : vector<8xi8>, mime_type = "application/x-elf"> attributes {note}
}

// CHECK-LABEL: hal.executable.source public @source <objects = #hal.executable.objects<{"vmvx" = [#hal.executable.object<{path = "a.o"}>]}>> {
hal.executable.source public @source <objects = <{"vmvx" = [#hal.executable.object<{path = "a.o"}>]}>> {
  hal.executable.export public @e layout(#layout)
}

util.func private @outside(%x: tensor<4x?xf32>, %w: index) -> tensor<?x4xf32> {
  // CHECK: hal.dispatch.extern "main"[%w](%x, %w) : (tensor<4x?xf32>{%w}, index) -> tensor<?x4xf32>{%w} count(%device: !hal.device, %n: index) -> (index, index, index) {
  %y = hal.dispatch.extern "main"[%w](%x, %w) : (tensor<4x?xf32>{%w}, index) -> tensor<?x4xf32>{%w}
    count(%device: !hal.device, %n: index) -> (index, index, index) {
      hal.return %n, %n, %n : index, index, index
    }
    // CHECK: } layout(#pipeline_layout) objects({
    // CHECK-NEXT: #{{.*}} ordinal(0) = [#hal.executable.object<{path = "a.o"}>],
    layout(#layout)
    objects({
      #hal.executable.target<"llvm-cpu", "a"> ordinal(0) = [#hal.executable.object<{path = "a.o"}>],
      #hal.executable.target<"llvm-cpu", "b"> if(%device: !hal.device) -> i1 {
        %ok = arith.constant true
        hal.return %ok : i1
      // CHECK: } ordinal(1) = [#hal.executable.object<{path = "b.o"}>]
      // CHECK-NEXT: })
      } ordinal(1) = [#hal.executable.object<{path = "b.o"}>]
    })
  util.return %y : tensor<?x4xf32>
}
