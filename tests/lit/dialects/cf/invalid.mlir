// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @type(%a: i32, %c: i1) -> i32 {
  // expected-error @+1 {{type mismatch for bb argument #0 of successor #0: found i32, but the block takes i64}}
  cf.cond_br %c, ^bb1(%a : i32), ^bb2(%a : i32)
^bb1(%x: i64):
  cf.br ^bb2(%a : i32)
^bb2(%y: i32):
  return %y : i32
}

// -----

func.func @count(%a: i32) -> i32 {
  // expected-error @+1 {{branch has 2 operands for successor #0, but target block has 1}}
  cf.br ^bb1(%a, %a : i32, i32)
^bb1(%y: i32):
  return %y : i32
}

// -----

func.func @case(%a: i32, %b: i64) -> i32 {
  // expected-error @+1 {{type mismatch for bb argument #0 of successor #2: found i64, but the block takes i32}}
  cf.switch %a : i32, [
    default: ^bb1(%a : i32),
    42: ^bb1(%a : i32),
    43: ^bb1(%b : i64)
  ]
^bb1(%x: i32):
  return %x : i32
}

// -----

func.func @weights(%a: i32, %c: i1) -> i32 {
  // expected-error @+1 {{expects number of branch weights to match number of successors: 1 vs 2}}
  cf.cond_br %c weights([7]), ^bb1(%a : i32), ^bb1(%a : i32)
^bb1(%x: i32):
  return %x : i32
}
