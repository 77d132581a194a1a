// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-verify-async-access-ranges

util.func public @slice0(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [? to 24 for 8] of resource %r with size 16; end > resource size}}
  %0 = stream.async.slice %r[%n to %c24] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c8}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @slice1(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [20 to ? for 8] of resource %r with size 16; start > resource size}}
  %0 = stream.async.slice %r[%c20 to %n] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c8}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @slice2(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [0 to ? for 24] of resource %r with size 16; length > resource size}}
  %0 = stream.async.slice %r[%c0 to %n] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c24}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @slice3(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [20 to 8 for 24] of resource %r with size 16; start > end}}
  %0 = stream.async.slice %r[%c20 to %c8] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c24}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @slice4(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [0 to 8 for 24] of resource %r with size 16; length > end}}
  %0 = stream.async.slice %r[%c0 to %c8] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c24}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @slice5(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [20 to 24 for 8] of resource %r with size 16; start + length != end}}
  %0 = stream.async.slice %r[%c20 to %c24] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c8}
  util.return %0 : !stream.resource<*>
}

// -----

// What is written is the result as well; what follows is not looked at.
util.func public @written(%v: i32, %n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  %0 = stream.async.slice %r[%c0 to %c16] : !stream.resource<*>{%c16} -> !stream.resource<*>{%c16}
  // expected-error @+2 {{has invalid Write access range [8 to 24 for ?] of resource %0 with size 16; end > resource size}}
  // expected-error @+1 {{has invalid Write access range [8 to 24 for ?] of resource %1 with size 16; end > resource size}}
  %1 = stream.async.fill %v, %0[%c8 to %c24 for %n] : i32 -> %0 as !stream.resource<*>{%c16}
  %2 = stream.async.update %1, %1[%c8 to %c24] : !stream.resource<*>{%c16} -> %1 as !stream.resource<*>{%c16}
  util.return %2 : !stream.resource<*>
}

// -----

util.func public @dispatch(%n: index, %r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+3 {{has invalid Read|Write access range [0 to 24 for 24] of resource %r with size 16; length > resource size}}
  // expected-error @+2 {{has invalid Read|Write access range [0 to 24 for 24] of resource %0 with size 16; length > resource size}}
  // expected-error @+1 {{has invalid Read access range [8 to 24 for 16] of resource %r with size 16; end > resource size}}
  %0 = stream.async.dispatch @ex::@f(%n, %r[%c0 to %c24 for %c24], %r[%c8 to %c24 for %c16]) : (index, !stream.resource<*>{%c16}, !stream.resource<*>{%c16}) -> %r{%c16}
  util.return %0 : !stream.resource<*>
}

// -----

util.func public @copy(%r: !stream.resource<*>) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  // expected-error @+1 {{has invalid Read access range [0 to 24 for 16] of resource %r with size 16; start + length != end}}
  %0 = stream.async.copy %r[%c0 to %c24], %r[%c0 to %c16], %c16 : !stream.resource<*>{%c16} -> %r as !stream.resource<*>{%c16}
  util.return %0 : !stream.resource<*>
}
