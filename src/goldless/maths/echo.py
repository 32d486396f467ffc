"""Who gives the same wrong answers as whom: with more than two classes, two wrong voters need not agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

_BLOCK_CELLS = 1 << 22  # rows times voters of one block
_FEWEST_ITEMS = 20  # on which both are wrong, for a pair to be called clear


class SameWrongAnswer(NamedTuple):
    """How much more often two voters give the same wrong answer than the popularity of that answer explains."""

    # (n_voters, n_voters): share of the items on which both are wrong where their answers are the same, less its
    # expectation; NaN where there are none, and on the diagonal
    lift: NDArray[np.float64]
    # (n_voters, n_voters): sampling standard error of the lift; NaN with fewer than two such items
    standard_error: NDArray[np.float64]
    items: NDArray[np.float64]  # (n_voters, n_voters): number of items on which both are wrong

    def clear_pairs(self, level: float = 0.05, least: float = 0.0) -> list[tuple[int, int]]:
        """Return the pairs whose lift is clearly above that of most pairs and more than ``least``, the largest first.

        With at least 20 items on which both are wrong. The median over all pairs is what they are compared with,
        because a pseudo-vote does not take out all of what tempts everybody. The probability of any false pair is at
        most ``level`` (Bonferroni).
        """
        first, second = np.triu_indices(len(self.lift), 1)
        lift, error = self.lift[first, second], self.standard_error[first, second]
        known = (self.items[first, second] >= _FEWEST_ITEMS) & np.isfinite(error)
        deviations = -ndtri(level / max(int(known.sum()), 1))
        usual = max(float(np.median(lift[known])), 0.0) if known.any() else 0.0
        clear = np.flatnonzero(known & (lift - usual > deviations * np.where(known, error, 1.0)) & (lift > least))
        order = clear[np.argsort(-lift[clear], kind="stable")]
        return list(zip(first[order].tolist(), second[order].tolist(), strict=True))


def same_wrong_answer(
    codes: NDArray[np.int8], counts: NDArray[np.number], labels: NDArray[np.integer], n_classes: int
) -> SameWrongAnswer:
    """Compare how often every two voters give the same wrong answer with what the other voters make likely.

    Only items on which both are wrong count: so it does not matter that some items are hard for everybody. An answer
    is expected from a voter as often as the *other* wrong voters of the item give it, with one pseudo-vote that is
    spread evenly over the wrong answers: so it does not matter that some wrong answers tempt everybody. What is left
    is common to the two voters.

    ``codes`` (n_patterns, n_voters): -1 missing, then the classes; ``counts`` (n_patterns,): items with each pattern;
    ``labels`` (n_patterns,): codes of the labels that are taken for the truth; ``n_classes``: number of classes, more
    than two.

    Notes
    -----
    Of T wrong voters let N(a) say a. The answer of i is expected from j with probability
    ``(N(a_i) - 1 - same + 1 / (C - 1)) / (T - 1)``, where ``same`` says whether j gives it. The mean over i and j
    makes the lift ``same * T / (T - 1) - (e_i + e_j) / 2`` with ``e_i = (N(a_i) - 1 + 1 / (C - 1)) / (T - 1)``, so
    sums over items are products of matrices.
    """
    if n_classes < 3:
        raise ValueError(f"wrong answers differ only among three classes or more, got {n_classes}")
    n_voters = codes.shape[1]
    items, total, squares = np.zeros((3, n_voters, n_voters))
    n_rows = max(1, _BLOCK_CELLS // max(n_voters * n_classes, 1))
    for start in range(0, len(codes), n_rows):
        part = slice(start, start + n_rows)
        more = _sums(codes[part], counts[part].astype(np.float64), labels[part], n_classes)
        items, total, squares = items + more[0], total + more[1], squares + more[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = total / items
        variance = np.maximum(squares / items - lift**2, 0.0) / (items - 1)
        error = np.sqrt(np.where(items > 1, variance, np.nan))
    for matrix in (lift, error):
        np.fill_diagonal(matrix, np.nan)
    return SameWrongAnswer(lift, error, items)


def _sums(
    codes: NDArray[np.int8], counts: NDArray[np.float64], labels: NDArray[np.integer], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return for every pair the items on which both are wrong, and the sums of the lift and of its square."""
    wrong = (codes >= 0) & (codes != labels[:, None])
    n_wrong = wrong.sum(axis=1)
    kept = n_wrong >= 2
    codes, counts, wrong, n_wrong = codes[kept], counts[kept], wrong[kept], n_wrong[kept]
    answers = [((codes == label) & wrong).astype(np.float64) for label in range(n_classes)]
    popular = np.zeros(wrong.shape)
    for answer in answers:
        popular += answer * answer.sum(axis=1, keepdims=True)
    expected = wrong * (popular - 1 + 1 / (n_classes - 1)) / (n_wrong - 1)[:, None]
    both_wrong = wrong.astype(np.float64)
    items = (both_wrong * counts[:, None]).T @ both_wrong
    factor = n_wrong / (n_wrong - 1)
    same, same_squared, same_expected = np.zeros((3, wrong.shape[1], wrong.shape[1]))
    for answer in answers:
        weighted = answer * (counts * factor)[:, None]
        same += weighted.T @ answer
        same_squared += (weighted * factor[:, None]).T @ answer
        same_expected += weighted.T @ (answer * expected)  # where the answers are the same, so are the expectations
    first = (expected * counts[:, None]).T @ both_wrong
    second = (expected**2 * counts[:, None]).T @ both_wrong
    mixed = (expected * counts[:, None]).T @ expected
    total = same - (first + first.T) / 2
    squares = same_squared - 2 * same_expected + (second + second.T + 2 * mixed) / 4
    return items, total, squares
