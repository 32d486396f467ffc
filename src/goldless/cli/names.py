"""How the commands call voters."""

from __future__ import annotations

from goldless.votes.votes import Votes


def voter_names(votes: Votes) -> list[str]:
    """Return the names of the voters, by number where they have none."""
    if votes.voters is None:
        return [f"voter {i}" for i in range(votes.n_voters)]
    return [str(name) for name in votes.voters]
