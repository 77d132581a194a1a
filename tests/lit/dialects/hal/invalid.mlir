// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected #hal.executable.target, found 1 : i32}}
util.global private @d = #hal.device.target<"local", [1 : i32]> : !hal.device

// -----

// expected-error @+1 {{expected at least one device to select from}}
util.global private @d = #hal.device.select<[]> : !hal.device

// -----

// expected-error @+1 {{expected !hal.device}}
util.global private @d = #hal.device.target<"local"> : i32
