"""Configuration for LLVM's lit: `lit tests/lit`, or `lit --param shell=1 tests/lit`."""

import os

from mesh_opt.tools.lit_format import RunLinesTest

config.name = "mesh-opt"  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_format = RunLinesTest()  # noqa: F821
os.environ["MESH_OPT_VERIFY_EACH"] = "1"
