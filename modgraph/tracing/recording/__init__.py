"""What a run does, written down: calls, operations, dataflow, and the tree of modules."""
