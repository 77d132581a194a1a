// A kernel written by hand whose workgroups share its rows, the last with fewer, on a second device.
#cpu = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vm = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "none"}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#cpu]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#vm]> : !hal.device
flow.executable private @rows {
  flow.executable.export public @double workgroups(%rows: index) -> (index, index, index) {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %groups = arith.ceildivui %rows, %c3 : index
    flow.return %groups, %c1, %c1 : index, index, index
  }
  builtin.module {
    func.func @double(%x: !iree_tensor_ext.dispatch.tensor<readonly:tensor<10x4xf32>>, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<10x4xf32>>) {
      %id = flow.dispatch.workgroup.id[0] : index
      %count = flow.dispatch.workgroup.count[0] : index
      %c3 = arith.constant 3 : index
      %c10 = arith.constant 10 : index
      %first = arith.muli %id, %c3 : index
      %step = arith.muli %count, %c3 : index
      scf.for %i = %first to %c10 step %step {
        %left = arith.subi %c10, %i : index
        %n = arith.minsi %left, %c3 : index
        %l = iree_tensor_ext.dispatch.tensor.load %x, offsets = [%i, 0], sizes = [%n, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<10x4xf32>> -> tensor<?x4xf32>
        %s = arith.addf %l, %l : tensor<?x4xf32>
        iree_tensor_ext.dispatch.tensor.store %s, %o, offsets = [%i, 0], sizes = [%n, 4], strides = [1, 1] : tensor<?x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<10x4xf32>>
      }
      func.return
    }
  }
}
util.func public @main(%x: tensor<10x4xf32> {iree.abi.affinity = #hal.device.affinity<@a>}, %w: tensor<4x5xf32> {iree.abi.affinity = #hal.device.affinity<@a>}) -> (tensor<10x5xf32> {iree.abi.affinity = #hal.device.affinity<@a>}) {
  %c10 = arith.constant 10 : index
  %xb = flow.tensor.transfer %x : tensor<10x4xf32> to #hal.device.affinity<@b>
  %y = flow.dispatch @rows::@double[%c10](%xb) {stream.affinity = #hal.device.affinity<@b>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %ya = flow.tensor.transfer %y : tensor<10x4xf32> to #hal.device.affinity<@a>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<10x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<10x5xf32>) -> tensor<10x5xf32>
  %r = linalg.matmul ins(%ya, %w : tensor<10x4xf32>, tensor<4x5xf32>) outs(%f : tensor<10x5xf32>) -> tensor<10x5xf32>
  util.return %r : tensor<10x5xf32>
}
