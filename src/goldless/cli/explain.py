"""Columns that say why an item got its label."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldless.cli.names import voter_names
from goldless.report.items import together
from goldless.votes.votes import Votes


def explanation_columns(model: Any, votes: Votes) -> dict[str, list]:
    """Return by header: log-odds in all, by the class balance and by each group, and whom to ask next.

    Log-odds are those of the positive class or, of more than two classes, of the most probable class against the
    next; then two columns name these.
    """
    why = model.explain(votes)
    names = voter_names(votes)
    columns: dict[str, list] = {}
    if votes.n_classes > 2:
        classes = [str(label) for label in votes.classes.tolist()]
        columns["most_probable"] = [classes[code] for code in why.label.tolist()]
        columns["runner_up"] = [classes[code] for code in why.runner_up.tolist()]
    columns["log-odds"] = why.log_odds.round(3).tolist()
    columns["prior_log_odds"] = np.broadcast_to(why.prior, why.log_odds.shape).round(3).tolist()
    for group, voters in enumerate(why.groups):
        columns[f"from {together(names, voters)}"] = why.by_group[:, group].round(3).tolist()
    if abs(why.other).max(initial=0.0) > 1e-6:
        columns["from item subtypes"] = why.other.round(3).tolist()
    columns["next_voter"] = [names[voter] if voter >= 0 else "a new voter" for voter in why.next_voter.tolist()]
    columns["expected_gain_bits"] = why.next_gain.round(4).tolist()
    return columns
