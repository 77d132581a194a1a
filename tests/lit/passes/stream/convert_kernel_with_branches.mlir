// RUN: mesh-opt %s --convert-to-stream | filecheck %s

// The operands of a branch in a kernel are not results of the kernel.

// CHECK: stream.executable private @ex
// CHECK: func.func @f(%{{.*}}: !stream.binding, %{{.*}}: !stream.binding) {
// CHECK: cf.br ^[[END:.*]](%{{.*}} : tensor<4xf32>)
// CHECK: ^[[END]](%{{.*}}: tensor<4xf32>):
flow.executable private @ex {
  flow.executable.export public @f workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    flow.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @f(%a: !flow.dispatch.tensor<readonly:tensor<4xf32>>, %b: !flow.dispatch.tensor<writeonly:tensor<4xf32>>) {
      %0 = flow.dispatch.tensor.load %a, offsets = [0], sizes = [4], strides = [1] : !flow.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32>
      cf.br ^end(%0 : tensor<4xf32>)
    ^end(%1: tensor<4xf32>):
      flow.dispatch.tensor.store %1, %b, offsets = [0], sizes = [4], strides = [1] : tensor<4xf32> -> !flow.dispatch.tensor<writeonly:tensor<4xf32>>
      return
    }
  }
}
util.func public @main(%v: tensor<4xf32>) -> tensor<4xf32> {
  %0 = flow.dispatch @ex::@f(%v) : (tensor<4xf32>) -> tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
