// builtin.module(stream.executable(builtin.module(func.func(iree-stream-encode-device-tensors))))

// Device i1.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi1>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi1>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi1>> -> tensor<4x8xi1>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi1>>
 return } } }

// -----

// Device packed i1.
#p = #iree_encoding.packed_storage
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi1, #p>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi1, #p>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi1, #p>> -> tensor<4x8xi1, #p>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi1, #p> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi1, #p>>
 return } } }

// -----

// Device i4.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi4>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi4>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi4>> -> tensor<4x8xi4>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi4> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi4>>
 return } } }

// -----

// Device packed i4.
#p = #iree_encoding.packed_storage
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi4, #p>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi4, #p>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi4, #p>> -> tensor<4x8xi4, #p>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi4, #p> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi4, #p>>
 return } } }

// -----

// Device i8.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi8>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi8>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi8>> -> tensor<4x8xi8>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi8> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi8>>
 return } } }

// -----

// Device i2.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi2>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi2>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi2>> -> tensor<4x8xi2>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi2> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi2>>
 return } } }

// -----

// Device i3.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi3>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi3>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi3>> -> tensor<4x8xi3>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi3> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi3>>
 return } } }

// -----

// Device i12.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi12>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi12>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi12>> -> tensor<4x8xi12>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi12> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi12>>
 return } } }

// -----

// Device i33.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi33>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi33>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi33>> -> tensor<4x8xi33>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi33> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi33>>
 return } } }

// -----

// Device f32.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf32>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf32>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf32>> -> tensor<4x8xf32>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf32>>
 return } } }

// -----

// Device bf16.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xbf16>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xbf16>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xbf16>> -> tensor<4x8xbf16>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xbf16> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xbf16>>
 return } } }

// -----

// Device f8E4M3FN.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf8E4M3FN>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf8E4M3FN>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf8E4M3FN>> -> tensor<4x8xf8E4M3FN>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xf8E4M3FN> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf8E4M3FN>>
 return } } }

// -----

// Device complex<f32>.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xcomplex<f32>>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xcomplex<f32>>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xcomplex<f32>>> -> tensor<4x8xcomplex<f32>>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xcomplex<f32>> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xcomplex<f32>>>
 return } } }

// -----

// Device index.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xindex>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xindex>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xindex>> -> tensor<4x8xindex>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xindex> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xindex>>
 return } } }

// -----

// Device i24.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi24>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi24>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xi24>> -> tensor<4x8xi24>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xi24> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xi24>>
 return } } }

// -----

// Device f64.
stream.executable private @e { builtin.module { func.func @f(%b: !stream.binding, %o: !stream.binding) { 
 %c0 = arith.constant 0 : index
 %0 = stream.binding.subspan %b[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf64>>
 %1 = stream.binding.subspan %o[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf64>>
 %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x8xf64>> -> tensor<4x8xf64>
 iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0, 0], sizes = [4, 8], strides = [1, 1] : tensor<4x8xf64> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x8xf64>>
 return } } }
