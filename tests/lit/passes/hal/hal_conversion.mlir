// RUN: mesh-opt %s --split-input-file --iree-hal-conversion | filecheck %s

// Memory is chosen by lifetime and device; without a device it is the first one's.

// CHECK-LABEL: util.func public @allocates
// CHECK-SAME: (%n: index, %t: !hal.fence) -> (!hal.buffer, !hal.buffer, !hal.fence)
// CHECK: %[[P:.*]], %[[P_1:.*]] = hal.allocator.resolve_memory_properties lifetime(constant) : i32, i32
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK: %[[D:.*]] = hal.devices.get %[[Z]] : !hal.device
// CHECK: %[[Q:.*]] = arith.constant -1 : i64
// CHECK: %[[A:.*]] = hal.device.allocator<%[[D]] : !hal.device> : !hal.allocator
// CHECK: hal.allocator.allocate<%[[A]] : !hal.allocator> affinity(%[[Q]]) type(%[[P]]) usage(%[[P_1]]) : !hal.buffer{%n}
// CHECK: %[[R:.*]], %[[R_1:.*]] = hal.allocator.resolve_memory_properties for(#hal.device.optimal<[#hal.device.affinity<@a>, #hal.device.affinity<@b, [0, 1]>]>) lifetime(transient) : i32, i32
// CHECK: %[[X:.*]] = util.global.load immutable @a : !hal.device
// CHECK: %[[XQ:.*]] = arith.constant -1 : i64
// CHECK: %[[Y:.*]] = util.global.load immutable @b : !hal.device
// CHECK: %[[YQ:.*]] = arith.constant 3 : i64
// CHECK: %[[S:.*]], %[[S_1:.*]] = hal.allocator.select from([
// CHECK-NEXT:   (%[[X]], %[[XQ]] : !hal.device, i64),
// CHECK-NEXT:   (%[[Y]], %[[YQ]] : !hal.device, i64)
// CHECK-NEXT: ]) type(%[[R]]) usage(%[[R_1]]) : !hal.device, i64
// CHECK: %[[F:.*]] = hal.fence.create device(%[[S]] : !hal.device) flags("None") : !hal.fence
// CHECK: %[[O:.*]] = arith.constant 0 : i64
// CHECK: %[[B:.*]] = hal.device.queue.alloca<%[[S]] : !hal.device> affinity(%[[S_1]]) wait(%t) signal(%[[F]]) pool(%[[O]]) type(%[[R]]) usage(%[[R_1]]) flags("None") : !hal.buffer{%n}
// CHECK: util.global.load immutable @a
// CHECK: %[[G:.*]] = hal.fence.create
// CHECK: hal.device.queue.dealloca<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[F]]) signal(%[[G]]) buffer(%[[B]] : !hal.buffer) flags("None")
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @allocates(%n: index, %t: !stream.timepoint) -> (!stream.resource<constant>, !stream.resource<transient>, !stream.timepoint) {
  %0 = stream.resource.alloc uninitialized : !stream.resource<constant>{%n}
  %1, %2 = stream.resource.alloca uninitialized on(#hal.device.optimal<[#hal.device.affinity<@a>, #hal.device.affinity<@b, [0, 1]>]>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %3 = stream.resource.dealloca on(#hal.device.affinity<@a>) await(%2) => %1 : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %0, %1, %3 : !stream.resource<constant>, !stream.resource<transient>, !stream.timepoint
}

// -----

// What a queue can do alone needs no command buffer.

// CHECK-LABEL: util.func public @alone
// CHECK: %[[N:.*]] = util.null : !hal.fence
// CHECK: %[[F:.*]] = hal.fence.create
// CHECK: hal.device.queue.fill<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[N]]) signal(%[[F]]) target(%r : !hal.buffer)[%o] length(%l) pattern(%v : i8) flags("None")
// CHECK: util.return %[[F]] : !hal.fence
util.global private @a : !hal.device
util.func public @alone(%r: !stream.resource<transient>, %n: index, %o: index, %l: index, %v: i8) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %a: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %a[%o for %l] : i8 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// Commands are behind those before them, but for those at the same time.

// CHECK-LABEL: util.func public @recorded
// CHECK: %[[C:.*]] = hal.command_buffer.create device(%{{.*}} : !hal.device) mode(OneShot) categories("Transfer|Dispatch") affinity(%{{.*}}) : !hal.command_buffer
// CHECK-NEXT: hal.command_buffer.execution_barrier<%[[C]] : !hal.command_buffer> source("Dispatch|Transfer|CommandRetire") target("CommandIssue|Dispatch|Transfer") flags("None")
// CHECK-NEXT: hal.command_buffer.copy_buffer<%[[C]] : !hal.command_buffer> source(%r : !hal.buffer)[%o] target(%r : !hal.buffer)[%l] length(%l) flags("None")
// CHECK-NEXT: hal.command_buffer.collective<%[[C]] : !hal.command_buffer> channel(%channel : !hal.channel) op(<all_reduce with sum : f32>) send(%r : !hal.buffer)[%o, %l] recv(%r : !hal.buffer)[%o, %l] count(%l)
// CHECK-NEXT: hal.command_buffer.execution_barrier
// CHECK-NEXT: hal.command_buffer.execution_barrier
// CHECK-NEXT: %[[Z:.*]] = arith.constant 0 : index
// CHECK-NEXT: util.call @outside(%[[C]], %[[Z]], %r, %o, %l, %v) : (!hal.command_buffer, index, !hal.buffer, index, index, i8) -> ()
// CHECK-NEXT: hal.command_buffer.execution_barrier
// CHECK-NEXT: hal.command_buffer.finalize<%[[C]] : !hal.command_buffer>
// CHECK: hal.device.queue.execute<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%t) signal(%{{.*}}) commands(%[[C]]) flags("None")
util.global private @a : !hal.device
util.func public @recorded(%channel: !stream.channel, %r: !stream.resource<transient>, %n: index, %o: index, %l: index, %v: i8, %t: !stream.timepoint) -> !stream.timepoint {
  %0 = stream.cmd.execute once on(#hal.device.affinity<@a>) await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
    stream.cmd.flush %a[%o for %l] : !stream.resource<transient>{%n}
    stream.cmd.concurrent {
      stream.cmd.copy %a[%o], %a[%l], %l : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
      stream.cmd.serial {
        stream.cmd.collective<all_reduce with sum : f32>[%l] channel(%channel) {
          ro %a[%o for %l] : !stream.resource<transient>{%n},
          wo %a[%o for %l] : !stream.resource<transient>{%n}
        }
      }
    }
    stream.cmd.call @outside(rw %a[%o for %l], %v) : (!stream.resource<transient>{%n}, i8) -> ()
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}
// CHECK: util.func private @outside(%{{.*}}: !hal.command_buffer, %{{.*}}: index, %{{.*}}: !hal.buffer, %{{.*}}: index, %{{.*}}: index, %{{.*}}: i8)
stream.cmd.func private @outside(%arg0[%arg1 for %arg2]: !stream.resource<*>, %arg3: i8)

// -----

// Of several variants the device runs the first that it can.

// CHECK: hal.executable.export public @f ordinal(0) layout(#{{.*}})
// CHECK-NOT: count(
// CHECK-LABEL: util.func public @dispatches
// CHECK: %[[D:.*]] = hal.command_buffer.device<%[[C:.*]] : !hal.command_buffer> : !hal.device
// CHECK: %[[A:.*]], %[[A_1:.*]] = hal.device.query<%[[D]] : !hal.device> key("hal.executable.format" :: "embedded-elf-aarch64") : i1, i1 = false
// CHECK: %[[M:.*]] = scf.execute_region -> (i1) {
// CHECK:   hal.device.query<%[[D]] : !hal.device> key("some" :: "feature") : i1, i1
// CHECK: %[[AM:.*]] = arith.andi %[[A_1]], %[[M]] : i1
// CHECK: %[[B:.*]], %[[B_1:.*]] = hal.device.query<%[[D]] : !hal.device> key("hal.executable.format" :: "embedded-elf-x86_64") : i1, i1 = false
// CHECK: %[[S:.*]] = arith.select %[[B_1]], %{{.*}}, %{{.*}} : index
// CHECK: %[[T:.*]] = arith.select %[[AM]], %{{.*}}, %[[S]] : index
// CHECK: scf.index_switch %[[T]]
// CHECK: case 0 {
// CHECK:   %[[E:.*]] = hal.executable.lookup device(%[[D]] : !hal.device) executable(@ex) : !hal.executable
// CHECK:   %[[F:.*]] = hal.executable.lookup.function target(%[[E]] : !hal.executable) function(@ex::@aarch64::@f) : i64
// CHECK:   %[[W:.*]] = arith.ceildivui %x, %{{.*}} : index
// CHECK:   hal.command_buffer.dispatch<%[[C]] : !hal.command_buffer> target(%[[E]] : !hal.executable)[%[[F]]] workgroups([%[[W]], %[[I:.*]], %[[I]]]) constants([%i]) bindings([
// CHECK-NEXT:   (%r : !hal.buffer)[%o, %l]
// CHECK-NEXT: ]) flags("None")
// CHECK: case 1 {
// CHECK:   workgroups([%x, %x, %x])
#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>
util.global private @a : !hal.device
hal.executable private @ex {
  hal.executable.variant public @aarch64 target(<"llvm-cpu", "embedded-elf-aarch64">) {
    hal.executable.condition(%device: !hal.device) -> i1 {
      %ok, %value = hal.device.query<%device : !hal.device> key("some" :: "feature") : i1, i1
      hal.return %value : i1
    }
    hal.executable.export public @f ordinal(0) layout(#layout) count(%device: !hal.device, %x: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %0 = arith.ceildivui %x, %c4 : index
      hal.return %0, %c1, %c1 : index, index, index
    }
    builtin.module {}
  }
  hal.executable.variant public @x86_64 target(<"llvm-cpu", "embedded-elf-x86_64">) {
    hal.executable.export public @f ordinal(0) layout(#layout) count(%device: !hal.device, %x: index) -> (index, index, index) {
      hal.return %x, %x, %x : index, index, index
    }
    builtin.module {}
  }
}
util.func public @dispatches(%r: !stream.resource<transient>, %n: index, %o: index, %l: index, %x: index, %i: i32) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %b: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch {@ex::@aarch64::@f, @ex::@x86_64::@f}[%x](%i : i32) {
      rw %b[%o for %l] : !stream.resource<transient>{%n}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// CHECK: util.global private mutable @t : !hal.fence
// CHECK: util.global private mutable @r : !hal.buffer
// CHECK-LABEL: util.func public @timepoints
// CHECK-SAME: (%fence: !hal.fence, %u: !hal.fence, %r: !hal.buffer, %n: index) -> (!hal.buffer, !hal.fence)
// CHECK: %[[I:.*]] = util.null : !hal.fence
// CHECK: %[[J:.*]] = hal.fence.join at([%[[I]], %fence, %u]) flags("None") -> !hal.fence
// CHECK: %[[M:.*]] = arith.constant -1 : i32
// CHECK: %[[S:.*]] = hal.fence.await until([%[[J]]]) timeout_millis(%[[M]]) flags("None") : i32
// CHECK: util.status.check_ok %[[S]], "failed to wait on timepoint"
// CHECK: %[[N:.*]] = util.null : !hal.fence
// CHECK: hal.device.queue.barrier<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[N]]) signal(%fence) flags("None")
// CHECK: util.global.store %r, @r : !hal.buffer
// CHECK: util.return %r, %[[J]] : !hal.buffer, !hal.fence
util.global private @a : !hal.device
util.global private mutable @t = #stream.timepoint<immediate> : !stream.timepoint
util.global private mutable @r : !stream.resource<variable>
util.func public @timepoints(%fence: !hal.fence, %u: !stream.timepoint, %r: !stream.resource<variable>, %n: index) -> (!stream.resource<variable>, !hal.fence) {
  %0 = stream.timepoint.immediate => !stream.timepoint
  %1 = stream.timepoint.import on(#hal.device.affinity<@a>) %fence : (!hal.fence) => !stream.timepoint
  %2 = stream.timepoint.join max(%0, %1, %u) => !stream.timepoint
  %3 = stream.timepoint.export on(#hal.device.affinity<@a>) %2 => (!hal.fence)
  %4 = stream.timepoint.await %2 => %r : !stream.resource<variable>{%n}
  %5:2 = stream.timepoint.barrier on(#hal.device.affinity<@a>) %4 : !stream.resource<variable>{%n} => !stream.timepoint
  stream.timepoint.chain_external on(#hal.device.affinity<@a>) %5#1 => (%fence : !hal.fence)
  util.global.store %5#0, @r : !stream.resource<variable>
  util.return %5#0, %3 : !stream.resource<variable>, !hal.fence
}

// -----

// CHECK-LABEL: util.func public @channels
// CHECK: %[[N:.*]] = util.null : !util.buffer
// CHECK: %[[G:.*]] = util.buffer.constant : !util.buffer = "g"
// CHECK: %[[R:.*]] = arith.index_cast %rank : index to i32
// CHECK: %[[M:.*]] = arith.constant -1 : i32
// CHECK: %[[C:.*]] = hal.channel.create device(%{{.*}} : !hal.device) affinity(%{{.*}}) flags("None") id(%[[N]]) group(%[[G]]) rank(%[[R]]) count(%[[M]]) : !hal.channel
// CHECK: %[[S:.*]] = hal.channel.split<%[[C]] : !hal.channel> color(%{{.*}}) key(%{{.*}}) flags("None") : !hal.channel
// CHECK: %[[K:.*]], %[[K_1:.*]] = hal.channel.rank_and_count<%[[S]] : !hal.channel> : i32, i32
// CHECK: arith.index_cast %[[K_1]] : i32 to index
util.global private @a : !hal.device
util.func public @channels(%rank: index) -> index {
  %0 = stream.channel.create on(#hal.device.affinity<@a>) group("g") rank(%rank) : !stream.channel
  %1 = stream.channel.split %0, %rank, %rank : !stream.channel -> !stream.channel
  %2 = stream.channel.count %1 : index
  util.return %2 : index
}

// -----

// CHECK-LABEL: util.func public @files
// CHECK: %[[F:.*]] = hal.ex.file.from_memory device(%{{.*}} : !hal.device) affinity(%{{.*}}) access(Read) buffer(%b : !util.buffer)[%o for %l] flags(%{{.*}}) : !hal.file
// CHECK: hal.device.queue.read<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%t) signal(%[[R:.*]]) source(%[[F]] : !hal.file)[%at] target(%r : !hal.buffer)[%o] length(%l) flags("None")
// CHECK: hal.device.queue.write<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[R]]) signal(%{{.*}}) source(%r : !hal.buffer)[%o] target(%[[F]] : !hal.file)[%at] length(%l) flags("None")
util.global private @a : !hal.device
util.func public @files(%b: !util.buffer, %r: !stream.resource<transient>, %n: index, %o: index, %l: index, %at: i64, %t: !stream.timepoint) -> !stream.timepoint {
  %f = stream.file.constant on(#hal.device.affinity<@a>) %b[%o for %l] : !util.buffer{%n} -> !stream.file
  %0 = stream.file.read on(#hal.device.affinity<@a>) await(%t) => %f[%at], %r[%o], %l : !stream.file -> !stream.resource<transient>{%n} => !stream.timepoint
  %1 = stream.file.write on(#hal.device.affinity<@a>) await(%0) => %r[%o], %f[%at], %l : !stream.resource<transient>{%n} -> !stream.file => !stream.timepoint
  util.return %1 : !stream.timepoint
}

// -----

// A kernel that does not fit a workload falls back to another.

// CHECK-NOT: condition(
// CHECK-LABEL: util.func public @falls_back
// CHECK: %[[E:.*]] = hal.executable.lookup device(%{{.*}} : !hal.device) executable(@ex) : !hal.executable
// CHECK: %[[M:.*]] = arith.cmpi ult, %x, %{{.*}} : index
// CHECK: %[[R:.*]]:4 = scf.if %[[M]] -> (i64, index, index, index) {
// CHECK:   %[[F:.*]] = hal.executable.lookup.function target(%[[E]] : !hal.executable) function(@ex::@v::@f) : i64
// CHECK:   scf.yield %[[F]], %x, %x, %x : i64, index, index, index
// CHECK: } else {
// CHECK:   %[[G:.*]] = hal.executable.lookup.function target(%[[E]] : !hal.executable) function(@ex::@v::@g) : i64
// CHECK:   scf.yield %[[G]], %x, %{{.*}}, %{{.*}} : i64, index, index, index
// CHECK: hal.command_buffer.dispatch<%{{.*}} : !hal.command_buffer> target(%[[E]] : !hal.executable)[%[[R]]#0] workgroups([%[[R]]#1, %[[R]]#2, %[[R]]#3])
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>
util.global private @a : !hal.device
hal.executable private @ex {
  hal.executable.variant public @v target(<"llvm-cpu", "embedded-elf-x86_64">) {
    hal.executable.export public @f ordinal(0) layout(#layout) condition(%device: !hal.device, %x: index) -> i1 {
      %c4 = arith.constant 4 : index
      %0 = arith.cmpi ult, %x, %c4 : index
      hal.return %0 : i1
    } fallback(@g) count(%device: !hal.device, %x: index) -> (index, index, index) {
      hal.return %x, %x, %x : index, index, index
    }
    hal.executable.export public @g ordinal(1) layout(#layout) count(%device: !hal.device, %x: index) -> (index, index, index) {
      %c2 = arith.constant 2 : index
      hal.return %x, %c2, %c2 : index, index, index
    }
    builtin.module {}
  }
}
util.func public @falls_back(%r: !stream.resource<transient>, %n: index, %x: index) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %b: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @ex::@v::@f[%x] {
      rw %b[%x for %n] : !stream.resource<transient>{%n}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// CHECK-LABEL: util.func public @parameters
// CHECK: %[[P:.*]], %[[P_1:.*]] = hal.allocator.resolve_memory_properties for(#hal.device.affinity<@a>) lifetime(constant) : i32, i32
// CHECK: %[[F:.*]] = hal.fence.create
// CHECK: %[[L:.*]]:2 = io_parameters.load<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%t) signal(%[[F]]) type(%[[P]]) usage(%[[P_1]]) {
// CHECK-NEXT:   %scope::%key[%at] : !hal.buffer{%n},
// CHECK-NEXT:   %scope::%key[%at] : !hal.buffer{%n}
// CHECK-NEXT: }
// CHECK: io_parameters.gather<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[F]]) signal(%[[G:.*]]) {
// CHECK-NEXT:   %key[%at] -> %[[L]]#0[%o for %l] : !hal.buffer
// CHECK-NEXT: }
// CHECK: io_parameters.scatter<%{{.*}} : !hal.device> affinity(%{{.*}}) wait(%[[G]]) signal(%{{.*}}) {
// CHECK-NEXT:   %[[L]]#1[%o for %l] : !hal.buffer -> %scope::%key[%at],
// CHECK-NEXT:   %[[L]]#1[%n for %l] : !hal.buffer -> %scope::%key[%at]
// CHECK-NEXT: }
util.global private @a : !hal.device
util.func public @parameters(%scope: !util.buffer, %key: !util.buffer, %n: index, %o: index, %l: index, %at: i64, %t: !stream.timepoint) -> !stream.timepoint {
  %0, %1, %2 = stream.cmd.parameter.load on(#hal.device.affinity<@a>) await(%t) => {
    %scope::%key[%at] : !stream.resource<constant>{%n},
    %scope::%key[%at] : !stream.resource<constant>{%n}
  } => !stream.timepoint
  %3 = stream.cmd.parameter.read on(#hal.device.affinity<@a>) await(%2) => %key[%at] -> %0[%o for %l] : !stream.resource<constant>{%n} => !stream.timepoint
  %4 = stream.cmd.parameter.scatter on(#hal.device.affinity<@a>) await(%3) => {
    %1[%o for %l] : !stream.resource<constant>{%n} -> %scope::%key[%at],
    %1[%n for %l] : !stream.resource<constant>{%n} -> %scope::%key[%at]
  } => !stream.timepoint
  util.return %4 : !stream.timepoint
}

// -----

// Nothing is waited for, so commands may run while they are recorded.
// CHECK-LABEL: util.func public @without_wait
// CHECK: hal.command_buffer.create device(%{{.*}} : !hal.device) mode("OneShot|AllowInlineExecution") categories(Transfer)
util.global private @a : !hal.device
util.func public @without_wait(%r: !stream.resource<transient>, %n: index, %v: i8) -> !stream.timepoint {
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) with(%r as %a: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %a[%n for %n] : i8 -> !stream.resource<transient>{%n}
    stream.cmd.flush %a[%n for %n] : !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// -----

// Without an affinity the nearest scope's default is it, of several devices the first.

// CHECK-LABEL: util.func public @default_of_the_function
// CHECK: hal.allocator.resolve_memory_properties lifetime(external) : i32, i32
// CHECK: %[[B:.*]] = util.global.load immutable @b : !hal.device
// CHECK: hal.device.allocator<%[[B]] : !hal.device>
// CHECK-LABEL: util.func public @default_of_the_module
// CHECK: hal.allocator.resolve_memory_properties for(#hal.device.affinity<@a>) lifetime(constant) : i32, i32
// CHECK: %[[A:.*]] = util.global.load immutable @a : !hal.device
// CHECK: io_parameters.load<%[[A]] : !hal.device>
// CHECK-LABEL: util.func public @either
// CHECK: %[[E:.*]] = util.global.load immutable @b : !hal.device
// CHECK: hal.device.queue.copy<%[[E]] : !hal.device>
module attributes {stream.affinity.default = #hal.device.affinity<@a>} {
  util.global private @a : !hal.device
  util.global private @b : !hal.device
  util.func public @default_of_the_function(%n: index) -> !stream.resource<external> attributes {stream.affinity.default = #hal.device.affinity<@b>} {
    %0 = stream.resource.alloc uninitialized : !stream.resource<external>{%n}
    util.return %0 : !stream.resource<external>
  }
  util.func public @default_of_the_module(%k: !util.buffer, %o: i64, %n: index, %t: !stream.timepoint) -> (!stream.resource<constant>, !stream.timepoint) {
    %0, %1 = stream.cmd.parameter.load await(%t) => {
      %k[%o] : !stream.resource<constant>{%n}
    } => !stream.timepoint
    util.return %0, %1 : !stream.resource<constant>, !stream.timepoint
  }
  util.func public @either(%r: !stream.resource<transient>, %n: index, %o: index) -> !stream.timepoint {
    %0 = stream.cmd.execute on(#hal.device.optimal<[#hal.device.affinity<@b>, #hal.device.affinity<@a>]>) with(%r as %c: !stream.resource<transient>{%n}) {
      stream.cmd.copy %c[%o], %c[%n], %n : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    util.return %0 : !stream.timepoint
  }
}

// -----

// CHECK-LABEL: util.func public @list(%l: !util.list<!hal.fence>
// CHECK: util.list.set %l[%i], %t : !util.list<!hal.fence>
util.func public @list(%l: !util.list<!stream.timepoint>, %i: index, %t: !stream.timepoint) {
  util.list.set %l[%i], %t : !stream.timepoint -> !util.list<!stream.timepoint>
  util.return
}
