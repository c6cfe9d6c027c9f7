"""Charts as SVG, and as characters."""
