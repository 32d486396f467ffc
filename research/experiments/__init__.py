"""Experiments: the paper's figures and tables, and where goldless stands beside its peers.

An experiment is a list of units of work, a function from a unit to a dictionary, and a function from the finished
units to tables and figures (:class:`~research.experiments.framework.Experiment`). Running one leaves a folder with
a JSON record; pages are written from records alone (:mod:`research.experiments.render`).
"""

from __future__ import annotations

from importlib import import_module

from research.experiments.framework import Experiment

BOARDS = ("panels", "classes", "scores", "crowds")
NAMES = (
    *("artificial", "uci", "dream", *BOARDS, "few_labels", "against_rest", "today", "simulated", "promises"),
    "scaling",
)


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    if name in BOARDS:
        return import_module("research.experiments.panels").EXPERIMENTS[name]
    return import_module(f"research.experiments.{name}").EXPERIMENT
