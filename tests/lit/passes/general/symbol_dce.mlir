// RUN: mesh-opt %s --symbol-dce | filecheck %s
// RUN: mesh-opt %s --inline --symbol-dce | filecheck %s --check-prefix=INLINE

// CHECK-NOT: @unused
// CHECK-NOT: @cycle
func.func private @unused() -> i32
func.func private @cycle_a() { call @cycle_b() : () -> () return }
func.func private @cycle_b() { call @cycle_a() : () -> () return }

// CHECK: shard.grid @public_grid
shard.grid @public_grid(shape = 2)

// CHECK: func.func private @deep
func.func private @deep(%x: i32) -> i32 { return %x : i32 }
// CHECK: func.func private @helper
func.func private @helper(%x: i32) -> i32 {
  %y = call @deep(%x) : (i32) -> i32
  return %y : i32
}
// CHECK: func.func @main
// INLINE-NOT: func.func private
// INLINE: func.func @main(%x: i32) -> i32
// INLINE-NEXT: func.return %x : i32
func.func @main(%x: i32) -> i32 {
  %y = call @helper(%x) : (i32) -> i32
  return %y : i32
}

// CHECK: module @nested
module @nested {
  // CHECK-NOT: @inner_unused
  func.func private @inner_unused() { return }
  // CHECK: @inner
  func.func private @inner() { return }
}
// CHECK: @user
"builtin.module"() ({
  func.func @user() attributes {by = @nested::@inner, name = "test.use"} { return }
}) : () -> ()
