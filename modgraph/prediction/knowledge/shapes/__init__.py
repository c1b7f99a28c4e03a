"""Shapes of what torch computes: rules as text where a line says it, arithmetic of sizes where one has to compute.

A rule knows shapes alone, and refuses what torch refuses: `languages.py` and `fitting.py` bring it what it asks for.
"""
