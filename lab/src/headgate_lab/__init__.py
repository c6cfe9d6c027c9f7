"""Reproductions of the papers: their instances and figures, and whether their claims hold."""
