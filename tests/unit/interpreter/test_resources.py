"""Resources, devices and dispatches of stream programs, and what is caught in them."""

import numpy as np
import pytest
from mesh_opt.api import ExecutionError, compile
from mesh_opt.interpreter.run import public_functions, run
from mesh_opt.ir.diagnostics import OperationError

DEVICES = """
#cpu = #hal.executable.target<"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#cpu]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#cpu]> : !hal.device
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
"""
TILED = (
    "#tiled = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {"
    "encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [4, 2], outerDimsPerm = [0, 1]}}>]>\n"
)
OTHER = (
    "#other = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {"
    "encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [2, 4], outerDimsPerm = [0, 1]}}>]>\n"
)
OPEN = """
#open = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul,
  element_types = [f32, f32, f32], user_indexing_maps = [
  affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
  affine_map<(m, n, k) -> (m, n)>]>
"""
KERNEL = """
stream.executable private @ex {
  stream.executable.export public @double
  builtin.module {
    func.func @double(%in: !stream.binding, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %in[%c0] : !stream.binding
        -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<3x5xf32IN>>
      %1 = stream.binding.subspan %out[%c0] : !stream.binding
        -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<3x5xf32OUT>>
      %2 = iree_tensor_ext.dispatch.tensor.load %0,
        offsets = [0, 0], sizes = [3, 5], strides = [1, 1]
        : !iree_tensor_ext.dispatch.tensor<readonly:tensor<3x5xf32IN>> -> tensor<3x5xf32OUT>
      %3 = arith.addf %2, %2 : tensor<3x5xf32OUT>
      iree_tensor_ext.dispatch.tensor.store %3, %1,
        offsets = [0, 0], sizes = [3, 5], strides = [1, 1]
        : tensor<3x5xf32OUT> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<3x5xf32OUT>>
      return
    }
  }
}
"""
X = np.arange(15, dtype=np.float32).reshape(3, 5)


def execute(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    program = compile(text)
    return program["f"].run(inputs)


def host(body: str) -> str:
    """A function that imports its argument as `%x` of `%s` bytes and exports `%y`."""
    return f"""
util.func public @f(%arg: !hal.buffer_view) -> !hal.buffer_view {{
  %s = stream.tensor.sizeof on(#on_a) tensor<3x5xf32> : index
  %x = stream.tensor.import on(#on_a) %arg : !hal.buffer_view -> tensor<3x5xf32>
    in !stream.resource<*>{{%s}}
  {body}
}}"""


def dispatch(operand: str, place: str = "#on_a") -> str:
    return f"""%y = stream.tensor.dispatch on({place}) @ex::@double(%x)
    : (tensor<3x5xf32{operand}> in !stream.resource<*>{{%s}})
    -> tensor<3x5xf32> in !stream.resource<*>{{%s}}
  %r = stream.tensor.export on({place}) %y : tensor<3x5xf32> in !stream.resource<*>{{%s}}
    -> !hal.buffer_view
  util.return %r : !hal.buffer_view"""


def test_a_dispatch_runs_its_kernel_on_bytes() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    (result,) = execute(DEVICES + kernel + host(dispatch("")), X)
    np.testing.assert_array_equal(result, 2 * X)


def test_touching_another_devices_resource_is_an_error() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    with pytest.raises(
        ExecutionError, match="runs on device b, but accesses a resource of device a"
    ):
        execute(DEVICES + kernel + host(dispatch("", "#on_b")), X)


def test_a_transfer_makes_it_reachable() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    moved = """%m = stream.async.transfer %x : !stream.resource<*>{%s} from(#on_a)
      -> to(#on_b) !stream.resource<*>{%s}
    """
    body = moved + dispatch("", "#on_b").replace("(%x)", "(%m)")
    (result,) = execute(DEVICES + kernel + host(body), X)
    np.testing.assert_array_equal(result, 2 * X)


def encode(encoding: str, size: str | None = None) -> str:
    sized = size or f"stream.tensor.sizeof on(#on_a) tensor<3x5xf32, {encoding}> : index"
    return f"""%t = {sized}
  %e = stream.tensor.encode on(#on_a) %x : tensor<3x5xf32> in !stream.resource<*>{{%s}}
    -> tensor<3x5xf32, {encoding}> in !stream.resource<*>{{%t}}
  """


def read_encoded(encoding: str) -> str:
    text = dispatch(f", {encoding}").replace("(%x)", "(%e)")
    return text.replace("resource<*>{%s})", "resource<*>{%t})")


def kernel_reading(encoding: str) -> str:
    return KERNEL.replace("IN", f", {encoding}").replace("OUT", "")


@pytest.mark.parametrize("encoding", ["#tiled", "#open"])
def test_encoded_tensors_are_read_as_they_were_written(encoding: str) -> None:
    text = TILED + OPEN + DEVICES + kernel_reading(encoding)
    (result,) = execute(text + host(encode(encoding) + read_encoded(encoding)), X)
    np.testing.assert_array_equal(result, 2 * X)


def test_a_size_that_is_too_small_is_an_error() -> None:
    text = TILED + DEVICES + kernel_reading("#tiled")
    body = encode("#tiled", "arith.constant 95 : index") + read_encoded("#tiled")
    with pytest.raises(ExecutionError, match=r"writes 96 bytes .* to a resource of 95 bytes"):
        execute(text + host(body), X)


def test_reading_another_layout_than_was_written_is_an_error() -> None:
    text = TILED + OTHER + DEVICES + kernel_reading("#other")
    body = encode("#tiled") + read_encoded("#other")
    with pytest.raises(ExecutionError, match="from a resource that was written as"):
        execute(text + host(body), X)


def test_bytes_of_an_open_layout_mean_nothing() -> None:
    text = OPEN + DEVICES + KERNEL.replace("IN", "").replace("OUT", "")
    body = encode("#open") + read_encoded("#open").replace("xf32, #open> in", "xf32> in")
    with pytest.raises(ExecutionError, match="whose layout is not resolved"):
        execute(text + host(body), X)


def test_an_input_of_another_shape_is_refused() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    text = DEVICES + kernel + host(dispatch(""))
    program = compile(text)
    with pytest.raises(ValueError, match="expected tensor<3x5xf32>"):
        program["f"].run([np.zeros((5, 3), np.float32)])


def test_kernels_are_no_entry_points() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    program = compile(DEVICES + kernel + host(dispatch("")))
    assert public_functions(program.module) == ["f"]


def test_a_missing_device_is_an_error_at_its_global() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    module = compile(DEVICES + kernel + host(dispatch(""))).module
    (result,) = run(module, "f", [X], devices=["local-task", "local-sync"])
    np.testing.assert_array_equal(result, 2 * X)
    with pytest.raises(OperationError, match=r"device @b needs device #1 of kind \"local\""):
        run(module, "f", [X], devices=["local-task"])


def test_a_fallback_is_the_device_that_it_falls_back_to() -> None:
    kernel = KERNEL.replace("IN", "").replace("OUT", "")
    second = 'util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#cpu]>'
    optional = second.replace("= #hal", "= #hal.device.select<[#hal").replace(
        "[#cpu]>", "[#cpu]> : !hal.device, #hal.device.fallback<@a> : !hal.device]>"
    )
    text = DEVICES.replace(second, optional) + kernel + host(dispatch("", "#on_b"))
    module = compile(text).module
    (result,) = run(module, "f", [X], devices=["local-task"])
    np.testing.assert_array_equal(result, 2 * X)
    with pytest.raises(OperationError, match="accesses a resource of device"):
        run(module, "f", [X], devices=["local-task", "local-task"])


WAITING = """
util.func public @main() -> (!hal.buffer_view, !hal.buffer_view) {
  %c8 = arith.constant 8 : index
  %seven = arith.constant 7 : i32
  %reached = stream.timepoint.immediate => !stream.timepoint
  %0 = stream.async.splat await(%reached) %seven : i32 -> !stream.resource<external>{%c8}
  %1 = stream.async.constant await(%reached) : !stream.resource<external>{%c8} = dense<[1, 2]> : tensor<2xi32>
  %2 = stream.tensor.export %0 : tensor<2xi32> in !stream.resource<external>{%c8} -> !hal.buffer_view
  %3 = stream.tensor.export %1 : tensor<2xi32> in !stream.resource<external>{%c8} -> !hal.buffer_view
  util.return %2, %3 : !hal.buffer_view, !hal.buffer_view
}
"""  # noqa: E501


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_splat_and_a_constant_may_wait(backend: str) -> None:
    splat, constant = compile(WAITING, backend=backend).main()
    assert (splat.tolist(), constant.tolist()) == ([7, 7], [1, 2])


def test_an_import_from_the_middle_of_a_buffer_is_refused() -> None:
    text = """
    util.func public @main(%view: !hal.buffer_view, %offset: index) -> !hal.buffer_view {
      %0 = hal.tensor.import %view offset(%offset) : !hal.buffer_view -> tensor<2xi32>
      %1 = hal.tensor.export %0 : tensor<2xi32> -> !hal.buffer_view
      util.return %1 : !hal.buffer_view
    }
    """
    program = compile(text, backend="interpreter")
    numbers = np.array([1, 2], np.int32)
    np.testing.assert_array_equal(program.main(numbers, 0), numbers)
    with pytest.raises(ExecutionError, match="imports from byte 4, expected from the start"):
        program.main(numbers, 4)
