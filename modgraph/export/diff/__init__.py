"""What changed, in each format."""
