// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Attributes of modules, arguments and results say which dialect's they are, as in MLIR.

// expected-error @+1 {{can only contain attributes with dialect-prefixed names, as 'dialect.name', found: 'a'}}
module attributes {a = 1 : i32} {
}

// -----

// expected-error @+1 {{arguments may only have dialect attributes, as 'dialect.name': argument #1 has 'x'}}
func.func private @f(f32 {mhlo.x}, tensor<2xf32> {x})

// -----

// expected-error @+1 {{results may only have dialect attributes, as 'dialect.name': result #0 has 'y'}}
func.func private @f() -> (tensor<2xf32> {y})

// -----

module attributes {mhlo.num_partitions = 8 : i32} {
  func.func private @f(f32 {shard.x}) attributes {note}
}
