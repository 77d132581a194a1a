// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-hal-conversion

util.func public @tensors(%n: index) -> !stream.resource<transient> {
  // expected-error @+1 {{has no form in the hal dialect}}
  %0 = stream.async.alloca : !stream.resource<transient>{%n}
  util.return %0 : !stream.resource<transient>
}

// -----

util.func public @unknown(%n: index) -> !stream.resource<*> {
  // expected-error @+1 {{is a resource of lifetime '*'}}
  %0 = stream.resource.alloc uninitialized : !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}

// -----

util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @promised(%r: !stream.resource<transient>, %n: index, %o: index) -> !stream.timepoint {
  // expected-error @+1 {{expected a device of the module}}
  %0 = stream.cmd.execute on(#hal.device.promise<@a>) with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.copy %c[%o], %c[%n], %n : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

util.func public @nowhere(%r: !stream.resource<transient>, %n: index) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    // expected-error @+1 {{which is not an export}}
    stream.cmd.dispatch @ex::@f[%n] {
      rw %c[%n for %n] : !stream.resource<transient>{%n}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

util.func public @fences(%f: !hal.fence) -> !stream.timepoint {
  // expected-error @+1 {{expected one fence}}
  %0 = stream.timepoint.import %f, %f : (!hal.fence, !hal.fence) => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>
hal.executable private @ex {
  hal.executable.variant public @v target(<"llvm-cpu", "embedded-elf-x86_64">) {
    // expected-error @+1 {{falls back to @ex::@v::@f, which falls back to it in turn}}
    hal.executable.export public @f ordinal(0) layout(#layout) condition(%device: !hal.device, %x: index) -> i1 {
      %0 = arith.cmpi ult, %x, %x : index
      hal.return %0 : i1
    } fallback(@f) count(%device: !hal.device, %x: index) -> (index, index, index) {
      hal.return %x, %x, %x : index, index, index
    }
    builtin.module {}
  }
}
util.func public @endless(%r: !stream.resource<transient>, %n: index) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %b: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @ex::@v::@f[%n] {
      rw %b[%n for %n] : !stream.resource<transient>{%n}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}
