"""A graph as a picture: what is shown, how it is composed, and DOT, Mermaid, SVG, PNG and PDF."""
