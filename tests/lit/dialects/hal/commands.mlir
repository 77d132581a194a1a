// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Command buffers and queues.

util.func private @f(%device: !hal.device, %allocator: !hal.allocator, %buffer: !hal.buffer, %b2: !hal.buffer, %view: !hal.buffer_view, %fence: !hal.fence, %f2: !hal.fence, %cmd: !hal.command_buffer, %exe: !hal.executable, %channel: !hal.channel, %file: !hal.file, %n: index, %m: index, %k: index, %i64: i64, %i32: i32, %j32: i32, %host: !util.buffer, %c: i1) {
  // CHECK: hal.command_buffer.begin_debug_group<%cmd : !hal.command_buffer> label("group")
  hal.command_buffer.begin_debug_group<%cmd : !hal.command_buffer> label("group")
  // CHECK: hal.command_buffer.end_debug_group<%cmd : !hal.command_buffer>
  hal.command_buffer.end_debug_group<%cmd : !hal.command_buffer>
  // CHECK: hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%buffer : !hal.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%buffer : !hal.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  // CHECK: hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%n : index)[%n] target(%m : index)[%m] length(%k) flags("None")
  hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%n : index)[%n] target(%m : index)[%m] length(%k) flags("None")
  // CHECK: hal.command_buffer.create device(%device : !hal.device) mode(OneShot) categories("Transfer|Dispatch") affinity(%i64) : !hal.command_buffer
  %v4 = hal.command_buffer.create device(%device : !hal.device) mode(OneShot) categories("Transfer|Dispatch") affinity(%i64) : !hal.command_buffer
  // CHECK: hal.command_buffer.create device(%device : !hal.device) mode("OneShot|AllowInlineExecution") categories(Dispatch) affinity(%i64) bindings(%n) : !hal.command_buffer
  %v5 = hal.command_buffer.create device(%device : !hal.device) mode("OneShot|AllowInlineExecution") categories(Dispatch) affinity(%i64) bindings(%n) : !hal.command_buffer
  // CHECK: hal.command_buffer.device<%cmd : !hal.command_buffer> : !hal.device
  %v6 = hal.command_buffer.device<%cmd : !hal.command_buffer> : !hal.device
  // CHECK: hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer> source(CommandIssue) target(CommandProcess) flags("None")
  hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer> source(CommandIssue) target(CommandProcess) flags("None")
  // CHECK: hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m] pattern(%i32 : i32) flags("None")
  hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m] pattern(%i32 : i32) flags("None")
  // CHECK: hal.command_buffer.finalize<%cmd : !hal.command_buffer>
  hal.command_buffer.finalize<%cmd : !hal.command_buffer>
  // CHECK: hal.command_buffer.flush_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  hal.command_buffer.flush_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  // CHECK: hal.command_buffer.flush_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  hal.command_buffer.flush_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  // CHECK: hal.command_buffer.invalidate_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  hal.command_buffer.invalidate_buffer<%cmd : !hal.command_buffer> target(%buffer : !hal.buffer)[%n, %m]
  // CHECK: hal.command_buffer.update_buffer<%cmd : !hal.command_buffer> source(%host : !util.buffer{%n})[%n] target(%buffer : !hal.buffer)[%m] length(%k) flags("None")
  hal.command_buffer.update_buffer<%cmd : !hal.command_buffer> source(%host : !util.buffer{%n})[%n] target(%buffer : !hal.buffer)[%m] length(%k) flags("None")
  // CHECK: hal.command_buffer.collective<%cmd : !hal.command_buffer> channel(%channel : !hal.channel) op(<send : f32>) param(%i32 : i32) send(%n : index)[%n, %m] count(%k)
  hal.command_buffer.collective<%cmd : !hal.command_buffer> channel(%channel : !hal.channel) op(<send : f32>) param(%i32 : i32) send(%n : index)[%n, %m] count(%k)
  // CHECK: hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups([%n, %m, %k]) bindings([
  // CHECK-NEXT:   (%buffer : !hal.buffer)[%n, %m],
  // CHECK-NEXT:   (%k : index)[%n, %m]
  // CHECK-NEXT: ]) flags("None")
  hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups([%n, %m, %k]) bindings([(%buffer : !hal.buffer)[%n, %m], (%k : index)[%n, %m]]) flags("None")
  // CHECK: hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups([%n, %m, %k]) constants([%i32, %j32]) bindings([
  // CHECK-NEXT:   (%buffer : !hal.buffer)[%n, %m]
  // CHECK-NEXT: ]) flags("None")
  hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups([%n, %m, %k]) constants([%i32, %j32]) bindings([(%buffer : !hal.buffer)[%n, %m]]) flags("None")
  // CHECK: hal.command_buffer.dispatch.indirect<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups(%buffer : !hal.buffer)[%n] constants([%i32]) bindings([
  // CHECK-NEXT:   (%buffer : !hal.buffer)[%n, %m]
  // CHECK-NEXT: ]) flags("None")
  hal.command_buffer.dispatch.indirect<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%i64] workgroups(%buffer : !hal.buffer)[%n] constants([%i32]) bindings([(%buffer : !hal.buffer)[%n, %m]]) flags("None")
  // CHECK: hal.device.queue.alloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) pool(%i64) type(%i32) usage(%j32) flags("None") : !hal.buffer{%n}
  %v18 = hal.device.queue.alloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) pool(%i64) type(%i32) usage(%j32) flags("None") : !hal.buffer{%n}
  // CHECK: hal.device.queue.barrier<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) flags("None")
  hal.device.queue.barrier<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) flags("None")
  // CHECK: hal.device.queue.copy<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%buffer : !hal.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  hal.device.queue.copy<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%buffer : !hal.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  // CHECK: hal.device.queue.dealloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) buffer(%buffer : !hal.buffer) flags("None")
  hal.device.queue.dealloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) buffer(%buffer : !hal.buffer) flags("None")
  // CHECK: hal.device.queue.dealloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) buffer(%buffer : !hal.buffer) flags(PreferOrigin)
  hal.device.queue.dealloca<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) buffer(%buffer : !hal.buffer) flags(PreferOrigin)
  // CHECK: hal.device.queue.execute<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) commands(%cmd) flags("None")
  hal.device.queue.execute<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) commands(%cmd) flags("None")
  // CHECK: hal.device.queue.execute.indirect<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) commands(%cmd) bindings([
  // CHECK-NEXT:   (%buffer : !hal.buffer)[%n, %m],
  // CHECK-NEXT:   (%b2 : !hal.buffer)[%n, %m]
  // CHECK-NEXT: ]) flags("None")
  hal.device.queue.execute.indirect<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) commands(%cmd) bindings([(%buffer : !hal.buffer)[%n, %m], (%b2 : !hal.buffer)[%n, %m]]) flags("None")
  // CHECK: hal.device.queue.fill<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) target(%buffer : !hal.buffer)[%n] length(%m) pattern(%i32 : i32) flags("None")
  hal.device.queue.fill<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) target(%buffer : !hal.buffer)[%n] length(%m) pattern(%i32 : i32) flags("None")
  // CHECK: hal.device.queue.flush<%device : !hal.device> affinity(%i64)
  hal.device.queue.flush<%device : !hal.device> affinity(%i64)
  // CHECK: hal.device.queue.read<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%file : !hal.file)[%i64] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  hal.device.queue.read<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%file : !hal.file)[%i64] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  // CHECK: hal.device.queue.write<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%b2 : !hal.buffer)[%m] target(%file : !hal.file)[%i64] length(%k) flags("None")
  hal.device.queue.write<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%b2 : !hal.buffer)[%m] target(%file : !hal.file)[%i64] length(%k) flags("None")
  // CHECK: hal.device.queue.update<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%host : !util.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  hal.device.queue.update<%device : !hal.device> affinity(%i64) wait(%fence) signal(%f2) source(%host : !util.buffer)[%n] target(%b2 : !hal.buffer)[%m] length(%k) flags("None")
  // CHECK: hal.command_buffer.collective<%cmd : !hal.command_buffer> channel(%channel : !hal.channel) op(<all_reduce with sum : si8>) send(%buffer : !hal.buffer)[%n, %m] recv(%b2 : !hal.buffer)[%n, %m] count(%k)
  hal.command_buffer.collective<%cmd : !hal.command_buffer> channel(%channel : !hal.channel) op(<all_reduce with sum : si8>) send(%buffer : !hal.buffer)[%n, %m] recv(%b2 : !hal.buffer)[%n, %m] count(%k)
  util.return
}
