"""The part of the report that needs known labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.report.summary import Matrix, Scored, ScoredVoter, TruthPart
from goldless.votes.pairs import PairTables

_LEAST = 2  # items of a class, below which nothing varies
_MOST_NUMBERS = 180_000  # of covariances within the classes: 300 voters of two classes


def truth_part(
    codes: NDArray[np.int8], truth: NDArray[np.integer], labels: dict[str, NDArray], best: int, n_classes: int
) -> TruthPart:
    """Score voters and combinations against known labels, and measure covariances within the classes.

    ``codes`` (n_items, n_voters); ``truth`` (n_items,): -1 where it is not known; ``labels`` (n_items,): labels by
    each way to combine, the combined ones first; ``best``: the voter that the model, without labels, takes for the
    best.
    """
    if truth.shape != (len(codes),):
        raise ValueError(f"truth must be one code for each of {len(codes)} items, got shape {truth.shape}")
    known = truth >= 0
    truth, codes = truth[known], codes[known]
    sizes = np.bincount(truth, minlength=n_classes)
    if n_classes == 2 and min(sizes) < _LEAST:
        raise ValueError("the truth must hold two items of each class to score against")
    if (sizes >= _LEAST).sum() < 2:
        raise ValueError("the truth must hold two items of each of two classes to score against")
    present = np.flatnonzero(sizes)
    recall = np.stack([_rates(codes, truth, label) for label in range(n_classes)], axis=1)
    balanced = recall[:, present].mean(axis=1)  # not a number if a voter has no vote in one of the classes
    methods = [
        Scored(name, _balanced(found[known], truth, present), _accuracy(found[known], truth))
        for name, found in labels.items()
    ]
    chance = 1 / len(present)
    single = chance + (balanced[best] - chance) * (codes[:, best] >= 0).mean()
    methods.insert(1, Scored("voter thought best", _maybe(single), _accuracy(codes[:, best], truth)))
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion, (truth, next(iter(labels.values()))[known]), 1)
    return TruthPart(
        n_scored=int(known.sum()),
        class_shares=[round(float(share), 4) for share in sizes / sizes.sum()],
        methods=methods,
        confusion=confusion.tolist(),
        voters=[
            ScoredVoter([_maybe(rate) for rate in rates], _maybe(mean))
            for rates, mean in zip(recall, balanced, strict=True)
        ],
        conditional=_conditional(codes, truth, n_classes),
    )


def _conditional(codes: NDArray[np.int8], truth: NDArray[np.integer], n_classes: int) -> list[Matrix] | None:
    """Return the covariance of the votes within each class, zero where there are too few items."""
    n_voters = codes.shape[1]
    if n_classes * n_voters**2 > _MOST_NUMBERS:
        return None
    found = []
    for label in range(n_classes):
        rows = np.ascontiguousarray(codes[truth == label])
        matrix = np.zeros((n_voters, n_voters))
        if len(rows) >= _LEAST:
            matrix = PairTables.of(rows, n_classes).covariance().covariance
        off = np.where(np.eye(n_voters, dtype=bool), 0.0, np.nan_to_num(matrix))
        found.append((off.round(4) + 0.0).tolist())
    return found


def _rates(codes: NDArray, truth: NDArray, label: int) -> NDArray[np.float64]:
    """Return the share of right votes of each voter among items of a class; NaN where it did not vote."""
    votes = codes[truth == label]
    cast = (votes >= 0).sum(axis=0)
    return np.where(cast > 0, (votes == label).sum(axis=0) / np.maximum(cast, 1), np.nan)


def _balanced(labels: NDArray, truth: NDArray, present: NDArray) -> float:
    return round(float(np.mean([(labels[truth == label] == label).mean() for label in present])), 4)


def _accuracy(labels: NDArray, truth: NDArray) -> float | None:
    voted = labels >= 0
    return round(float((labels[voted] == truth[voted]).mean()), 4) if voted.any() else None


def _maybe(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
