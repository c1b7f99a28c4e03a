"""modgraph: the graph of a PyTorch model, foretold from its source and checked against a real run."""
