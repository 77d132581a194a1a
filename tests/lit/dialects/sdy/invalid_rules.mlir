// RUN: mesh-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{a custom sharding rule is only for 'stablehlo.custom_call'}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4}, custom>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{sdy.sharding_rule = 1 : i64, expected a sharding rule}}
%0 = stablehlo.abs %a {sdy.sharding_rule = 1 : i64} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<?x4xf32>
// expected-error @+1 {{expected operand 0 of a sharding rule to be a tensor of known sizes}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4}>} : tensor<?x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected the factors of 1 operands in a sharding rule, got 2}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=2, j=4}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected the factors of 2 dimensions of result 0, got 1}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=4}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{a factor of size 1 is not one of several of a dimension of operand 0}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, j]) {i=2, j=4, k=1}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected a factor of each dimension of operand 0}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, ])->([i, j]) {i=2, j=4}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{factor z_2 has no size}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, z_2])->([i, j]) {i=2, j=4}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{factor k=2 has no dimension}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4, k=2}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected a factor once in operand 0, got {i, i}}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, i])->([i, j]) {i=2, j=4}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected need_replication to be sorted, got {j, i}}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} need_replication={j, i}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{a factor is in one of reduction, need_replication, permutation, got {j, j}}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} reduction={j} permutation={j}>} : tensor<2x4xf32>

// -----

%a = "test.op"() : () -> tensor<2x4xf32>
// expected-error @+1 {{expected j and its size, got 'k=4'}}
%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, k]) {i=2, k=4}>} : tensor<2x4xf32>
