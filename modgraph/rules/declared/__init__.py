"""Names that must fit: what classes declare of the names in their tree, and whether anything can have them."""
