"""Inputs that nobody gave: `making.py` finds them by trying, guided by signature, layers and errors."""
