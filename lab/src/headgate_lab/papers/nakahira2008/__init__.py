"""Nakahira et al. 2008: a low load server crawler."""
