"""What is computed with: values, objects, states, the machine that all floors share, and what it may cost."""
