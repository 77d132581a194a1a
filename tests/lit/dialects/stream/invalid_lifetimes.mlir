// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Devices do not work on resources of `staging` lifetime, which are transferred and mapped.

util.func private @splat(%v: f32, %n: index) -> !stream.resource<staging> {
  // expected-error @+1 {{but got '!stream.resource<staging>'}}
  %0 = stream.tensor.splat %v : f32 -> tensor<4xf32> in !stream.resource<staging>{%n}
  util.return %0 : !stream.resource<staging>
}

// -----

util.func private @load(%r: !stream.resource<*>, %n: index) -> f32 {
  // expected-error @+1 {{must be !stream.resource<staging>, but got '!stream.resource<*>'}}
  %0 = stream.async.load %r[%n] : !stream.resource<*>{%n} -> f32
  util.return %0 : f32
}

// -----

util.func private @slice(%r: !stream.resource<*>, %n: index) -> !stream.resource<external> {
  // expected-error @+1 {{expected source, result to have the same type}}
  %0 = stream.async.slice %r[%n to %n] : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %0 : !stream.resource<external>
}

// -----

util.func private @constants(%n: index) -> !stream.resource<external> {
  // expected-error @+1 {{but got '!stream.resource<external>'}}
  %0, %1 = stream.resource.constants : !stream.resource<external>{%n} = dense<1> : tensor<4xi8> => !stream.timepoint
  util.return %0 : !stream.resource<external>
}

// -----

util.func private @constants_of_two_lifetimes(%n: index) -> !stream.resource<constant> {
  // expected-error @+1 {{expected results to have the same type, found !stream.resource<constant> and !stream.resource<variable>}}
  %0:3 = stream.resource.constants : !stream.resource<constant>{%n} = dense<1> : tensor<4xi8>, !stream.resource<variable>{%n} = dense<2> : tensor<4xi8> => !stream.timepoint
  util.return %0#0 : !stream.resource<constant>
}

// -----

util.func private @yield(%r: !stream.resource<*>, %n: index) -> !stream.resource<external> {
  // expected-error @+1 {{expects to yield (!stream.resource<external>), its results, but yields (!stream.resource<*>)}}
  %0, %1 = stream.async.execute with(%r as %a: !stream.resource<*>{%n}) -> !stream.resource<external>{%n} {
    stream.yield %a : !stream.resource<*>{%n}
  } => !stream.timepoint
  util.return %0 : !stream.resource<external>
}

// -----

util.func private @from(%r: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  // expected-error @+1 {{'source_affinity' must be an affinity, but got "here"}}
  %0 = stream.async.transfer %r : !stream.resource<*>{%n} from("here") -> !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}

// -----

util.func private @root(%r: !stream.resource<*>, %n: index, %c: !stream.channel) -> !stream.resource<*> {
  // expected-error @+1 {{requires the parameter 'source' for its kind of collective}}
  %0 = "stream.async.collective"(%r, %n, %n, %n, %n, %r, %n, %n, %n, %n, %n, %c) <{op = #stream.collective<broadcast : f32>}> : (!stream.resource<*>, index, index, index, index, !stream.resource<*>, index, index, index, index, index, !stream.channel) -> !stream.resource<*>
  util.return %0 : !stream.resource<*>
}

// -----

util.func private @read(%r: !stream.resource<staging>, %n: index) -> !stream.resource<*> {
  // expected-error @+1 {{works on resources of devices, not on !stream.resource<staging>}}
  %0 = stream.async.dispatch @ex::@k(%r[%n to %n for %n]) : (!stream.resource<staging>{%n}) -> !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}

// -----

util.func private @write(%r: !stream.resource<*>, %n: index) -> !stream.resource<staging> {
  // expected-error @+1 {{works on resources of devices, not on !stream.resource<staging>}}
  %0 = stream.async.dispatch @ex::@k(%r[%n to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<staging>{%n}
  util.return %0 : !stream.resource<staging>
}

// -----

util.func private @read_tensor(%r: !stream.resource<staging>, %n: index) -> !stream.resource<*> {
  // expected-error @+1 {{works on resources of devices, not on !stream.resource<staging>}}
  %0 = stream.tensor.dispatch @ex::@k(%r) : (tensor<4xf32> in !stream.resource<staging>{%n}) -> tensor<4xf32> in !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}
