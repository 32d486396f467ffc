"""LatentSML() beside the peers, panel by panel: a table, and sentences on where a peer is ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from research.experiments.board import LABELS, OURS, Board, interval
from research.experiments.tables import Table, rounded

_MATTERS = 0.5  # points
_MUCH = 2.0


def peers_table(board: Board) -> Table:
    """Return a row for each peer on the panels that it and LatentSML() finished, and what must be said below it."""
    rows: list[list[Any]] = []
    for peer in _peers(board):
        lead = _lead(board, peer, board.panels)
        best = max(lead, key=lambda panel: lead[panel], default=None)
        values = np.array(list(lead.values()))
        rows.append(
            [
                LABELS[peer],
                len(lead),
                float(-values.mean()) if lead else None,
                *(interval(-values, board.families_of(list(lead))) if lead else (None, None)),
                int((values < -_MATTERS).sum()),
                int((values > _MATTERS).sum()),
                best or "",
                lead[best] if best else None,
                _seconds(board, peer, lead),
                _seconds(board, "search", lead),
            ]
        )
    rows.sort(key=lambda row: np.inf if row[2] is None else row[2])
    header = [
        "",
        "panels",
        "we lead by",
        "95 % from",
        "to",
        "we win",
        "it wins",
        "its largest lead",
        "points",
        "its CPU s",
        "our CPU s",
    ]
    formats = ["", "d", "+.2f", "+.1f", "+.1f", "d", "d", "", "+.1f", ".1f", ".1f"]
    note = [
        "We are `LatentSML()`; panels are those that both finished; points of macro recall, a win is more than "
        f"{_MATTERS}; intervals are of the lead, families drawn whole.",
        _on_average(board),
        _of_probabilities(board, "log_loss", "log loss"),
        _of_probabilities(board, "calibration", "calibration error"),
        _without_a_family(board),
        _by_family(board),
        _by_panel(board),
    ]
    return Table(
        "peers",
        "LatentSML() beside the peers",
        header,
        rounded(rows),
        formats,
        " ".join(filter(None, note)),
        shared=True,
    )


def _peers(board: Board) -> list[str]:
    return [method for method in board.ran if method not in OURS]


def _lead(board: Board, peer: str, panels: list[str]) -> dict[str, float]:
    """By how many points a peer is ahead of LatentSML() on each panel that both finished."""
    shared = board.both(peer, "search", panels)
    leads = board.values(peer, shared) - board.values("search", shared)
    return dict(zip(shared, leads.tolist(), strict=True))


def _seconds(board: Board, method: str, panels: dict[str, float]) -> float:
    return sum(board.results[method][panel].get("cpu_seconds") or 0.0 for panel in panels)


def _on_average(board: Board) -> str:
    leads = {peer: list(_lead(board, peer, board.panels).values()) for peer in _peers(board)}
    means = {peer: (float(np.mean(lead)), len(lead)) for peer, lead in leads.items() if lead}
    ahead = [f"{LABELS[peer]} by {mean:.2f} points ({n} panels)" for peer, (mean, n) in means.items() if mean > 0]
    if ahead:
        return f"On average a peer is ahead of `LatentSML()`: {'; '.join(ahead)}."
    return "On average no peer is ahead of `LatentSML()`."


def _of_probabilities(board: Board, what: str, called: str) -> str:
    """Say which peers have the better probabilities: a lower figure is a better one."""
    ahead = []
    for peer in _peers(board):
        shared = board.both(peer, "search", what=what)
        if shared:
            lead = float((board.values("search", shared, what) - board.values(peer, shared, what)).mean())
            ahead += [f"{LABELS[peer]} by {lead:.3f} ({len(shared)} panels)"] if lead > 0 else []
    if ahead:
        return f"In {called} a peer is ahead of it: {'; '.join(ahead)}."
    return f"In {called} no peer is ahead of it."


def _without_a_family(board: Board) -> str:
    """Say what is left on the common panels without the family in which LatentSML() leads all others by the most."""
    others = [
        method for method in board.ran if method not in ("search", board.base) and board.mean(method, board.common)
    ]

    def lead(family: str) -> float:
        panels = board.of_family(family, board.common)
        return len(panels) * min((board.mean("search", panels) or 0) - (board.mean(m, panels) or 0) for m in others)

    families = [family for family in board.families if board.of_family(family, board.common)]
    if len(families) < 2 or not others:
        return ""
    left_out = max(families, key=lead)
    panels = [panel for panel in board.common if panel not in board.of_family(left_out, board.common)]
    means = {method: board.mean(method, panels) or 0.0 for method in ("search", *others)}
    best = [
        max(group, key=lambda m: means[m])
        for group in ([m for m in others if m not in OURS], [m for m in others if m in OURS])
        if group
    ]
    said = ", ".join(f"{LABELS[method]} {means[method]:.1f} %" for method in best)
    return (
        f"Without the family {left_out}, where it leads by the most, `LatentSML()` has {means['search']:.1f} % on "
        f"the {len(panels)} common panels that are left; the best of the peers and of our other methods: {said}."
    )


def _by_family(board: Board) -> str:
    found = []
    for family in board.families:
        panels = board.of_family(family, board.panels)
        leads = {peer: list(_lead(board, peer, panels).values()) for peer in _peers(board)}
        means = {peer: float(np.mean(values)) for peer, values in leads.items() if values}
        ahead = sorted((peer for peer in means if means[peer] > _MATTERS), key=lambda peer: -means[peer])
        if ahead:
            names = ", ".join(f"{LABELS[peer]} by {means[peer]:.1f}" for peer in ahead)
            found.append(f"{family} ({names})")
    if not found:
        return f"In no family is a peer ahead by more than {_MATTERS} points."
    return f"Families where a peer is ahead by more than {_MATTERS} points: {'; '.join(found)}."


def _by_panel(board: Board) -> str:
    leads = {peer: _lead(board, peer, board.panels) for peer in _peers(board)}
    most: dict[str, tuple[float, str]] = {}
    for peer, lead in leads.items():
        for panel, points in lead.items():
            most[panel] = max(most.get(panel, (-np.inf, "")), (points, peer))
    beaten = [panel for panel, (points, _) in most.items() if points > _MUCH]
    if not beaten:
        return f"On no panel is a peer ahead by more than {_MUCH:g} points."
    worst = max(beaten, key=lambda panel: most[panel][0])
    peer = most[worst][1]
    return (
        f"On {len(beaten)} of {len(most)} panels at least one peer is ahead by more than {_MUCH:g} points, by the "
        f"most on {worst}: {LABELS[peer]} has {board.value(peer, worst):.1f} %, `LatentSML()` "
        f"{board.value('search', worst):.1f} %."
    )
