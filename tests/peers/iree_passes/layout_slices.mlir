// builtin.module(util.func(iree-stream-layout-slices))

// Dynamic.
util.func public @a(%d: index, %e: index) -> (index, index, index, index) {
  %c100 = arith.constant 100 : index
  %0:4 = stream.resource.pack slices({
    [0, 1] = %c100, [1, 2] = %d, [2, 3] = %e }) : index
  util.return %0#0, %0#1, %0#2, %0#3 : index, index, index, index
}

// -----

// Dynamic same size twice.
util.func public @a(%d: index, %e: index) -> (index, index, index, index, index) {
  %0:5 = stream.resource.pack slices({
    [0, 1] = %d, [0, 2] = %e, [2, 3] = %d, [3, 4] = %d }) : index
  util.return %0#0, %0#1, %0#2, %0#3, %0#4 : index, index, index, index, index
}

// -----

// No slices.
util.func public @a() -> index {
  %0 = stream.resource.pack slices({}) : index
  util.return %0 : index
}

// -----

// Zero size.
util.func public @a() -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %0:3 = stream.resource.pack slices({
    [0, 9] = %c0, [1, 2] = %c100 }) : index
  util.return %0#0, %0#1, %0#2 : index, index, index
}
