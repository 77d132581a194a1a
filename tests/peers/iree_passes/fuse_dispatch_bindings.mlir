// builtin.module(iree-stream-fuse-dispatch-bindings)

// Fuse two reads.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b0: !stream.binding, %b1: !stream.binding, %b2: !stream.binding, %x: index) { 
 %c0 = arith.constant 0 : index
 %c8 = arith.constant 8 : index
 %0 = stream.binding.subspan %b0[%c0] : !stream.binding -> memref<?xf32>{%x}
 %1 = stream.binding.subspan %b1[%c8] : !stream.binding -> memref<?xf32>{%x}
 %2 = stream.binding.subspan %b2[%x] : !stream.binding -> memref<?xf32>{%x}
 util.optimization_barrier %0 : memref<?xf32>
 util.optimization_barrier %1 : memref<?xf32>
 util.optimization_barrier %2 : memref<?xf32>
 return } } }
util.func public @a(%n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %s = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}, %s as %d: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%c64 : index) { ro %c[%c0 for %c64] : !stream.resource<transient>{%n}, ro %c[%c64 for %c64] : !stream.resource<transient>{%n}, wo %d[%c128 for %c64] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}

// -----

// Overlapping read write mix.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b0: !stream.binding, %b1: !stream.binding, %b2: !stream.binding, %x: index) { 
 %c0 = arith.constant 0 : index
 %c8 = arith.constant 8 : index
 %0 = stream.binding.subspan %b0[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%x}
 %1 = stream.binding.subspan %b1[%c8] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<?xf32>>{%x}
 %2 = stream.binding.subspan %b2[%x] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%x}
 util.optimization_barrier %0 : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>
 util.optimization_barrier %1 : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<?xf32>>
 util.optimization_barrier %2 : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>
 return } } }
util.func public @a(%n: index, %o: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%c64 : index) { ro %c[%c0 for %c64] : !stream.resource<transient>{%n}, rw %c[%c64 for %c64] : !stream.resource<transient>{%n}, wo %c[%o for %c64] : !stream.resource<transient>{%n} }
    stream.cmd.dispatch @e::@f[%n](%c64 : index) { ro %c[%c0 for %c64] : !stream.resource<transient>{%n}, rw %c[%o for %c64] : !stream.resource<transient>{%n}, wo %c[%o for %c64] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}

// -----

// Two dispatches disagree.
stream.executable private @e { stream.executable.export public @f
 builtin.module { func.func @f(%b0: !stream.binding, %b1: !stream.binding, %b2: !stream.binding, %x: index) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b0[%c0] : !stream.binding -> memref<?xf32>{%x}
 %1 = stream.binding.subspan %b1[%c0] : !stream.binding -> memref<?xf32>{%x}
 %2 = stream.binding.subspan %b2[%c0] : !stream.binding -> memref<?xf32>{%x}
 util.optimization_barrier %0 : memref<?xf32>
 util.optimization_barrier %1 : memref<?xf32>
 util.optimization_barrier %2 : memref<?xf32>
 return } } }
util.func public @a(%n: index, %o: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %r = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %s = stream.resource.alloc uninitialized : !stream.resource<transient>{%n}
  %t = stream.cmd.execute with(%r as %c: !stream.resource<transient>{%n}, %s as %d: !stream.resource<transient>{%n}) {
    stream.cmd.dispatch @e::@f[%n](%c64 : index) { ro %c[%c0 for %c64] : !stream.resource<transient>{%n}, ro %c[%c64 for %c64] : !stream.resource<transient>{%n}, ro %d[%o for %c64] : !stream.resource<transient>{%n} }
    stream.cmd.dispatch @e::@f[%n](%c64 : index) { ro %c[%c0 for %c64] : !stream.resource<transient>{%n}, ro %d[%o for %c64] : !stream.resource<transient>{%n}, ro %c[%o for %c64] : !stream.resource<transient>{%n} }
  } => !stream.timepoint
  util.return
}
