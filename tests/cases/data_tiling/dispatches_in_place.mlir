// Dispatches that the program forms itself: two products in one region, kernels in place, in a loop.
#cpu = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vm = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "none"}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#cpu]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#vm]> : !hal.device
util.func public @main(%x: tensor<?x3xf32> {iree.abi.affinity = #hal.device.affinity<@a>}, %w: tensor<3x3xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) -> (tensor<?x3xf32> {iree.abi.affinity = #hal.device.affinity<@a>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x3xf32>
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%carried = %x) -> (tensor<?x3xf32>) {
    %n = tensor.dim %carried, %c0 : tensor<?x3xf32>
    %both = flow.dispatch.region[%n] -> (tensor<?x3xf32>{%n}) attributes {stream.affinity = #hal.device.affinity<@b>} {
      %e = tensor.empty(%n) : tensor<?x3xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
      %p = linalg.matmul ins(%carried, %w : tensor<?x3xf32>, tensor<3x3xf32>) outs(%f : tensor<?x3xf32>) -> tensor<?x3xf32>
      %q = linalg.matmul ins(%p, %w : tensor<?x3xf32>, tensor<3x3xf32>) outs(%f : tensor<?x3xf32>) -> tensor<?x3xf32>
      flow.return %q : tensor<?x3xf32>
    } count(%rows: index) -> (index, index, index) {
      %one = arith.constant 1 : index
      flow.return %rows, %one, %one : index, index, index
    }
    %back = flow.tensor.transfer %both : tensor<?x3xf32>{%n} to #hal.device.affinity<@a>
    scf.yield %back : tensor<?x3xf32>
  }
  %r = flow.dispatch.workgroups[%m](%y, %m) : (tensor<?x3xf32>{%m}, index) -> tensor<?x3xf32>{%m} attributes {stream.affinity = #hal.device.affinity<@a>} = (%source: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x3xf32>>, %rows: index, %target: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x3xf32>>) {
    %n = iree_tensor_ext.dispatch.workload.ordinal %rows, 0 : index
    %s = flow.dispatch.tie_shape %source : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x3xf32>>{%n}
    %t = flow.dispatch.tie_shape %target : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x3xf32>>{%n}
    %row = flow.dispatch.workgroup.id[0] : index
    %l = iree_tensor_ext.dispatch.tensor.load %s, offsets = [%row, 0], sizes = [1, 3], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x3xf32>>{%n} -> tensor<1x3xf32>
    %d = arith.addf %l, %l : tensor<1x3xf32>
    iree_tensor_ext.dispatch.tensor.store %d, %t, offsets = [%row, 0], sizes = [1, 3], strides = [1, 1] : tensor<1x3xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x3xf32>>{%n}
    flow.return
  } count(%rows: index) -> (index, index, index) {
    %one = arith.constant 1 : index
    flow.return %rows, %one, %one : index, index, index
  }
  util.return %r : tensor<?x3xf32>
}
