"""Tensors: how they are made, their shapes, their arithmetic, their numbers where these are few."""
