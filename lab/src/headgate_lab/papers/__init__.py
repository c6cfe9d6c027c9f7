"""One folder per paper."""

from __future__ import annotations

__all__ = ["PAPERS"]

PAPERS = {
    "zhu2020": "Bandwidth allocation for a web crawler system with time constraints (Zhu et al.)",
    "diligenti2004": "Bandwidth control policy of a focused crawler (Diligenti et al.)",
    "nakahira2008": "Low load server crawler: design and evaluation (Nakahira et al.)",
    "pechnikov2017": "About crawling scheduling problems: sites over desktops (Pechnikov et al.)",
    "sarss2010": "Scale-adaptable recrawl strategies for a DHT-based crawler (SARSS)",
    "freshness": "Which policy keeps pages fresh, on four years of real changes (after SARSS)",
}
"""Folder name and title."""
