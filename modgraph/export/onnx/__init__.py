"""A graph as ONNX: structural from the graph alone, or runnable from the live model."""
