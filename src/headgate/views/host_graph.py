"""The graph of hosts as a picture: springs between those that are linked, repulsion between all.

Fruchterman and Reingold's layout, from a circle, so that the same graph gives the same picture.
O(nodes squared) per step, hence the bound on nodes: servers with the most links first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headgate.surveying.facts import SurveyFacts
from headgate.views.chart import Chart
from headgate.views.markup import Markup, element, joined, shortened

__all__ = ["MOST_NODES", "graph_picture"]

MOST_NODES = 300
_STEPS = 160
_GRAVITY = 3.0
_SIZE = 900.0
_MARGIN = 40.0
_NAMED = 16

Places = npt.NDArray[np.float64]


def graph_picture(facts: SurveyFacts) -> Markup | None:
    """None when there is nothing to draw."""
    edges = [
        (server.domain, facts.node_of(name), link.links)
        for server in facts.servers.values()
        for name, link in server.links.items()
    ]
    if not edges:
        return None
    weight: dict[str, int] = {}
    for source, target, _ in edges:
        weight[source] = weight.get(source, 0) + 1
        weight[target] = weight.get(target, 0) + 1
    names = sorted(weight, key=lambda name: (-weight[name], name))[:MOST_NODES]
    number = {name: place for place, name in enumerate(names)}
    pairs = sorted({(number[a], number[b]) for a, b, _ in edges if a in number and b in number})
    places = _layout(len(names), np.array(pairs, dtype=np.int64).reshape(-1, 2))
    return _drawn(names, pairs, places, weight, facts)


def _layout(count: int, pairs: npt.NDArray[np.int64]) -> Places:
    """Places in the unit square."""
    angle = 2 * np.pi * np.arange(count) / max(count, 1)
    places = 0.5 + 0.4 * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    ideal = 0.8 / np.sqrt(max(count, 1))
    for step in range(_STEPS):
        apart = places[:, None, :] - places[None, :, :]
        squared = np.maximum((apart**2).sum(axis=2), 1e-6)
        moves = (apart * (ideal**2 / squared)[:, :, None]).sum(axis=1)
        spring = places[pairs[:, 0]] - places[pairs[:, 1]]
        pull = spring * (np.linalg.norm(spring, axis=1) / ideal)[:, None]
        np.add.at(moves, pairs[:, 0], -pull)
        np.add.at(moves, pairs[:, 1], pull)
        moves += (0.5 - places) * _GRAVITY  # so that unconnected parts do not drift away
        length = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        warmth = 0.1 * (1 - step / _STEPS)
        places = places + moves / length * np.minimum(length, warmth)
    lowest = places.min(axis=0)
    spread: Places = (places - lowest) / np.maximum(places.max(axis=0) - lowest, 1e-9)
    return spread


def _drawn(
    names: list[str],
    pairs: list[tuple[int, int]],
    places: Places,
    weight: dict[str, int],
    facts: SurveyFacts,
) -> Markup:
    at = _MARGIN + places * (_SIZE - 2 * _MARGIN)
    lines = [
        element("line", class_="edge", x1=at[a, 0], y1=at[a, 1], x2=at[b, 0], y2=at[b, 1])
        for a, b in pairs
    ]
    dots, labels = [], []
    for place, name in enumerate(names):
        x, y = at[place]
        server = facts.servers.get(name)
        kind = "c9" if server is None else "c0" if server.reachable else "c4"
        radius = 3 + min(weight[name], 60) ** 0.5
        say = f"{name}: linked with {weight[name]:,}"
        dot = element("circle", class_=f"{kind} dot", cx=x, cy=y, r=radius)
        dots.append(element("g", element("title", say), dot))
        if place < _NAMED:
            labels.append(
                element("text", shortened(name, 28), class_="muted", x=x + radius + 2, y=y + 4)
            )
    content = joined((*lines, *dots, *labels))
    chart = Chart("The graph of hosts", _SIZE + 160, _SIZE, content).markup()
    return element("div", chart, class_="scroll roomy")
