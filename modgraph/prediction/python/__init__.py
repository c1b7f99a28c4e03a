"""Python's object model: attributes, items, iteration, operators, classes, enumerations, data classes."""
