"""Many models at once: finds those of a tree, analyzes each in a process of its own, and writes one index of them."""
