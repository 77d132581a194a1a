// A result without parentheses has no attributes: the brace behind it opens the body.
// RUN: mesh-opt %s --verify-roundtrip | filecheck %s

// CHECK: util.func public @plain(%a: index) -> index {
util.func public @plain(%a: index) -> index {
  util.return %a : index
}

// CHECK: util.func public @noted(%a: index) -> (index {x.note}) {
util.func public @noted(%a: index) -> (index {x.note}) {
  util.return %a : index
}
