"""From labels of a stratified sample to accuracies with intervals that need no model.

``x_h`` of the ``n_h`` items drawn from stratum h are of one kind (predicted label, true label). A Jeffreys half-label
in every stratum would add up to several labels of prejudice, and its interval never touches 100 %. So in each of many
draws only one made-up label is added for each side of the question (the items labelled so, and the others), in a
stratum taken at random by size; it is wrong with probability .35. That is the mid-p analogue of the interval of Fay
and Feuer for a weighted rate; with one stratum and probability .5 it is the mid-p interval of Clopper and Pearson.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 4000
_WRONG = 0.35  # of .25, .35 and .5 the one that held best on real panels
_OVERALL = ("accuracy", "balanced_accuracy")


class Sample(NamedTuple):
    """Counts of a labelled stratified sample."""

    size: NDArray[np.int64]  # (n_strata,): items of each stratum
    block: NDArray[np.int64]  # (n_strata,): strata of one block were made of one predicted label
    # stratum, predicted, truth: (n_kinds,): the kinds of labelled items: stratum, code of the label under audit, code
    # of the true label
    stratum: NDArray[np.int64]
    predicted: NDArray[np.int64]
    truth: NDArray[np.int64]
    counts: NDArray[np.float64]  # (n_kinds,): how many there are of each; need not be whole
    n_classes: int

    @classmethod
    def of(
        cls,
        size: NDArray[np.int64],
        block: NDArray[np.int64],
        stratum: NDArray[np.int64],
        predicted: NDArray[np.int64],
        truth: NDArray[np.int64],
        n_classes: int,
    ) -> Sample:
        """Count labelled items by kind."""
        kinds, count = np.unique(np.stack([stratum, predicted, truth]), axis=1, return_counts=True)
        return cls(size, block, kinds[0], kinds[1], kinds[2], count.astype(np.float64), n_classes)

    @property
    def by_label(self) -> bool:
        """Whether strata were made of predicted labels, so that recalls can be told."""
        return bool(self.block.max() > 0 or len(np.unique(self.predicted)) == 1)

    @property
    def labelled(self) -> NDArray[np.float64]:
        """How many items of each stratum are labelled."""
        return _added_up(self.stratum, self.counts, len(self.size))

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of each kind among the labelled items of its stratum."""
        return self.counts / self.labelled[self.stratum]

    @property
    def weight(self) -> NDArray[np.float64]:
        """Share of all items that each stratum holds."""
        return self.size / self.size.sum()


def _added_up(places: NDArray[np.int64], amounts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sum of the amounts at each place."""
    return np.bincount(places, amounts, minlength=n).astype(np.float64)


class Shares(NamedTuple):
    """Shares of all items, shape (..., n_classes): rightly labelled with a class, and truly of it."""

    right: NDArray[np.float64]
    truth: NDArray[np.float64]

    def of(self, name: str, unseen: float) -> NDArray[np.float64]:
        """Return a target; the recall of a class of which there is none is ``unseen``."""
        if name == "accuracy":
            return self.right.sum(axis=-1)
        if name == "class_balance":
            return self.truth
        recall = np.divide(self.right, self.truth, out=np.full(self.truth.shape, unseen), where=self.truth > 1e-12)
        return recall.mean(axis=-1) if name == "balanced_accuracy" else recall


def estimates(sample: Sample) -> dict[str, NDArray[np.float64]]:
    """Return the stratified estimate of every target; NaN for a class of which nothing was seen."""
    share = sample.weight[sample.stratum] * sample.rates
    right = sample.predicted == sample.truth
    shares = Shares(
        _added_up(sample.truth, share * right, sample.n_classes), _added_up(sample.truth, share, sample.n_classes)
    )
    return {name: shares.of(name, np.nan) for name in (*_OVERALL, "recall", "class_balance")}


def intervals(
    sample: Sample, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> dict[str, NDArray[np.float64]]:
    """Return an interval of every target, its ends along the last axis.

    Of two classes all targets move with every stratum's rate in one direction, so one set of draws serves all. Of
    more, each class against the rest is a question of its own, with made-up labels on its own two sides.
    """
    drawn = _Draws(sample, rng, draws)
    ends = (1 - level) / 2
    overall = drawn.shares(_sides_of_all(sample))
    found = {name: _between(overall, name, ends) for name in (*_OVERALL, "recall", "class_balance")}
    if sample.n_classes == 2 and sample.by_label:
        return found
    by_class = [drawn.shares(_sides_of_class(sample, code)) for code in range(sample.n_classes)]
    for name in ("recall", "class_balance"):
        found[name] = np.stack([_between(shares, name, ends)[code] for code, shares in enumerate(by_class)])
    if not sample.by_label:
        found["recall"] = np.tile([0.0, 1.0], (sample.n_classes, 1))
    value = np.nan_to_num(estimates(sample)["recall"], nan=0.5)
    # a recall is a ratio, and with few items of a class its estimate is too high: by about as much as draws exceed it
    excess = np.maximum(overall.of("recall", 0.5).mean(axis=0) - value, 0.0)
    of_parts = _mean_of_independent(value, excess, found["recall"])
    together = found["balanced_accuracy"]
    found["balanced_accuracy"] = np.array([min(together[0], of_parts[0]), max(together[1], of_parts[1])])
    return found


def _mean_of_independent(
    values: NDArray[np.float64], excess: NDArray[np.float64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the interval of a mean from those of its parts: distances to the ends add by their squares (MOVER).

    The lower end starts from the values less what they may be too high by.
    """
    low, high = ends.T
    lower = np.maximum(values - excess, low)
    below, above = np.sqrt(((lower - low) ** 2).sum()), np.sqrt(((high - values) ** 2).sum())
    return np.clip([lower.mean() - below / len(values), values.mean() + above / len(values)], 0.0, 1.0)


def _between(shares: Shares, name: str, ends: float) -> NDArray[np.float64]:
    low = np.quantile(shares.of(name, 0.0), ends, axis=0)
    return np.stack([low, np.quantile(shares.of(name, 1.0), 1 - ends, axis=0)], axis=-1)


# -- made-up labels -----------------------------------------------------------------------------------------

# A side: the strata that one made-up label may fall into, as shares; and, given stratum and whether it is wrong, its
# true label.
_Side = tuple[NDArray[np.float64], Callable[[NDArray[np.int64], np.random.Generator], NDArray[np.int64]]]


def _sides_of_all(sample: Sample) -> list[_Side]:
    """Return two sides: of two classes the items of either label, of more all items twice."""
    code = _label_of_strata(sample)

    def wrong(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return (code[strata] + rng.integers(1, sample.n_classes, len(strata))) % sample.n_classes

    if sample.block.max() == 1:
        return [(_shares(sample.weight * (sample.block == block)), wrong) for block in (0, 1)]
    return [(sample.weight, wrong)] * 2


def _sides_of_class(sample: Sample, code: int) -> list[_Side]:
    """Return two sides: the items that are labelled with the class, where a wrong one is of another, and the rest."""
    codes = _label_of_strata(sample)
    own = codes == code

    def wrong(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.where(own[strata], (code + 1) % sample.n_classes, code)

    return [(_shares(sample.weight * side), wrong) for side in (own, ~own) if side.any()]


def _label_of_strata(sample: Sample) -> NDArray[np.int64]:
    """Return the label that most of the labelled items of each stratum were given."""
    counts = np.zeros((len(sample.size), sample.n_classes))
    np.add.at(counts, (sample.stratum, sample.predicted), sample.counts)
    return counts.argmax(axis=1)


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.sum()


class _Draws:
    """Draws of the rates of all strata, before made-up labels are added.

    The rates of a stratum are Dirichlet with its counts, times c for the degrees of freedom that small strata lose.
    As gammas that are divided by their sum, one more label of a kind is one more exponential.
    """

    def __init__(self, sample: Sample, rng: np.random.Generator, draws: int):
        self._sample, self._rng, self._draws = sample, rng, draws
        labelled = sample.labelled
        kept = (labelled - 2 + 4 / len(sample.size)).clip(0.25) / labelled
        self._gammas = rng.standard_gamma(kept[sample.stratum] * sample.counts, (draws, len(sample.counts)))

    def shares(self, sides: list[_Side]) -> Shares:
        """Return the shares of all items, with a made-up label on every side."""
        sample, rng, codes = self._sample, self._rng, _label_of_strata(self._sample)
        rows = np.arange(self._draws)
        made_up = []
        for weights, wrong_label in sides:
            strata = rng.choice(len(weights), self._draws, p=weights)
            wrong = rng.random(self._draws) < _WRONG
            truth = np.where(wrong, wrong_label(strata, rng), codes[strata])
            made_up.append((strata, truth, rng.standard_exponential(self._draws)))
        shape = (self._draws, sample.n_classes)
        right, truths = np.zeros(shape), np.zeros(shape)
        for stratum, (size, labelled) in enumerate(zip(sample.size, sample.labelled, strict=True)):
            kinds = np.flatnonzero(sample.stratum == stratum)
            predicted, truth_of = sample.predicted[kinds], sample.truth[kinds]
            known = sample.counts[kinds] / size
            amounts = self._gammas[:, kinds]
            for strata, truth, amount in made_up:
                here = rows[strata == stratum]
                for code in np.unique(truth[here]).tolist():
                    kind = np.flatnonzero((predicted == codes[stratum]) & (truth_of == code))
                    if not len(kind):
                        predicted, truth_of = np.append(predicted, codes[stratum]), np.append(truth_of, code)
                        known, kind = np.append(known, 0.0), np.array([len(known)])
                        amounts = np.column_stack([amounts, np.zeros(self._draws)])
                    same = here[truth[here] == code]
                    amounts[same, kind[0]] += amount[same]
            rates = _of_finite_many(amounts / amounts.sum(axis=1, keepdims=True), known, labelled / size)
            rates *= size / sample.size.sum()
            for column, (label, code) in enumerate(zip(predicted.tolist(), truth_of.tolist(), strict=True)):
                truths[:, code] += rates[:, column]
                if label == code:
                    right[:, code] += rates[:, column]
        return Shares(right, truths)


def _of_finite_many(rates: NDArray[np.float64], known: NDArray[np.float64], labelled: float) -> NDArray[np.float64]:
    """Return rates of all items of a stratum, of which a share is labelled: ``known`` of them are of each kind.

    The rest varies less than the rates of a population do: its spread is multiplied by sqrt(1 - share).
    """
    mean = rates.mean(axis=0)
    rates = known + (1 - labelled) * mean + np.sqrt(max(1 - labelled, 0.0)) * (rates - mean)
    rest = (rates - known).clip(0.0)
    return known + rest * ((1 - labelled) / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300))
