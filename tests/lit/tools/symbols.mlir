// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-note @+1 {{see existing symbol definition here}}
func.func private @a()
// A module inside has names of its own.
module { func.func private @a() }
// expected-error @+1 {{redefinition of symbol named 'a'}}
func.func private @a()

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{redefinition of symbol named 'g'}}
util.global private @g : i32
