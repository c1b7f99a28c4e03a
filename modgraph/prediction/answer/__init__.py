"""What is left in the end -> Graph: the tree, what it hides, its arguments as text."""
