// RUN: mesh-opt %s --pass-pipeline='builtin.module(iree-stream-dump-statistics{output-file=%t.none/statistics.csv})' --verify-diagnostics

// expected-error @+1 {{statistics cannot be written to}}
builtin.module {
}
