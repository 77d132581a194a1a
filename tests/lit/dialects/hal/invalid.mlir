// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected #hal.executable.target, found 1 : i32}}
util.global private @d = #hal.device.target<"local", [1 : i32]> : !hal.device

// -----

// expected-error @+1 {{expected at least one device to select from}}
util.global private @d = #hal.device.select<[]> : !hal.device

// -----

// expected-error @+1 {{expected !hal.device}}
util.global private @d = #hal.device.target<"local"> : i32

// -----

func.func @unknown_flag(%fence: !hal.device) {
  // expected-error @+1 {{expected flags out of None, Reserved, found 'Fast'}}
  %f = hal.fence.create device(%fence : !hal.device) flags("Fast") : !hal.fence
  return
}

// -----

// expected-error @+1 {{Expected one of 'bf16', 'f16'}}
func.func private @element() attributes {a = #hal.collective<all_reduce with sum : i32>}

// -----

hal.executable private @e {
  hal.executable.variant public @v target(<"a", "b">) {
    // expected-error @+1 {{expected 1 keys, one for each constant, found 2}}
    hal.executable.constant.block() -> i32 as ("one", "two") {
      %c = arith.constant 0 : i32
      hal.return %c : i32
    }
  }
}

// -----

func.func @binding_columns(%d: !hal.device, %i: i64, %f: !hal.fence, %c: !hal.command_buffer, %b: !hal.buffer, %n: index) {
  // expected-error @+1 {{expected ']'}}
  hal.device.queue.execute.indirect<%d : !hal.device> affinity(%i) wait(%f) signal(%f) commands(%c) bindings([(%b : !hal.buffer)[%n, %n, %n]]) flags("None")
  return
}

// -----

func.func @one_fence(%d: !hal.device, %i: i64, %f: !hal.fence) {
  %none = util.null : !hal.fence
  hal.device.queue.barrier<%d : !hal.device> affinity(%i) wait(%none) signal(%none) flags("None")
  // expected-error @+1 {{device queue operations cannot wait and signal on the same fence.}}
  hal.device.queue.barrier<%d : !hal.device> affinity(%i) wait(%f) signal(%f) flags("None")
  return
}

// -----

func.func @element_type() {
  // expected-error @+1 {{unsupported element type}}
  %0 = hal.element_type<vector<4xf32>> : i32
  return
}

// -----

func.func @encoding_type() {
  // expected-error @+1 {{unsupported encoding type}}
  %0 = hal.encoding_type<column_major> : i32
  return
}
