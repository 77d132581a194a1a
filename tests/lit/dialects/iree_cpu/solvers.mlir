// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Solvers in both spellings, with configurations and resolved layouts.

// CHECK: func.func private @solvers() attributes {a = #iree_cpu.cpu_encoding_resolver<>, b = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>, c = #iree_cpu.vmvx_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [-9223372036854775808], outerDimsPerm = [0, 1]}}>, d = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16], outerDimsPerm = [0, 1], scalableTiles = [true], swizzle = {expandShape = {{\[\[}}["CrossIntrinsic", 2 : i16], ["CrossThread", 8 : i16, 1 : i8]]], permutation = [1, 0]}}}>, e = #iree_cpu.cpu_encoding_solver<>, f = #iree_cpu.cpu_encoding_solver<target_configuration = {cpu_features = "+avx2", target_triple = "x86_64-x-x"}>, g = #iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "all"}>}

func.func private @solvers() attributes {
  a = #iree_cpu.cpu_encoding_resolver<>,
  b = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>,
  c = #iree_cpu.vmvx_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [-9223372036854775808], outerDimsPerm = [0, 1]}}>,
  d = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16], outerDimsPerm = [0, 1], scalableTiles = [true], swizzle = {expandShape = [[["CrossIntrinsic", 2 : i16], ["CrossThread", 8 : i16, 1 : i8]]], permutation = [1, 0]}}}>,
  e = #iree_cpu.cpu_encoding_solver<>,
  f = #iree_cpu.cpu_encoding_solver<target_configuration = {cpu_features = "+avx2", target_triple = "x86_64-x-x"}>,
  g = #iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "all"}>
}
