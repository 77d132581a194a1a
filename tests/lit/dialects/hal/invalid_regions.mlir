// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// What the regions of executables take and give, and what kernels may ask for.

#target = #hal.executable.target<"a", "b">
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{the body must return (i1)}}
    hal.executable.condition(%d: !hal.device) -> i1 {
      %0 = arith.constant 1 : i32
      hal.return %0 : i32
    }
  }
}

// -----

#target = #hal.executable.target<"a", "b">
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{target condition region must return one i1}}
    hal.executable.condition(%d: !hal.device) -> i32 {
      %0 = arith.constant 1 : i32
      hal.return %0 : i32
    }
  }
}

// -----

#target = #hal.executable.target<"a", "b">
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{initializer must take a !hal.device or nothing}}
    hal.executable.constant.block(%d: i32) -> i32 as "foo" {
      hal.return %d : i32
    }
  }
}

// -----

#target = #hal.executable.target<"a", "b">
#layout = #hal.pipeline.layout<bindings = []>
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{workgroup count region must return the XYZ dimension counts as `index` types}}
    hal.executable.export public @x ordinal(0) layout(#layout) count(%d: !hal.device, %a: index) -> (index, index, index) {
      hal.return %a, %a : index, index
    }
  }
}

// -----

#target = #hal.executable.target<"a", "b">
#layout = #hal.pipeline.layout<bindings = []>
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{expected workgroup_count to take (%device: !hal.device, %workload_0: index, %workload_1: index, ...)}}
    hal.executable.export public @x ordinal(0) layout(#layout) count(%a: index) -> (index, index, index) {
      hal.return %a, %a, %a : index, index, index
    }
  }
}

// -----

#target = #hal.executable.target<"a", "b">
#layout = #hal.pipeline.layout<bindings = []>
hal.executable private @e {
  hal.executable.variant public @v target(#target) {
    // expected-error @+1 {{undefined fallback entry point: @y}}
    hal.executable.export public @x ordinal(0) layout(#layout) condition(%d: !hal.device) -> i1 {
      %0 = arith.constant true
      hal.return %0 : i1
    } fallback(@y)
  }
}

// -----

#target = #hal.executable.target<"a", "b">
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>
util.func private @extern(%x: tensor<4xf32>, %w: index) {
  // expected-error @+1 {{workload operands and workgroup count args mismatch (2 vs 1)}}
  %0 = hal.dispatch.extern "m"[%w, %w](%x) : (tensor<4xf32>) -> tensor<4xf32> count(%d: !hal.device, %a: index) -> (index, index, index) {
    hal.return %a, %a, %a : index, index, index
  } layout(#layout) objects({#target ordinal(0) = [#hal.executable.object<{path = "x"}>]})
  util.return
}

// -----

util.func private @ordinal() {
  // expected-error @+1 {{push constant ordinal out of bounds}}
  %0 = hal.interface.constant.load layout(<constants = 2, bindings = []>) ordinal(2) : i32
  util.return
}

// -----

util.func private @number() {
  // expected-error @+1 {{but got 'vector<4xi32>'}}
  %0 = hal.interface.constant.load layout(<constants = 2, bindings = []>) ordinal(1) : vector<4xi32>
  util.return
}

// -----

util.func private @binding() {
  // expected-error @+1 {{binding ordinal 0 out of bounds in layout #hal.pipeline.layout<bindings = []>}}
  %0 = hal.interface.binding.subspan layout(<bindings = []>) binding(0) : memref<4xf32>
  util.return
}
