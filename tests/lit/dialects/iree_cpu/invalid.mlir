// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{1 inner positions but 2 inner tiles}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>}

// -----

// expected-error @+1 {{inner positions [0, 0] are not unique}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 0], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>}

// -----

// expected-error @+1 {{inner positions [0, 2] exceed the rank 2}}
func.func private @f() attributes {a = #iree_cpu.vmvx_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 2], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>}

// -----

// expected-error @+1 {{encoding_info expects an array 'innerTileSizes'}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], outerDimsPerm = [0, 1]}}>}

// -----

// expected-error @+1 {{swizzle factors have product 12, the tile is 16}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16], outerDimsPerm = [0], swizzle = {expandShape = [[["CrossThread", 12 : i16]]], permutation = [0]}}}>}

// -----

// expected-error @+1 {{encoding_info expects swizzle = {expandShape = [[[kind, size], ...], ...], permutation = [...]}}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0], innerTileSizes = [16], outerDimsPerm = [0], swizzle = {expandShape = [[["CrossThread"]]], permutation = [0]}}}>}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: configuration}}
func.func private @f() attributes {a = #iree_cpu.cpu_encoding_solver<configuration = {}>}
