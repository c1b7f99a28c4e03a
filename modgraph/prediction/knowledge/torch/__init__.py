"""torch's modules: registration, containers, layers, what converts and walks them."""
