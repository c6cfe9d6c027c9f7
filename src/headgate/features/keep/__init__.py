"""A collection kept fresh, without an end: visits chosen, made and remembered, volumes sealed."""
