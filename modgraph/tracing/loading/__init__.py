"""The live model: its file imported, its class built, its checkpoint read."""
