"""Findings of the check, in each format."""
