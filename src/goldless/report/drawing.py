"""Where things go in the drawings of the page: coordinates only; colours and escaping are the template's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from goldless import words

_COLOURS = 10  # of classes, in the style sheet
_ROW = 17
_MOST_OPEN = 10  # members of a group that the tree shows one by one
_MOST_ALONE = 30  # voters in no group that it shows one by one
_Y_AT, _GROUP_AT, _VOTER_AT, _WIDTH = 16, 104, 180, 380


def besides(sentence: str, limits: Sequence[str]) -> str:
    """Return what a piece of advice says besides the limits, which stand above it."""
    for limit in limits:
        sentence = sentence.removeprefix(limit).strip()
    return sentence


def keep(sentence: str) -> str:
    """Keep numbers and their per cent signs on one line."""
    return sentence.replace(" %", "\u00a0%")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in per cent, on one line."""
    return keep(words.percent(share, digits))


def chance(probability: float) -> str:
    """Return a probability in per cent, on one line."""
    return keep(words.chance(probability))


def short(text: str, length: int = 28) -> str:
    """Return text that fits, cut in its middle."""
    return words.shortened(text, length)


def above_chance(summary: dict[str, Any], accuracy: float | None) -> float:
    """Return how far a balanced accuracy is on the way from a guess to certainty."""
    chance = summary["answer"]["chance"]
    return max((chance if accuracy is None else accuracy) - chance, 0.0) / (1 - chance)


def class_colour(n_classes: int, code: int) -> str:
    """Return the style of a class: orange and blue for two, a palette of ten that repeats for more."""
    return f"v{code}" if n_classes == 2 else f"k{code % _COLOURS}"


def trees(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the drawings of the tree: large groups folded, and then, if any is, all voters."""
    folded = tree(summary)
    return [folded, tree(summary, fold=False)] if folded["folded"] else [folded]


def tree(summary: dict[str, Any], fold: bool = True) -> dict[str, Any]:
    """Return the drawing of Y, its groups and their voters; the width of a line is how well one follows the other.

    Of the summary it needs ``voters`` (name, group, balanced accuracy), ``groups``, ``order`` and the chance of the
    ``answer``. A large group, or many voters that are alone, are one leaf if they are to be folded.
    """
    voters = summary["voters"]
    numbers = {group["name"]: number for number, group in enumerate(summary["groups"])}
    y, folded = 14.0, 0
    leaves: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for name, run in groupby(summary["order"], key=lambda i: voters[i]["group"]):
        members = [voters[i] for i in run]
        number = numbers.get(name) if name is not None else None
        if fold and len(members) > (_MOST_ALONE if name is None else _MOST_OPEN):
            shown = [_folded(members, name)]
            folded += 1
        else:
            shown = [_leaf(voter) for voter in members]
        ys = [y + _ROW * k for k in range(len(shown))]
        y = ys[-1] + _ROW + (7 if name is not None else 0)
        start = (_Y_AT, 0.0)
        if name is not None:
            group = summary["groups"][numbers[name]]
            start = (_GROUP_AT, (ys[0] + ys[-1]) / 2)
            nodes.append({"name": name, "number": number, "at": start, "accuracy": group["balanced_accuracy"]})
        for leaf, at in zip(shown, ys, strict=True):
            leaves.append({**leaf, "number": number, "x": _VOTER_AT, "y": at})
            strength = above_chance(summary, leaf["accuracy"])
            lines.append({"from": start, "to": (_VOTER_AT, at), "number": number, "width": 0.5 + 3 * strength})
    height = y + 4
    root = (_Y_AT, min(height / 2, 220.0))  # in sight when a tall tree is opened
    for node in nodes:
        strength = above_chance(summary, node["accuracy"])
        lines.append({"from": root, "to": node["at"], "number": node["number"], "width": 0.5 + 5 * strength})
    for line in lines:
        (x0, y0), end = line["from"], line["to"]
        line["d"] = _curve(x0, root[1] if x0 == _Y_AT else y0, *end)
    return {
        "width": _WIDTH,
        "height": round(height, 1),
        "root": root,
        "nodes": nodes,
        "leaves": leaves,
        "lines": lines,
        "folded": folded,
    }


def _leaf(voter: dict[str, Any]) -> dict[str, Any]:
    accuracy = voter["balanced_accuracy"]
    return {
        "text": short(voter["name"], 23),
        "title": f"{voter['name']}: balanced accuracy {percent(accuracy)}",
        "accuracy": accuracy,
        "shown": f"{100 * accuracy:.0f} %",
    }


def _folded(members: list[dict[str, Any]], group: str | None) -> dict[str, Any]:
    """Return one leaf for many voters."""
    rates = [voter["balanced_accuracy"] for voter in members]
    return {
        "text": f"{len(members)} voters" + (" in no group" if group is None else ""),
        "title": ", ".join(voter["name"] for voter in members[:_MOST_OPEN]) + ", …",
        "accuracy": float(np.mean(rates)),
        "shown": f"{100 * min(rates):.0f} to {100 * max(rates):.0f} %",
    }


def card_dots(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the voters as dots on the card to send on, by group: at most 300, in rows that fill its width."""
    voters = [summary["voters"][i] for i in summary["order"][:300]]
    numbers = {group["name"]: number for number, group in enumerate(summary["groups"])}
    step = next(size for size in (48, 40, 32, 26, 22, 18, 15) if -(-len(voters) // (1040 // size)) * size <= 120)
    in_row = 1040 // step
    return [
        {
            "x": 80 + step * (place % in_row) + step // 2,
            "y": 400 + step * (place // in_row) + step // 2,
            "r": round(0.36 * step, 1),
            "number": numbers.get(voter["group"]),
        }
        for place, voter in enumerate(voters)
    ]


def _curve(x0: float, y0: float, x1: float, y1: float) -> str:
    middle = (x0 + x1) / 2
    return f"M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"


def bands(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where each group lies along the side of a heat map."""
    voters = summary["voters"]
    numbers = {group["name"]: number for number, group in enumerate(summary["groups"])}
    found, start = [], 0
    for name, run in groupby(summary["order"], key=lambda i: voters[i]["group"]):
        length = len(list(run))
        if name is not None:
            found.append({"name": name, "number": numbers[name], "start": start, "length": length})
        start += length
    return found


def strip(votes: list[int]) -> list[dict[str, int]]:
    """Return a row of votes as runs of equal ones."""
    runs, start = [], 0
    for code, run in groupby(votes):
        length = len(list(run))
        if code >= 0:
            runs.append({"x": start, "length": length, "code": code})
        start += length
    return runs


class Axes:
    """A plain pair of axes: data to coordinates, and a few round ticks."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], width: int = 360, height: int = 230):
        self.width, self.height = width, height
        self.left, self.right, self.top, self.bottom = 52, width - 12, 12, height - 40
        self._x, self._y = _widened(*x), _widened(*y)

    def x(self, value: float) -> float:
        """Return the horizontal place of a value."""
        low, high = self._x
        return round(self.left + (value - low) / (high - low) * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        """Return the vertical place of a value."""
        low, high = self._y
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 1)

    def ticks(self) -> dict[str, list[tuple[float, str]]]:
        """Return places and texts of the ticks."""
        return {
            "x": [(self.x(value), f"{value:g}") for value in _round_ticks(*self._x)],
            "y": [(self.y(value), f"{value:g}") for value in _round_ticks(*self._y)],
        }

    def frame(self) -> dict[str, Any]:
        """Return what the template needs of the axes."""
        sides = {name: getattr(self, name) for name in ("width", "height", "left", "right", "top", "bottom")}
        return {**sides, "ticks": self.ticks()}


def _widened(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    step = 10 ** np.floor(np.log10((high - low) / about))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= about)
    first = np.ceil(low / step - 1e-9)
    return [round(float(k * step), 12) + 0.0 for k in np.arange(first, high / step + 1e-9)]


def residual_path(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the drawing of the residual against the number of groups."""
    points = [(count, value) for count, value in summary["structure"]["residual_path"] if value is not None]
    if len(points) < 3:
        return None
    structure = summary["structure"]
    used = (structure["n_groups_on_path"], structure["residual"])
    counts, values = zip(*points, *([] if used[1] is None else [used]), strict=True)
    axes = Axes((min(counts), max(counts)), (0, max(values)))
    placed = [(axes.x(count), axes.y(value), count, value) for count, value in points]
    smallest = min(points, key=lambda point: point[1])[0]
    return {
        "axes": axes.frame(),
        "line": "M" + "L".join(f"{x} {y}" for x, y, *_ in placed),
        "points": [
            {"x": x, "y": y, "text": f"{count} groups: residual {value:.4g}", "best": count == smallest}
            for x, y, count, value in placed
        ],
        "used": None
        if used[1] is None
        else {
            "x": axes.x(used[0]),
            "y": axes.y(used[1]),
            "text": f"used here: {used[0]} groups, residual {used[1]:.4g}",
        },
    }


def alternatives(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nearest other groupings, in the words of a person."""
    found = []
    for other in summary["structure"]["alternatives"][:6]:
        sizes = np.bincount(other["groups"])
        grouped = sizes[sizes > 1]
        found.append({**other, "n_groups": len(grouped), "n_echoing": int(grouped.sum())})
    return found


def against_truth(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the drawing of estimated against true balanced accuracy."""
    if not summary["truth"]:
        return None
    numbers = {group["name"]: number for number, group in enumerate(summary["groups"])}
    pairs = [
        (voter, true["balanced_accuracy"])
        for voter, true in zip(summary["voters"], summary["truth"]["voters"], strict=True)
        if true["balanced_accuracy"] is not None
    ]
    if not pairs:
        return None
    everything = [value for voter, true in pairs for value in (voter["balanced_accuracy"], true)]
    low, high = min(summary["answer"]["chance"], *everything), min(max(everything) + 0.02, 1.0)
    axes = Axes((low, high), (low, high), 360, 330)
    return {
        "axes": axes.frame(),
        "diagonal": (axes.x(low), axes.y(low), axes.x(high), axes.y(high)),
        "points": [
            {
                "x": axes.x(true),
                "y": axes.y(voter["balanced_accuracy"]),
                "number": numbers.get(voter["group"]),
                "text": f"{voter['name']}: true {true:.3f}, estimated {voter['balanced_accuracy']:.3f}",
            }
            for voter, true in pairs
        ],
    }


def score_against_conditional(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the drawing of the score of each pair against its covariance within the classes (the paper's plot)."""
    truth, matrices = summary["truth"], summary["matrices"]
    if not truth or not matrices or truth["conditional"] is None:
        return None
    score = np.asarray(matrices["score"])
    within = np.mean(np.abs(truth["conditional"]), axis=0)
    groups = [voter["group"] for voter in summary["voters"]]
    pairs = [(i, j) for i in range(len(score)) for j in range(i)]
    if not pairs or not score.any():  # of three voters there is no score
        return None
    axes = Axes((0, float(within.max())), (0, float(score.max())), 360, 330)
    dots: dict[bool, dict[str, None]] = {True: {}, False: {}}  # one for all pairs at the same place
    for i, j in pairs:
        same = groups[i] is not None and groups[i] == groups[j]
        dots[same][f"M{axes.x(within[i, j]):.0f} {axes.y(score[i, j]):.0f}h0"] = None
    return {"axes": axes.frame(), "same": "".join(dots[True]), "other": "".join(dots[False]), "n_pairs": len(pairs)}
