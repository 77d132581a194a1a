// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// A name that no dialect has is told where it stands, with what may have been meant.

// expected-error @+1 {{unknown type '!shard.shardin'; did you mean '!shard.sharding'?}}
func.func @type(%a: !shard.shardin) { return }

// -----

// expected-error @+1 {{unknown type '!shad.sharding': there is no dialect 'shad'; did you mean 'shard'?}}
func.func @dialect(%a: !shad.sharding) { return }

// -----

// expected-error @+1 {{unknown type '!foo.bar': there is no dialect 'foo' (--allow-unregistered-dialect accepts those of unknown dialects)}}
func.func @opaque(%a: !foo<bar>) { return }

// -----

// expected-error @+1 {{unknown attribute '#shard.axisaray'; did you mean '#shard.axisarray'?}}
func.func @attribute(%a: tensor<4xf32, #shard.axisaray>) { return }
