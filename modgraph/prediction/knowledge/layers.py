"""The forward of torch's layers, by shape alone: for constructors that run a layer to learn what comes out of it."""

from __future__ import annotations
