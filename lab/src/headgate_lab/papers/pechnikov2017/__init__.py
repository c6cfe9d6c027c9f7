"""Pechnikov et al. 2017: crawling scheduling problems."""
