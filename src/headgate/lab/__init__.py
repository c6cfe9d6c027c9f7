"""The papers, reproduced: their instances, their figures, and whether what they say holds."""
