"""Columns that say why an item got its label."""

from __future__ import annotations

from typing import Any

from goldless.cli.names import voter_names
from goldless.report.summary import named_groups
from goldless.votes.votes import Votes


def explanation_columns(model: Any, votes: Votes) -> dict[str, list]:
    """Return by header: log-odds in all, by the class balance and by each group, and whom to ask next."""
    why = model.explain(votes)
    names = voter_names(votes)
    letters = {group["index"]: f"group {group['name']}" for group in named_groups(model.latent_model_)}
    columns: dict[str, list] = {
        "log-odds": why.log_odds.round(3).tolist(),
        "from the class balance": [round(why.prior, 3)] * len(why.log_odds),
    }
    for group, voters in enumerate(why.groups):
        source = letters.get(group, names[voters[0]])
        columns[f"from {source}"] = why.by_group[:, group].round(3).tolist()
    if abs(why.other).max(initial=0.0) > 1e-6:
        columns["from item subtypes"] = why.other.round(3).tolist()
    columns["ask next"] = [names[voter] if voter >= 0 else "a new voter" for voter in why.next_voter.tolist()]
    columns["bits that would tell"] = why.next_gain.round(4).tolist()
    return columns
