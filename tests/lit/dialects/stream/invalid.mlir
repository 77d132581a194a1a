// RUN: mesh-opt %s --split-input-file --verify-diagnostics

util.func private @f(%n: index) {
  // expected-error @+1 {{type set has 2 dynamic dimensions but only 1 dimension values are attached}}
  %0 = stream.tensor.sizeof tensor<?x?xf32>{%n} : index
  util.return
}

// -----

util.func private @f(%r: !stream.resource<*>, %s: index) {
  // expected-error @+1 {{clones changing tensor encodings are not allowed}}
  %0 = stream.tensor.clone %r : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xf32, #iree_encoding.testing<>> in !stream.resource<*>{%s}
  util.return
}

// -----

util.func private @f(%r: !stream.resource<*>, %s: index) {
  // expected-error @+1 {{expects types of the same tensor, found tensor<4xf32> and tensor<4xi32, #iree_encoding.testing<>>}}
  %0 = stream.tensor.encode %r : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xi32, #iree_encoding.testing<>> in !stream.resource<*>{%s}
  util.return
}

// -----

util.func private @f(%r: !stream.resource<*>, %q: !stream.resource<*>, %s: index, %v: i32) {
  // expected-error @+1 {{expected the result to be tied to '%r'}}
  %0 = stream.async.fill %v, %r[%s to %s for %s] : i32 -> %q as !stream.resource<*>{%s}
  util.return
}

// -----

util.func private @f(%r: !stream.resource<*>, %s: index) {
  // expected-error @+1 {{expected 1 offsets, one for each resource operand, found 0}}
  %0 = stream.async.dispatch @e::@f(%r) : (!stream.resource<*>{%s}) -> !stream.resource<*>{%s}
  util.return
}

// -----

// expected-error @+1 {{expected a lifetime out of *, external, staging, transient, variable, constant, found 'short'}}
util.func private @f(!stream.resource<short>)

// -----

stream.executable private @e {
  // expected-error @+1 {{workgroup count region must return the XYZ dimension counts}}
  stream.executable.export public @f workgroups(%a: index) -> (index, index, index) {
    stream.return %a : index
  }
}

// -----

func.func @f(%a: !stream.binding, %n: index) {
  // expected-error @+1 {{has 2 dynamic dimensions but only 1 dimension values are attached}}
  %0 = stream.binding.subspan %a[%n] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x?xf32>>{%n}
  return
}

// -----

func.func @f(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>) {
  // expected-error @+1 {{expected 1 sizes, found 2}}
  %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [4, 1], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @scopes(%a: !util.buffer, %b: !util.buffer, %o: i64, %n: index) {
  // expected-error @+1 {{expected the same values in every entry}}
  %r:2, %t = stream.cmd.parameter.load {%a::%b[%o] : !stream.resource<constant>{%n}, %b::%b[%o] : !stream.resource<constant>{%n}} => !stream.timepoint
  return
}

// -----

func.func @partner(%c: !stream.channel, %s: !stream.resource<transient>, %t: !stream.resource<transient>, %n: index) {
  // expected-error @+1 {{Expected 'target'}}
  %r = stream.async.collective<send : f32>[%n] channel(%c) %s[%n to %n for %n], %t[%n to %n for %n] : !stream.resource<transient>{%n} -> %t as !stream.resource<transient>{%n}
  return
}

// -----

// expected-error @+1 {{a resource needs a range [... for ...], and other types must not have one}}
stream.cmd.func private @f(%a: !stream.resource<*>)

// -----

// expected-error @+1 {{expected one of debug, min-peak-memory, max-concurrency, found 'speed'}}
func.func private @favor() attributes {a = #stream.partitioning_config<"speed">}

// -----

util.func private @f(%r: !stream.resource<*>, %n: index) {
  // expected-error @+1 {{undefined external call: f}}
  %0 = stream.async.call @f(%r[%n to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  util.return
}

// -----

stream.async.func private @callee(%a: !stream.resource<external>) -> !stream.resource<*>

util.func private @f(%r: !stream.resource<*>, %n: index) {
  // expected-error @+1 {{function type mismatch; expected '(!stream.resource<*>) -> !stream.resource<*>' but callee is '(!stream.resource<external>)}}
  %0 = stream.async.call @callee(%r[%n to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  util.return
}

// -----

util.func private @f(%x: f32, %n: index) {
  // expected-error @+1 {{operand #0 must be i8 or i16 or i32 or i64, but got 'f32'}}
  %0 = stream.async.splat %x : f32 -> !stream.resource<*>{%n}
  util.return
}

// -----

util.func private @f(%r: !stream.resource<external>, %n: index) {
  // expected-error @+1 {{operand #0 must be !stream.resource<staging>, but got '!stream.resource<external>'}}
  %0 = stream.resource.load %r[%n] : !stream.resource<external>{%n} -> i32
  util.return
}

// -----

stream.executable private @ex {
  stream.executable.export public @k
  builtin.module {
    func.func @k(%b: !stream.binding, %x: i32) {
      func.return
    }
  }
}

util.func private @f(%r: !stream.resource<transient>, %n: index, %x: i32) {
  %0 = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%n}) {
    // expected-error @+1 {{@ex::@k takes 1 bindings and (i32), but is given 1 resources and (i32, i32)}}
    stream.cmd.dispatch @ex::@k(%x, %x : i32, i32) {rw %q[%n for %n] : !stream.resource<transient>{%n}}
  } => !stream.timepoint
  util.return
}

// -----

stream.executable private @ex {
  stream.executable.export public @k workgroups(%w: index) -> (index, index, index) {
    stream.return %w, %w, %w : index, index, index
  }
  builtin.module {
    func.func @k(%b: !stream.binding) {
      func.return
    }
  }
}

util.func private @f(%r: !stream.resource<transient>, %n: index) {
  // expected-error @+1 {{@ex::@k takes a workload of 1 values, but is given 2}}
  %0 = stream.async.dispatch @ex::@k[%n, %n](%r[%n to %n for %n]) : (!stream.resource<transient>{%n}) -> %r{%n}
  util.return
}

// -----

util.func private @f(%r: !stream.resource<external>, %n: index) {
  // expected-error @+1 {{op expected source, result to have the same type, found !stream.resource<external> and !stream.resource<transient>}}
  %0 = stream.async.slice %r[%n to %n] : !stream.resource<external>{%n} -> !stream.resource<transient>{%n}
  util.return
}
