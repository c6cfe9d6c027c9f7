"""SARSS (2010): scale-adaptable recrawl strategies for a crawler of volunteers' machines."""
