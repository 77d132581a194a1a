"""The `interpreter` dialect of StableHLO, whose tests run several processes with it."""

from __future__ import annotations

from xdsl.ir import Dialect

from .stablehlo.syntax import define

Interpreter = Dialect(
    "interpreter",
    [
        define("interpreter.run_parallel", "inputs* -> results_* | programs infeed?", pure=False),
        define(
            "interpreter.probe",
            "operand -> result | probe_id",
            " $operand, probe_id = $probe_id attr-dict : type($operand, $result)",
            pure=False,
        ),
    ],
    [],
)
