// RUN: mesh-opt %s --mlir-print-local-scope | mesh-opt --mlir-print-local-scope | filecheck %s

#layout = #hal.pipeline.layout<constants = 1, bindings = []>
hal.executable private @e {
  // CHECK: hal.executable.variant public @v target(<"a", "b">) {
  hal.executable.variant public @v target(#hal.executable.target<"a", "b">) {
    // CHECK: hal.executable.export public @x ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = []>)
    hal.executable.export public @x ordinal(0) layout(#layout)
    builtin.module {
      func.func @x() {
        // CHECK: hal.interface.constant.load layout(<constants = 1, bindings = []>) ordinal(0) : i32
        %0 = hal.interface.constant.load layout(#layout) ordinal(0) : i32
        func.return
      }
    }
  }
}
