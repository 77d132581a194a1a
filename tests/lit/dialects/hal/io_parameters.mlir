// RUN: mesh-opt %s | mesh-opt | filecheck %s

util.func public @f(%d: !hal.device, %q: i64, %w: !hal.fence, %s: !hal.fence, %scope: !util.buffer, %key: !util.buffer, %o: i64, %t: i32, %n: index, %b: !hal.buffer) {
  // CHECK: %{{.*}}:2 = io_parameters.load<%d : !hal.device> affinity(%q) wait(%w) signal(%s) type(%t) usage(%t) {
  // CHECK-NEXT:   %key[%o] : !hal.buffer{%n},
  // CHECK-NEXT:   %key[%o] : !hal.buffer{%n}
  // CHECK-NEXT: }
  %0:2 = io_parameters.load<%d : !hal.device> affinity(%q) wait(%w) signal(%s) type(%t) usage(%t) {
    %key[%o] : !hal.buffer{%n},
    %key[%o] : !hal.buffer{%n}
  }
  // CHECK: io_parameters.gather<%d : !hal.device> affinity(%q) wait(%w) signal(%s) {
  // CHECK-NEXT:   %key[%o] -> %b[%n for %n] : !hal.buffer
  // CHECK-NEXT: } attributes {some}
  io_parameters.gather<%d : !hal.device> affinity(%q) wait(%w) signal(%s) {
    %key[%o] -> %b[%n for %n] : !hal.buffer
  } attributes {some}
  // CHECK: io_parameters.scatter<%d : !hal.device> affinity(%q) wait(%w) signal(%s) {
  // CHECK-NEXT:   %b[%n for %n] : !hal.buffer -> %scope::%key[%o],
  // CHECK-NEXT:   %b[%n for %n] : !hal.buffer -> %scope::%key[%o]
  // CHECK-NEXT: }
  io_parameters.scatter<%d : !hal.device> affinity(%q) wait(%w) signal(%s) {
    %b[%n for %n] : !hal.buffer -> %scope::%key[%o],
    %b[%n for %n] : !hal.buffer -> %scope::%key[%o]
  }
  util.return
}
