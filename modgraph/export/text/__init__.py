"""A graph as text: the summary, its tables and trees, CSV and Markdown."""
