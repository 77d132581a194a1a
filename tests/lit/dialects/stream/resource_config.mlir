// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s | mesh-opt | filecheck %s

// What is left out has IREE's values, and is spelled as iree-opt reads it.

// CHECK: @default() attributes {stream.resources = #stream.resource_config<{max_allocation_size = 16, min_buffer_offset_alignment = 8, max_buffer_range = 16, min_buffer_range_alignment = 4, index_bits = 32, alias_mutable_bindings = false, memory_model = Discrete}>}
util.func public @default() attributes {stream.resources = #stream.resource_config<{max_allocation_size = 16, min_buffer_offset_alignment = 8, max_buffer_range = 16, min_buffer_range_alignment = 4, index_bits = 32}>} {
  util.return
}

// CHECK: @unified() attributes {stream.resources = #stream.resource_config<{max_allocation_size = 16, min_buffer_offset_alignment = 8, max_buffer_range = 16, min_buffer_range_alignment = 4, index_bits = 64, alias_mutable_bindings = true, memory_model = Unified}>}
util.func public @unified() attributes {stream.resources = #stream.resource_config<{max_allocation_size = 16, min_buffer_offset_alignment = 8, max_buffer_range = 16, min_buffer_range_alignment = 4, index_bits = 64, alias_mutable_bindings = true, memory_model = Unified}>} {
  util.return
}

// CHECK: @nothing_said() attributes {stream.resources = #stream.resource_config<{max_allocation_size = 0, min_buffer_offset_alignment = 32, max_buffer_range = 0, min_buffer_range_alignment = 0, index_bits = 32, alias_mutable_bindings = false, memory_model = Discrete}>}
util.func public @nothing_said() attributes {stream.resources = #stream.resource_config<{min_buffer_offset_alignment = 32}>} {
  util.return
}
