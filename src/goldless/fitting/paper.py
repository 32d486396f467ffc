"""What only those need who follow the paper step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PaperOptions:
    """Steps of the paper that a fit need not take, as ``LatentSML(structure="paper", paper=PaperOptions(...))``.

    Attributes
    ----------
    n_groups : int or iterable of int, optional
        Number of groups, or the candidates, for ``structure="paper"``; by default every number is tried.
    start : {"votes", "two-stage"}, optional
        Where EM starts: one soft vote for every group and single voter, or the two-stage moment estimate of
        Algorithm 3. By default "two-stage" for ``structure="paper"`` and "votes" otherwise.
    em : bool, default=True
        Whether exact EM on the latent model follows; without it the two-stage estimate is used as it is.
    latent_values : {"soft", "hard"}, default="soft"
        Whether the first stage of the two-stage estimate hands on the expected value of each group's latent or
        its more likely value.
    imbalance : {"restricted", "tensor", "restricted-as-published"} or float, default="restricted"
        How the class imbalance b is found in the two-stage estimate. "restricted-as-published" repeats a formula
        of a public copy of the authors' code (``v / (1 - b^2)`` for ``v / sqrt(1 - b^2)``), which shrinks b
        towards zero; it is there to reproduce the published figures.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(5_000, groups=[3] + [1] * 6, random_state=0)
    >>> gl.LatentSML(structure="paper", paper=gl.PaperOptions(n_groups=7, em=False)).fit(X).n_groups_
    7
    """

    n_groups: Any = None
    start: str | None = None
    em: bool = True
    latent_values: str = "soft"
    imbalance: str | float = "restricted"
