"""What a change did, in each format."""
