"""Runs with fake tensors."""
