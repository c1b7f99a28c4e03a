"""Running code: statements, expressions, control, calls, names, frames of functions and generators."""
