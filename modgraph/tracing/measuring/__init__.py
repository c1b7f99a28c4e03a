"""Time, memory and operations of a run."""
