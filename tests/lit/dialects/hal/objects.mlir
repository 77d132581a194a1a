// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What a program holds of the machine: devices, buffers, channels, fences.

util.func private @f(%device: !hal.device, %allocator: !hal.allocator, %buffer: !hal.buffer, %b2: !hal.buffer, %view: !hal.buffer_view, %fence: !hal.fence, %f2: !hal.fence, %cmd: !hal.command_buffer, %exe: !hal.executable, %channel: !hal.channel, %file: !hal.file, %n: index, %m: index, %k: index, %i64: i64, %i32: i32, %j32: i32, %host: !util.buffer, %c: i1) {
  // CHECK: hal.allocator.allocate<%allocator : !hal.allocator> affinity(%i64) type(%i32) usage(%j32) : !hal.buffer{%n}
  %v0 = hal.allocator.allocate<%allocator : !hal.allocator> affinity(%i64) type(%i32) usage(%j32) : !hal.buffer{%n}
  // CHECK: hal.allocator.import<%allocator : !hal.allocator> source(%host : !util.buffer)[%n, %m] affinity(%i64) type(%i32) usage(%j32) : i1, !hal.buffer
  %v1_0, %v1_1 = hal.allocator.import<%allocator : !hal.allocator> source(%host : !util.buffer)[%n, %m] affinity(%i64) type(%i32) usage(%j32) : i1, !hal.buffer
  // CHECK: hal.allocator.resolve_memory_properties for(#hal.device.affinity<@d>) lifetime(transient) : i32, i32
  %v2_0, %v2_1 = hal.allocator.resolve_memory_properties for(#hal.device.affinity<@d>) lifetime(transient) : i32, i32
  // CHECK: hal.buffer.allocation.discard<%buffer : !hal.buffer> : i1
  %v3 = hal.buffer.allocation.discard<%buffer : !hal.buffer> : i1
  // CHECK: hal.buffer.allocation.is_terminal<%buffer : !hal.buffer> : i1
  %v4 = hal.buffer.allocation.is_terminal<%buffer : !hal.buffer> : i1
  // CHECK: hal.buffer.allocation.preserve<%buffer : !hal.buffer>
  hal.buffer.allocation.preserve<%buffer : !hal.buffer>
  // CHECK: hal.buffer.assert<%buffer : !hal.buffer> message("buffer") allocator(%allocator : !hal.allocator) minimum_length(%n) type(DeviceVisible) usage("TransferSource|TransferTarget|Transfer")
  hal.buffer.assert<%buffer : !hal.buffer> message("buffer") allocator(%allocator : !hal.allocator) minimum_length(%n) type(DeviceVisible) usage("TransferSource|TransferTarget|Transfer")
  // CHECK: hal.buffer.length<%buffer : !hal.buffer> : index
  %v7 = hal.buffer.length<%buffer : !hal.buffer> : index
  // CHECK: hal.buffer.load<%buffer : !hal.buffer>[%n] : i32
  %v8 = hal.buffer.load<%buffer : !hal.buffer>[%n] : i32
  // CHECK: hal.buffer.store<%buffer : !hal.buffer>[%n] value(%i32 : i32)
  hal.buffer.store<%buffer : !hal.buffer>[%n] value(%i32 : i32)
  // CHECK: hal.buffer.subspan<%buffer : !hal.buffer>[%n, %m] : !hal.buffer
  %v10 = hal.buffer.subspan<%buffer : !hal.buffer>[%n, %m] : !hal.buffer
  // CHECK: hal.buffer_usage<"TransferSource|TransferTarget|Transfer"> : i32
  %v11 = hal.buffer_usage<"TransferSource|TransferTarget|Transfer"> : i32
  // CHECK: hal.buffer_usage<TransferSource> : i32
  %v12 = hal.buffer_usage<TransferSource> : i32
  // CHECK: hal.memory_type<"HostVisible|DeviceVisible"> : i32
  %v13 = hal.memory_type<"HostVisible|DeviceVisible"> : i32
  // CHECK: hal.memory_type<"HostVisible|HostCoherent|HostLocal"> : i32
  %v14 = hal.memory_type<"HostVisible|HostCoherent|HostLocal"> : i32
  // CHECK: hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
  %v15 = hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
  // CHECK: hal.buffer_view.create buffer(%buffer : !hal.buffer)[%n, %m] shape([%n, %m]) type(%i32) encoding(%j32) : !hal.buffer_view
  %v16 = hal.buffer_view.create buffer(%buffer : !hal.buffer)[%n, %m] shape([%n, %m]) type(%i32) encoding(%j32) : !hal.buffer_view
  // CHECK: hal.buffer_view.create buffer(%buffer : !hal.buffer)[%n, %m] shape([]) type(%i32) encoding(%j32) : !hal.buffer_view
  %v17 = hal.buffer_view.create buffer(%buffer : !hal.buffer)[%n, %m] shape([]) type(%i32) encoding(%j32) : !hal.buffer_view
  // CHECK: hal.buffer_view.element_type<%view : !hal.buffer_view> : i32
  %v18 = hal.buffer_view.element_type<%view : !hal.buffer_view> : i32
  // CHECK: hal.buffer_view.encoding_type<%view : !hal.buffer_view> : i32
  %v19 = hal.buffer_view.encoding_type<%view : !hal.buffer_view> : i32
  // CHECK: hal.buffer_view.rank<%view : !hal.buffer_view> : index
  %v20 = hal.buffer_view.rank<%view : !hal.buffer_view> : index
  // CHECK: hal.buffer_view.trace "FOO" = %view, %view : !hal.buffer_view, !hal.buffer_view
  hal.buffer_view.trace "FOO" = %view, %view : !hal.buffer_view, !hal.buffer_view
  // CHECK: hal.channel.create device(%device : !hal.device) affinity(%i64) flags("None") id(%host) group(%host) rank(%i32) count(%j32) : !hal.channel
  %v22 = hal.channel.create device(%device : !hal.device) affinity(%i64) flags("None") id(%host) group(%host) rank(%i32) count(%j32) : !hal.channel
  // CHECK: hal.channel.rank_and_count<%channel : !hal.channel> : i32, i32
  %v23_0, %v23_1 = hal.channel.rank_and_count<%channel : !hal.channel> : i32, i32
  // CHECK: hal.channel.split<%channel : !hal.channel> color(%i32) key(%j32) flags("None") : !hal.channel
  %v24 = hal.channel.split<%channel : !hal.channel> color(%i32) key(%j32) flags("None") : !hal.channel
  // CHECK: hal.allocator.select from([
  // CHECK-NEXT:   (%device, %i64 : !hal.device, i64),
  // CHECK-NEXT:   (%device, %i64 : !hal.device, i64)
  // CHECK-NEXT: ]) type(%i32) usage(%j32) : !hal.device, i64
  %v25_0, %v25_1 = hal.allocator.select from([(%device, %i64 : !hal.device, i64), (%device, %i64 : !hal.device, i64)]) type(%i32) usage(%j32) : !hal.device, i64
  // CHECK: hal.allocator.resolve_memory_properties lifetime(constant) : i32, i32
  %v26_0, %v26_1 = hal.allocator.resolve_memory_properties lifetime(constant) : i32, i32
  // CHECK: hal.device.allocator<%device : !hal.device> : !hal.allocator
  %v27 = hal.device.allocator<%device : !hal.device> : !hal.allocator
  // CHECK: hal.device.query<%device : !hal.device> key("sys" :: "foo") : i1, i32
  %v28_0, %v28_1 = hal.device.query<%device : !hal.device> key("sys" :: "foo") : i1, i32
  // CHECK: hal.device.query<%device : !hal.device> key("sys" :: "foo") : i1, i1 = false
  %v29_0, %v29_1 = hal.device.query<%device : !hal.device> key("sys" :: "foo") : i1, i1 = false
  // CHECK: hal.device.memoize<%device : !hal.device> affinity(%i64) -> !hal.command_buffer {
  // CHECK-NEXT: hal.command_buffer.create device(%device : !hal.device) mode(OneShot) categories(Dispatch) affinity(%i64) : !hal.command_buffer
  // CHECK-NEXT: hal.return %0 : !hal.command_buffer
  // CHECK-NEXT: }
  %v30 = hal.device.memoize<%device : !hal.device> affinity(%i64) -> !hal.command_buffer {
    %0 = hal.command_buffer.create device(%device : !hal.device) mode(OneShot) categories(Dispatch) affinity(%i64) : !hal.command_buffer
    hal.return %0 : !hal.command_buffer
  }
  // CHECK: hal.device.resolve on(#hal.device.affinity<@d>) : !hal.device, i64
  %v31_0, %v31_1 = hal.device.resolve on(#hal.device.affinity<@d>) : !hal.device, i64
  // CHECK: hal.device.resolve on(#hal.device.affinity<@d, [0, 1]>) : !hal.device, !hal.allocator, i64
  %v32_0, %v32_1, %v32_2 = hal.device.resolve on(#hal.device.affinity<@d, [0, 1]>) : !hal.device, !hal.allocator, i64
  // CHECK: hal.devices.count : index
  %v33 = hal.devices.count : index
  // CHECK: hal.devices.get %n : !hal.device
  %v34 = hal.devices.get %n : !hal.device
  // CHECK: hal.ex.file.from_memory device(%device : !hal.device) affinity(%i64) access("Read|Write") buffer(%host : !util.buffer)[%n for %m] flags(%i32) : !hal.file
  %v35 = hal.ex.file.from_memory device(%device : !hal.device) affinity(%i64) access("Read|Write") buffer(%host : !util.buffer)[%n for %m] flags(%i32) : !hal.file
  // CHECK: hal.fence.await until([%fence, %f2]) timeout_millis(%i32) flags("None") : i32
  %v36 = hal.fence.await until([%fence, %f2]) timeout_millis(%i32) flags("None") : i32
  // CHECK: hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %v37 = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  // CHECK: hal.fence.fail<%fence : !hal.fence> status(%i32)
  hal.fence.fail<%fence : !hal.fence> status(%i32)
  // CHECK: hal.fence.join at([%fence, %f2]) flags("None") -> !hal.fence
  %v39 = hal.fence.join at([%fence, %f2]) flags("None") -> !hal.fence
  // CHECK: hal.fence.query<%fence : !hal.fence> : i32
  %v40 = hal.fence.query<%fence : !hal.fence> : i32
  // CHECK: hal.fence.signal<%fence : !hal.fence>
  hal.fence.signal<%fence : !hal.fence>
  // CHECK: hal.ex.file.from_memory device(%device : !hal.device) affinity(%i64) access(Read) buffer(%host : !util.buffer)[%n for %m] flags(%i32) : !hal.file
  %v42 = hal.ex.file.from_memory device(%device : !hal.device) affinity(%i64) access(Read) buffer(%host : !util.buffer)[%n for %m] flags(%i32) : !hal.file
  util.return
}
