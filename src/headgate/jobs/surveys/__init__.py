"""A survey from end to end: asked for, begun, resumed and wrapped up."""
