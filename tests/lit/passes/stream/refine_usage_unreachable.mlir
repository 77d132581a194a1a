// RUN: mesh-opt %s --iree-stream-refine-usage | filecheck %s

// A block that ends in util.unreachable returns nothing; the function does.

// CHECK: util.func public @main(%{{.*}}: i1, %{{.*}}: !stream.resource<external>) -> !stream.resource<external>
util.func public @main(%p: i1, %r: !stream.resource<*>) -> !stream.resource<*> {
  cf.cond_br %p, ^a, ^b
^a:
  util.return %r : !stream.resource<*>
^b:
  util.unreachable "no"
}
