// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Host memory, lists, ranges and texts.

util.global private mutable @g : i32
util.func private @g2(%arg0: tensor<4x?xf32>, %arg1: index) -> (%arg0 as tensor<4x4xf32>)
util.func private @f(%a: i32, %b: i32, %n: index, %m: index, %k: index, %buf: !util.buffer, %b2: !util.buffer, %i64: i64, %list: !util.list<?>, %li: !util.list<i32>, %obj: !util.object, %t: tensor<4x?xf32>, %u8: i8, %f32: f32, %view: !hal.buffer_view) {
  // CHECK: util.buffer.alloc uninitialized : !util.buffer{%n}
  %v0 = util.buffer.alloc uninitialized : !util.buffer{%n}
  // CHECK: util.buffer.alloc uninitialized <alignment = 64> : !util.buffer{%n}
  %v1 = util.buffer.alloc uninitialized <alignment = 64> : !util.buffer{%n}
  // CHECK: util.buffer.compare %buf[%n], %b2[%m], %k : !util.buffer{%n}, !util.buffer{%m}
  %v2 = util.buffer.compare %buf[%n], %b2[%m], %k : !util.buffer{%n}, !util.buffer{%m}
  // CHECK: util.buffer.copy %buf[%n], %b2[%m], %k : !util.buffer{%n} -> !util.buffer{%m}
  util.buffer.copy %buf[%n], %b2[%m], %k : !util.buffer{%n} -> !util.buffer{%m}
  // CHECK: util.buffer.dealloc %buf : !util.buffer{%n}
  util.buffer.dealloc %buf : !util.buffer{%n}
  // CHECK: util.buffer.fill %a, %buf[%n for %m] : i32 -> !util.buffer{%k}
  util.buffer.fill %a, %buf[%n for %m] : i32 -> !util.buffer{%k}
  // CHECK: util.buffer.hash %buf[%n for %m] : !util.buffer{%k} -> i64
  %v6 = util.buffer.hash %buf[%n for %m] : !util.buffer{%k} -> i64
  // CHECK: util.buffer.load %buf[%n for %m] : !util.buffer{%k} -> i32
  %v7 = util.buffer.load %buf[%n for %m] : !util.buffer{%k} -> i32
  // CHECK: util.buffer.size %buf : !util.buffer
  %v8 = util.buffer.size %buf : !util.buffer
  // CHECK: util.buffer.slice %buf[%n] : !util.buffer{%m} -> !util.buffer{%k}
  %v9 = util.buffer.slice %buf[%n] : !util.buffer{%m} -> !util.buffer{%k}
  // CHECK: util.buffer.slice %buf[%m] <alignment = 16> : !util.buffer{%n} -> !util.buffer{%k}
  %v10 = util.buffer.slice %buf[%m] <alignment = 16> : !util.buffer{%n} -> !util.buffer{%k}
  // CHECK: util.buffer.storage %buf : !util.buffer{%n} -> (memref<?xi8>, index)
  %v11_0, %v11_1 = util.buffer.storage %buf : !util.buffer{%n} -> (memref<?xi8>, index)
  // CHECK: util.buffer.store %a, %buf[%n for %m] : i32 -> !util.buffer{%k}
  util.buffer.store %a, %buf[%n for %m] : i32 -> !util.buffer{%k}
  // CHECK: util.buffer.subspan %buf[%n] : !util.buffer{%m} -> !util.buffer{%k}
  %v13 = util.buffer.subspan %buf[%n] : !util.buffer{%m} -> !util.buffer{%k}
  // CHECK: util.buffer.constant  : !util.buffer = dense<1> : vector<4xi8>
  %v14 = util.buffer.constant  : !util.buffer = dense<1> : vector<4xi8>
  // CHECK: util.buffer.constant "name" <alignment = 64, mime_type = "text/plain"> : !util.buffer = "hello"
  %v15 = util.buffer.constant "name" <alignment = 64, mime_type = "text/plain"> : !util.buffer = "hello"
  // CHECK: util.cast %obj : !util.object to !util.buffer
  %v16 = util.cast %obj : !util.object to !util.buffer
  // CHECK: util.cmp.eq %buf, %b2 : !util.buffer
  %v17 = util.cmp.eq %buf, %b2 : !util.buffer
  // CHECK: util.cmp.ne %buf, %b2 : !util.buffer
  %v18 = util.cmp.ne %buf, %b2 : !util.buffer
  // CHECK: util.list.construct [%a : i32, %b : i32] : !util.list<i32>
  %v19 = util.list.construct [%a : i32, %b : i32] : !util.list<i32>
  // CHECK: util.list.construct [] : !util.list<i32>
  %v20 = util.list.construct [] : !util.list<i32>
  // CHECK: util.list.create %n : !util.list<?>
  %v21 = util.list.create %n : !util.list<?>
  // CHECK: util.list.create : !util.list<?>
  %v22 = util.list.create : !util.list<?>
  // CHECK: util.list.get %list[%n] : !util.list<?> -> i32
  %v23 = util.list.get %list[%n] : !util.list<?> -> i32
  // CHECK: util.list.get %li[%n] : !util.list<i32>
  %v24 = util.list.get %li[%n] : !util.list<i32>
  // CHECK: util.list.resize %list, %n : !util.list<?>
  util.list.resize %list, %n : !util.list<?>
  // CHECK: util.list.set %list[%n], %a : i32 -> !util.list<?>
  util.list.set %list[%n], %a : i32 -> !util.list<?>
  // CHECK: util.list.set %li[%n], %a : !util.list<i32>
  util.list.set %li[%n], %a : !util.list<i32>
  // CHECK: util.list.size %list : !util.list<?>
  %v28 = util.list.size %list : !util.list<?>
  // CHECK: util.null : !util.buffer
  %v29 = util.null : !util.buffer
  // CHECK: util.numeric.optional_narrow %t : tensor<4x?xf32> as si8 <min_value = 1 : i8, max_value = 2 : i8>
  %v30 = util.numeric.optional_narrow %t : tensor<4x?xf32> as si8 <min_value = 1 : i8, max_value = 2 : i8>
  // CHECK: util.numeric.optional_narrow %t : tensor<4x?xf32> as ui8
  %v31 = util.numeric.optional_narrow %t : tensor<4x?xf32> as ui8
  // CHECK: util.range.extents [%n for %k], [%m for %k] : index
  %v32_0, %v32_1 = util.range.extents [%n for %k], [%m for %k] : index
  // CHECK: util.range.max %n, %m, %k : index
  %v33 = util.range.max %n, %m, %k : index
  // CHECK: util.range.min %n, %m, %k : index
  %v34 = util.range.min %n, %m, %k : index
  // CHECK: util.scf.unreachable "foo"
  util.scf.unreachable "foo"
  // CHECK: util.scf.unreachable
  util.scf.unreachable
  // CHECK: util.sizeof i32
  %v37 = util.sizeof i32
  // CHECK: util.sizeof index
  %v38 = util.sizeof index
  // CHECK: util.status.check_ok %a, "foo"
  util.status.check_ok %a, "foo"
  // CHECK: util.status.check_ok %a
  util.status.check_ok %a
  // CHECK: util.string.format "a{}b{}"(%n, %a) : (index, i32) -> !util.buffer
  %v41 = util.string.format "a{}b{}"(%n, %a) : (index, i32) -> !util.buffer
  // CHECK: util.string.format "a"() : () -> !util.buffer
  %v42 = util.string.format "a"() : () -> !util.buffer
  // CHECK: util.string.itoa %n : index -> !util.buffer
  %v43 = util.string.itoa %n : index -> !util.buffer
  // CHECK: util.unfoldable_constant 42 : i32
  %v44 = util.unfoldable_constant 42 : i32
  // CHECK: util.unfoldable_constant dense<1> : tensor<4xi32>
  %v45 = util.unfoldable_constant dense<1> : tensor<4xi32>
  util.return
}
