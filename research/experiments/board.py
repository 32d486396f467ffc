"""What every method did on every panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from research.experiments.peers import PEERS

OURS = {
    "vote": "MajorityVote",
    "textbook": "DawidSkene, textbook",
    "dawid_skene": "DawidSkene()",
    "sml_em": "SpectralMetaLearner()",
    "paper": 'LatentSML(structure="paper")',
    "independent": 'LatentSML(structure="independent")',
    "search": "LatentSML()",
}
LABELS = OURS | {method: label for peer in PEERS for method, label in peer.methods.items()}


class Board:
    """Accuracies in % by method and panel."""

    def __init__(self, entries: list[dict[str, Any]]):
        self.results: dict[str, dict[str, dict[str, Any]]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.unfit: dict[str, str] = {}
        for entry in entries:
            panel, result = entry["parameters"]["panel"], entry["result"]
            if "skipped" in result:
                self.unfit[panel] = result["skipped"]
                continue
            self.facts[panel] = {**result, "family": entry["parameters"]["family"]}
            for method, measured in result["methods"].items():
                self.results.setdefault(method, {})[panel] = measured
        self.panels = list(self.facts)
        self.families = sorted({facts["family"] for facts in self.facts.values()})
        self.methods = [name for name in LABELS if name in self.results]
        finished = [set(self.finished(method)) for method in self.methods]
        shared = set.intersection(*[panels for panels in finished if panels]) if any(finished) else set()
        self.common = [
            panel for panel in self.panels if panel in shared
        ]  # finished by every method that finished any

    def finished(self, method: str) -> list[str]:
        """The panels that a method labelled."""
        return [panel for panel in self.panels if self.accuracy(method, panel) is not None]

    def accuracy(self, method: str, panel: str) -> float | None:
        """Balanced accuracy in %, None if the method did not finish the panel."""
        value = self.results[method].get(panel, {}).get("accuracy")
        return None if value is None else 100 * value

    def pairs(self, method: str, base: str = "vote", panels: Sequence[str] | None = None) -> np.ndarray:
        """Accuracy and that of the base on the panels where both ran: one row each."""
        chosen = self.panels if panels is None else panels
        pairs = [(self.accuracy(method, panel), self.accuracy(base, panel)) for panel in chosen]
        return np.array([pair for pair in pairs if None not in pair], dtype=float).reshape(-1, 2)

    def of_family(self, family: str, panels: Sequence[str]) -> list[str]:
        """Those of the panels that are of a family."""
        return [panel for panel in panels if self.facts[panel]["family"] == family]

    def mean(self, method: str, panels: Sequence[str]) -> float | None:
        """Mean over panels; None unless all were finished."""
        known = [value for value in (self.accuracy(method, panel) for panel in panels) if value is not None]
        return float(np.mean(known)) if known and len(known) == len(panels) else None

    def mean_of_families(self, method: str) -> float | None:
        """Mean over families of the mean over their panels; None unless all were finished."""
        means = [self.mean(method, self.of_family(family, self.panels)) for family in self.families]
        known = [mean for mean in means if mean is not None]
        return float(np.mean(known)) if len(known) == len(means) else None

    def measured(self, method: str, what: str) -> list[float]:
        """Time or memory on each panel that was finished."""
        values = [result.get(what) for result in self.results[method].values() if "skipped" not in result]
        return [value for value in values if value is not None]
