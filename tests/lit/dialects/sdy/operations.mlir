// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Meshes, shardings and computations by Shardy.

// CHECK: sdy.mesh @m = <["a"=2, "b"=4]>
// CHECK: sdy.mesh @m2 = <[]>
// CHECK: sdy.mesh @m3 = <["a"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK: sdy.mesh @m4 = <[], device_ids=[0]>
sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @m2 = <[]>
sdy.mesh @m3 = <["a"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @m4 = <[], device_ids=[0]>
// CHECK-LABEL: func.func @f
// CHECK-NEXT: %1 = sdy.sharding_constraint %0 <@m, [{"a"}, {?}]> {foo = 3 : i32} : tensor<8x8xf32>
// CHECK-NEXT: %x = sdy.sharding_constraint %0 <mesh<["a"=2, "b"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>, [{"a"}, {?}]> {foo = 3 : i32} : tensor<8x8xf32>
// CHECK-NEXT: %2 = sdy.reshard %1 <@m, [{}, {"b"}]> : tensor<8x8xf32>
// CHECK-NEXT: sdy.sharding_group %2 group_id=21 : tensor<8x8xf32>
// CHECK-NEXT: %3 = sdy.propagation_barrier %2 allowed_direction=FORWARD : tensor<8x8xf32>
// CHECK-NEXT: %4 = sdy.manual_computation(%0) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%arg0: tensor<4x8xf32>) {
// CHECK-NEXT: sdy.return %arg0 : tensor<4x8xf32>
// CHECK-NEXT: } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %5 = sdy.named_computation<"foo">(%0) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] (%arg0: tensor<8x8xf32>) {
// CHECK-NEXT: sdy.return %arg0 : tensor<8x8xf32>
// CHECK-NEXT: } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %6:2 = sdy.manual_computation(%0, %0) in_shardings=[<@m, [{"a"}, {}]>, <@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>, <@m, [{"a"}, {}]>] manual_axes={"a", "b"} (%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) {
// CHECK-NEXT: sdy.return %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT: } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
// CHECK-NEXT: sdy.return
// CHECK-NEXT: } : () -> ()
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @f(%0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b":(2)2, ?}, {?}p3], replicated={"a"}, unreduced={"b":(1)2}>}) {
  %1 = sdy.sharding_constraint %0 <@m, [{"a"}, {?}]> {foo = 3 : i32} : tensor<8x8xf32>
  %x = sdy.sharding_constraint %0 <mesh<["a"=2, "b"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>, [{"a"}, {?}]> {foo = 3 : i32} : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@m, [{}, {"b"}]> : tensor<8x8xf32>
  sdy.sharding_group %2 group_id=21 : tensor<8x8xf32>
  %3 = sdy.propagation_barrier %2 allowed_direction=FORWARD : tensor<8x8xf32>
  %4 = sdy.manual_computation(%0) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%arg0: tensor<4x8xf32>) {
    sdy.return %arg0 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = sdy.named_computation<"foo">(%0) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] (%arg0: tensor<8x8xf32>) {
    sdy.return %arg0 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6:2 = sdy.manual_computation(%0, %0) in_shardings=[<@m, [{"a"}, {}]>, <@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>, <@m, [{"a"}, {}]>] manual_axes={"a", "b"} (%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) {
    sdy.return %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  return
}

// Shardings on a mesh of one device list no dimensions.
// CHECK-LABEL: func.func @on_one_device
// CHECK: sdy.manual_computation(%x) in_shardings=[<@m4, []>] out_shardings=[<@m4, []>] manual_axes={} (%y: tensor<8xf32>) {
func.func @on_one_device(%x: tensor<8xf32>) {
  %r = sdy.manual_computation(%x) in_shardings=[<@m4, []>] out_shardings=[<@m4, []>] manual_axes={} (%y: tensor<8xf32>) {
    sdy.return %y : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @collectives
// CHECK: sdy.all_gather [{"a"}, {}] %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
// CHECK: sdy.all_slice [{}, {"b":(1)2}] %{{.*}} out_sharding=<@m, [{}, {"b":(1)2}]> : tensor<8x8xf32>
// CHECK: sdy.all_to_all [{"b":(1)2}: 1->0] %{{.*}} out_sharding=<@m, [{"b":(1)2}, {}]> {foo = 3 : i32} : tensor<8x8xf32>
// CHECK: sdy.collective_permute %{{.*}} out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
// CHECK: sdy.all_reduce {"b"} %{{.*}} out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
// CHECK: sdy.reduce_scatter [{}, {"b"}] %{{.*}} out_sharding=<@m, [{"a"}, {"b"}]> : tensor<8x8xf32>
// CHECK: sdy.sharded_to_unreduced [{}, {"b"}] %{{.*}} out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
// CHECK: sdy.replicated_to_unreduced {"b"} %{{.*}} out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
// CHECK: sdy.data_flow_edge %{{.*}} sharding=<@m, [{"a"}, {?}]> : tensor<8x8xf32>
// CHECK: sdy.data_flow_edge %{{.*}} : tensor<8x8xf32>
func.func @collectives(%a: tensor<8x8xf32>) {
  %0 = sdy.all_gather [{"a"}, {}] %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{}, {"b":(1)2}] %0 out_sharding=<@m, [{}, {"b":(1)2}]> : tensor<8x8xf32>
  %2 = sdy.all_to_all [{"b":(1)2}: 1->0] %1 out_sharding=<@m, [{"b":(1)2}, {}]> {foo = 3 : i32} : tensor<8x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %4 = sdy.all_reduce {"b"} %3 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %5 = sdy.reduce_scatter [{}, {"b"}] %4 out_sharding=<@m, [{"a"}, {"b"}]> : tensor<8x8xf32>
  %s = sdy.sharded_to_unreduced [{}, {"b"}] %5 out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
  %r = sdy.replicated_to_unreduced {"b"} %3 out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
  %6 = sdy.data_flow_edge %5 sharding=<@m, [{"a"}, {?}]> : tensor<8x8xf32>
  %7 = sdy.data_flow_edge %6 : tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @without_shardings
// CHECK-NEXT: %1 = sdy.constant {foo = 3 : i32} dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %2 = sdy.named_computation<"foo">(%0) (%arg0: tensor<8xf32>) {
// CHECK: %3 = sdy.named_computation<"foo">(%2) out_shardings=[<@m, [{"a"}]>] (%arg0: tensor<8xf32>) {
// CHECK: %4 = func.call @callee(%3)
// CHECK-NEXT: %5 = sdy.func_data_flow_edge %4 {bar} : tensor<8xf32>
func.func @without_shardings(%0: tensor<8xf32>) -> tensor<8xf32> {
  %1 = sdy.constant {foo = 3 : i32} dense<1.0> : tensor<8xf32>
  %2 = sdy.named_computation<"foo">(%0) (%arg0: tensor<8xf32>) {
    sdy.return %arg0 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = sdy.named_computation<"foo">(%2) out_shardings=[<@m, [{"a"}]>] (%arg0: tensor<8xf32>) {
    sdy.return %arg0 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %4 = call @callee(%3) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = sdy.func_data_flow_edge %4 {bar} : tensor<8xf32>
  return %5 : tensor<8xf32>
}
func.func private @callee(tensor<8xf32>) -> tensor<8xf32>

// Rules have one spelling. A tuple of one tensor has its sharding.
// CHECK-LABEL: func.func @rules
// CHECK-NEXT: sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i], [k]) {i=2, j=2, k=4} reduction={j} need_replication={k} permutation={i} blocked_propagation={i, k}, custom>}
// CHECK-NEXT: sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>}
func.func @rules(%0: tensor<2x8xf32>) {
  %1:2 = stablehlo.custom_call @f(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i,jk]) -> ([i], [k]) {i = 2, j=2,k=4} reduction={j}  need_replication={k} permutation={i} blocked_propagation={i, k},custom>} : (tensor<2x8xf32>) -> (tensor<2xf32>, tensor<4xf32>)
  %2 = stablehlo.custom_call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>} : (tensor<2x8xf32>) -> tuple<tensor<2x8xf32>>
  return
}
