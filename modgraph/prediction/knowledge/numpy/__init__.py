"""numpy, as far as constructors compute with it."""
