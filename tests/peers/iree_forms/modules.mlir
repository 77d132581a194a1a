#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>
hal.executable private @ex2 {
  hal.executable.variant public @v target(<"backend", "format">) {
    "hal.executable.export"() <{condition_fallback = @e2, layout = #layout, ordinal = 1 : index, sym_name = "e1", sym_visibility = "public", subgroup_size = 64 : index, workgroup_local_memory = 4 : index, workgroup_size = [4 : index, 1 : index, 1 : index]}> ({
    ^bb0(%d: !hal.device, %w: index):
      hal.return %w, %w, %w : index, index, index
      }, {
    ^bb0(%arg0: !hal.device, %w: index):
      %0 = "arith.constant"() <{value = true}> : () -> i1
      "hal.return"(%0) : (i1) -> ()
    }) {foo} : () -> ()
    "hal.executable.export"() <{layout = #layout, ordinal = 2 : index, sym_name = "e2", sym_visibility = "public"}> ({
    ^bb0(%d: !hal.device, %w: index):
      hal.return %w, %w, %w : index, index, index
      }, { }) {foo} : () -> ()
  }
}
// -----
"hal.executable.source"() <{sym_name = "s", sym_visibility = "private"}> ({
  "hal.executable.source_end"() : () -> ()
}) {foo} : () -> ()
// -----
"hal.executable"() <{sym_name = "s", sym_visibility = "private"}> ({
  "hal.executable.variant"() <{objects = [#hal.executable.object<{path = "foo.bin", data = dense<[1, 2]> : vector<2xi8>}>], sources={a = dense<1> : vector<4xi8>},  sym_name = "v1", sym_visibility = "public", target = #hal.executable.target<"backend", "format">}> ({
  "hal.executable.variant_end"() : () -> ()
}) {foo}: () -> ()
  "hal.executable_end"() : () -> ()
}) {foo} : () -> ()
// -----
hal.executable private @s {
hal.executable.variant public @v target(<"a", "b">) {
      "hal.executable.constant.block"() <{function_type = (!hal.device) -> (i32, i32), keys = ["foo", "bar"]}> ({ ^bb0(%arg0: !hal.device):
        %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
        "hal.return"(%2, %2) : (i32, i32) -> ()
      }) {foo} : () -> ()
      "hal.executable.constant.block"() <{function_type = () -> (), keys = []}> ({ 
        "hal.return"() : () -> ()
      }) : () -> ()
      "hal.executable.condition"() <{function_type = (!hal.device) -> i1}> ({ ^bb0(%arg0: !hal.device):
        %2 = "arith.constant"() <{value = false}> : () -> i1
        "hal.return"(%2) : (i1) -> ()
      }) {foo} : () -> ()
}}
// -----
util.func public @ext(%arg0: tensor<4x?xf32>, %w: index) -> tensor<?x4xf32> {
  %c1 = arith.constant 1 : index
  %0 = hal.dispatch.extern "main"[%w](%arg0, %w) : (tensor<4x?xf32>{%w}, index) -> tensor<?x4xf32>{%w}
    count(%device: !hal.device, %a: index) -> (index, index, index) {
      hal.return %a, %a, %a : index, index, index
    }
    layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>)
    objects({
      #hal.executable.target<"llvm-cpu", "a"> ordinal(0) = [#hal.executable.object<{path = "a.o"}>],
      #hal.executable.target<"llvm-cpu", "b"> if(%device: !hal.device) -> i1 {
        %ok = arith.constant true
        hal.return %ok : i1
      } ordinal(1) = [#hal.executable.object<{path = "b.o"}>, #hal.executable.object<{path = "c.o"}>]
    })
  util.return %0 : tensor<?x4xf32>
}
// -----
util.func private @f(%l: !util.list<?>, %li: !util.list<!util.buffer>, %n: index, %a: i32, %b: !util.buffer) {
  %0 = "util.list.get"(%l, %n) {foo}: (!util.list<?>, index) -> i32
  %1 = "util.list.get"(%li, %n) {foo}: (!util.list<!util.buffer>, index) -> !util.buffer
  "util.list.set"(%l, %n, %a) {foo}: (!util.list<?>, index, i32) -> ()
  "util.list.set"(%li, %n, %b) {foo}: (!util.list<!util.buffer>, index, !util.buffer) -> ()
   %x1 = util.list.get %li[%n] : !util.list<!util.buffer> -> !util.buffer
  util.list.set %li[%n], %b : !util.buffer -> !util.list<!util.buffer>
  util.return
}
// -----
util.func private @g() {
 util.unreachable
}
// -----
util.func private @g() {
 util.unreachable "foo"
}
// -----
util.func private @f(%n: tensor<?xf32>, %m: index) -> (tensor<f32>, index) {
%r, %s = "util.hoistable_conversion"(%n, %m) <{tag = "a", inverseTag = "b"}> ({^bb0(%x: tensor<?xf32>, %y: index): %z = "test.a"() : () -> tensor<f32> "util.return"(%z, %y) : (tensor<f32>, index) -> ()}) {foo} : (tensor<?xf32>, index) -> (tensor<f32>, index)
util.return %r, %s : tensor<f32>, index
}
// -----
util.func private @f(%n: tensor<?xf32>, %m: index) -> (tensor<f32>, index) {
%r, %s = "util.hoistable_conversion"(%n, %m) <{tag = "a", inverseTag = "b"}> ({^bb0(%x: tensor<?xf32>, %y: index): %z = "test.a"() : () -> tensor<f32> "util.return"(%z, %y) : (tensor<f32>, index) -> ()}) : (tensor<?xf32>, index) -> (tensor<f32>, index)
util.return %r, %s : tensor<f32>, index
}
// -----
stream.cmd.func private @cc(%a[%n for %m]: !stream.resource<*>, %k: i32)
// -----
stream.cmd.func private @cc(%a: i32 {foo.a}, %k[%n for %m]: !stream.resource<*> {foo.b}) -> (i32, index) attributes {foo.c}
// -----
stream.async.func private @ac(%a: !stream.resource<*>, %n: index {foo.c}) -> (%a {foo.d}, %a as !stream.resource<external>, i32) attributes {foo}
// -----
flow.func private @ac(%a: tensor<?xf32>, %n: index {foo.c}) -> (%a {foo.d}, %a as tensor<?xi32>, i32) attributes {foo}
// -----
util.func private @memoize(%d: !hal.device, %i: i64, %n: index) {
  %r0, %r1 = hal.device.memoize<%d : !hal.device> affinity(%i) -> index, index {
    hal.return %n, %n : index, index
  }
  util.return
}
// -----
util.func public @regions_without_results(%a: !stream.resource<external>, %s: index) {
  %t = stream.async.execute with(%a as %x: !stream.resource<external>{%s}) {
    stream.async.concurrent with(%x as %y: !stream.resource<external>{%s}) {
      stream.yield
    }
    stream.yield
  } => !stream.timepoint
  util.return
}
// -----
util.func public @counted(%a: tensor<?xf32>, %n: index, %w: index) -> tensor<?xf32> {
  %0 = flow.dispatch.region[%w, %w] -> (tensor<?xf32>{%n}) {
    flow.return %a : tensor<?xf32>
  } count(%x: index, %y: index) -> (index, index, index) {
    flow.return %x, %y, %x : index, index, index
  }
  util.return %0 : tensor<?xf32>
}
// -----
util.func private @calls(%n: index, %r: !stream.resource<external>, %t: tensor<4xf32>) {
  %0 = flow.call @a(%t) <arg_attrs = [{a.b}]> {u.v} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stream.async.call @b(%r[%n to %n for %n]) <res_attrs = [{a.b}]> {u.v} : (!stream.resource<external>{%n}) -> !stream.resource<external>{%n}
  stream.cmd.call @c(%n) <arg_attrs = [{a.b}], res_attrs = []> : (index) -> ()
  %2 = util.call @d(%t) <arg_attrs = [{a.b}], res_attrs = [{c.d}]> {u.v} : (tensor<4xf32>) -> tensor<4xf32>
  util.return
}
flow.func private @a(%t: tensor<4xf32>) -> tensor<4xf32>
stream.async.func private @b(%t: !stream.resource<*>) -> !stream.resource<*>
stream.cmd.func private @c(%n: index)
util.func private @d(tensor<4xf32>) -> tensor<4xf32>
