"""What a run of `forward` would do, without running it: calls, operations, dataflow and shapes."""
