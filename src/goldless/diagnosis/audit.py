"""How good labels are, from a designed sample of items that a person labels; no model has to be right for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis.audit_design import make_design, margins_of
from goldless.diagnosis.audit_estimate import DRAWS, Sample, estimates, intervals
from goldless.errors import LabelsAtRiskWarning, VotesError
from goldless.shown import Shown
from goldless.votes.alphabet import codes_of

TARGETS = ("balanced_accuracy", "accuracy", "recall", "class_balance")
_OF_TWO = {"sensitivity": 1, "specificity": 0}
_SEQUENTIAL_DRAWS = 12_000  # the ends of intervals at a sequential level lie far out
_FIRST_LOOK, _NEXT_LOOK = 10, 1.5
_MOST_GUESSES = 30


def audit(model: Any, X: Any, n: int = 30, *, random_state: int | np.random.Generator = 0) -> AuditPlan:
    """Draw items to label by hand, so that the labels say how good the labels of a model are.

    Parameters
    ----------
    model : fitted estimator
        Its labels are what is audited: any with ``predict`` and ``decision_function``, of any number of classes.
    X : array-like, frame, Votes or source of shape (n_items, n_voters)
        Votes of the items that the audit is about.
    n : int, default=30
        How many items to draw; all of them if there are fewer.
    random_state : int or Generator, default=0
        Source of the draw; the same seed gives the same plan.

    Returns
    -------
    AuditPlan

    Notes
    -----
    Items are drawn at random within strata of predicted label and confidence
    (:mod:`goldless.diagnosis.audit_design`), and the intervals come from the sample alone
    (:mod:`goldless.diagnosis.audit_estimate`): a model that is wrong makes them wider and not wrong. They are about
    these items, and about the labels as the person gives them. Labels chosen by
    :meth:`~goldless.LatentSML.next_to_label` are not a sample and are refused.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(2_000, groups=[3] + [1] * 12, random_state=3)
    >>> plan = gl.audit(gl.LatentSML().fit(X), X, n=50)
    >>> outcome = plan.estimate({row: y[row] for row in plan.rows})
    >>> low, high = outcome.interval["balanced_accuracy"]
    >>> bool(low < outcome.value["balanced_accuracy"] < high)
    True
    """
    if n < 2:
        raise ValueError(f"an audit draws 2 items or more, got n={n}")
    rng = np.random.default_rng(random_state)
    classes = np.asarray(model.classes_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelsAtRiskWarning)  # an audit is the check that it asks for
        labels = codes_of(model.predict(X), classes)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.stack([-scores / 2, scores / 2], axis=1)
    n = min(n, len(labels))
    design = make_design(labels, margins_of(scores, labels), n, rng)
    rows = _drawn_rows(design.stratum, design.drawn, rng)
    return AuditPlan(
        classes=classes,
        rows=rows,
        predicted=labels[rows],
        stratum=design.stratum[rows],
        size=design.size,
        block=design.block,
        planned_error=design.planned_error,
        seed=int(rng.integers(2**63)),
    )


@dataclass(frozen=True, eq=False)
class AuditPlan(Shown):
    """Items to label, and how they were drawn; see :func:`goldless.audit`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    rows : ndarray of shape (n,)
        Rows of X in the order to label them: the first of them, however many, are a sample themselves.
    predicted : ndarray of shape (n,)
        Codes of the labels under audit, of these rows.
    stratum : ndarray of shape (n,)
        Stratum of each row.
    size : ndarray of shape (n_strata,)
        How many items each stratum has.
    block : ndarray of shape (n_strata,)
        Strata of one block were made of one predicted label.
    planned_error : ndarray of shape (n_strata,)
        Error rates that the plan was made with: a cautious guess from the model.
    seed : int
        Source of the draws behind intervals.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[3] + [1] * 12, random_state=3)
    >>> gl.audit(gl.LatentSML().fit(X), X, n=40)
    AuditPlan of 40 of 2,000 items in 8 strata
    """

    classes: NDArray
    rows: NDArray[np.int64]
    predicted: NDArray[np.int64]
    stratum: NDArray[np.int64]
    size: NDArray[np.int64]
    block: NDArray[np.int64]
    planned_error: NDArray[np.float64]
    seed: int = 0

    def __repr__(self) -> str:
        return f"AuditPlan of {len(self.rows)} of {self.n_items:,} items in {len(self.size)} strata"

    @property
    def n_items(self) -> int:
        """Number of items that the audit is about."""
        return int(self.size.sum())

    @property
    def drawn(self) -> NDArray[np.int64]:
        """How many items were drawn from each stratum."""
        return np.bincount(self.stratum, minlength=len(self.size))

    @property
    def inclusion_probability(self) -> NDArray[np.float64]:
        """Probability of each row to be drawn."""
        return (self.drawn / self.size)[self.stratum]

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many labels a sequential audit looks: when every stratum has two, then ever more rarely."""
        needed = np.minimum(2, self.drawn)
        counts = np.cumsum(self.stratum[:, None] == np.arange(len(self.size)), axis=0)
        ready = int(np.flatnonzero((counts >= needed).all(axis=1))[0]) + 1
        last = len(self.rows)
        found = [min(max(ready, _FIRST_LOOK), last)]
        while found[-1] * _NEXT_LOOK**1.5 < last:
            found.append(int(np.ceil(found[-1] * _NEXT_LOOK)))
        return tuple(found) if found[-1] == last else (*found, last)

    def estimate(self, labels: Mapping[Any, Any], *, anytime: bool = False) -> AuditOutcome:
        """Return how good the labels are.

        Parameters
        ----------
        labels : mapping of int to label
            The true labels of drawn rows: ``{row: label}``. None and NaN mean that nobody can tell; such items are
            counted both ways, as right and as wrong.
        anytime : bool, default=False
            Whether the interval is to hold however often one has looked before: for audits that go on until the
            interval is narrow enough. It is so if only the first of the rows are labelled.

        Returns
        -------
        AuditOutcome
        """
        truth = self._truth(labels)
        n_labelled = int(np.flatnonzero(truth > _NOT_YET).max(initial=-1)) + 1
        partial = n_labelled < len(self.rows)
        if not partial and not anytime:
            return self._outcome(self.predicted, truth, 0.95, None)
        looks = self.looks
        passed = [look for look in looks if look <= n_labelled]
        if not passed:
            raise ValueError(
                f"{n_labelled} labels are too few for an interval: label the first {looks[0]} of the rows"
            )
        # Bonferroni over the looks: whichever of them one stops at, all of their intervals hold together
        level = 1 - 0.05 / len(looks)
        return self._outcome(self.predicted, np.where(truth == _NOT_YET, _UNSURE, truth)[: passed[-1]], level, looks)

    def cross_fit(
        self, model: Any, X: Any, labels: Mapping[Any, Any], folds: int = 5, **facts: Any
    ) -> tuple[Any, AuditOutcome]:
        """Fit again with the labels as anchors, and return that model with an audit of its labels.

        A label that a model was fitted with cannot say how good that model is. So each label is compared with a fit
        that did not know it: the rows are dealt into folds, stratum by stratum, and each fold is judged by a fit with
        the labels of the others. The outcome is a little pessimistic, for these fits know fewer labels.

        Parameters
        ----------
        model : estimator
            With ``anchors`` in its ``fit``.
        X : array-like, frame, Votes or source of shape (n_items, n_voters)
            The votes that the plan was made for.
        labels : mapping of int to label
            The true labels of all drawn rows.
        folds : int, default=5
        **facts
            What else ``fit`` is told, such as ``class_balance``.

        Returns
        -------
        tuple of (estimator, AuditOutcome)
        """
        truth = self._truth(labels)
        known = np.flatnonzero(truth >= 0)
        if folds < 2 or len(known) < folds:
            raise ValueError(f"cross-fitting needs two folds or more and a label for each, got {folds} folds and "
                             f"{len(known)} labels")  # fmt: skip
        fold = self._folds(folds)
        predicted = self.predicted.copy()
        for number in range(folds):
            anchors = {int(self.rows[place]): self.classes[truth[place]] for place in known if fold[place] != number}
            fitted = _unfitted(model).fit(X, anchors=anchors, **facts)
            here = np.flatnonzero(fold == number)
            predicted[here] = codes_of(fitted.predict(X)[self.rows[here]], self.classes)
        anchors = {int(self.rows[place]): self.classes[truth[place]] for place in known}
        outcome = self._outcome(predicted, np.where(truth == _NOT_YET, _UNSURE, truth), 0.95, None)
        return _unfitted(model).fit(X, anchors=anchors, **facts), outcome

    def labels_for(self, half_width: float, target: str = "balanced_accuracy") -> int:
        """Return about how many labels an interval of plus or minus ``half_width`` needs, before any label is known.

        A guess: it takes the planned error rates for true. :meth:`AuditOutcome.labels_for` knows more.
        """
        n_classes, codes = len(self.classes), self._codes_of_strata()
        kinds = [
            (stratum, code, truth, rate)
            for stratum, (code, error) in enumerate(zip(codes.tolist(), self.planned_error.tolist(), strict=True))
            for truth in range(n_classes)
            if (rate := 1 - error if truth == code else error / (n_classes - 1)) > 0
        ]
        stratum, predicted, truth, rate = (np.array(part) for part in zip(*kinds, strict=True))
        sample = Sample(self.size, self.block, stratum, predicted, truth, rate * self.drawn[stratum], n_classes)
        return _labels_for(sample, half_width, target, self.seed)

    # -- parts ----------------------------------------------------------------------------------------------

    def _truth(self, labels: Mapping[Any, Any]) -> NDArray[np.int64]:
        """Return the code of the label of each drawn row; whether it is unsure, or not there yet."""
        place = {row: number for number, row in enumerate(self.rows.tolist())}
        code_of = {label: code for code, label in enumerate(self.classes.tolist())}
        truth = np.full(len(self.rows), _NOT_YET)
        for row, label in labels.items():
            if row not in place:
                raise VotesError(
                    "not-drawn", f"row {row} was not drawn by this plan, so its label cannot count", "drawn-only"
                )
            label = label.item() if isinstance(label, np.generic) else label
            if label is None or label != label:
                truth[place[row]] = _UNSURE
            elif label in code_of:
                truth[place[row]] = code_of[label]
            else:
                raise ValueError(f"the label {label!r} of row {row} is none of {self.classes.tolist()}")
        return truth

    def _outcome(
        self, predicted: NDArray[np.int64], truth: NDArray[np.int64], level: float, looks: tuple[int, ...] | None
    ) -> AuditOutcome:
        """Return the outcome of the first rows, items that nobody can tell counted both ways."""
        n, n_classes = len(truth), len(self.classes)
        draws = DRAWS if looks is None else _SEQUENTIAL_DRAWS
        ways = [
            Sample.of(self.size, self.block, self.stratum[:n], predicted[:n], told, n_classes)
            for told in _both_ways(predicted[:n], truth, n_classes)
        ]
        found = [intervals(sample, np.random.default_rng(self.seed), level, draws) for sample in ways]
        values = [estimates(sample) for sample in ways]
        value = {name: np.mean([of[name] for of in values], axis=0) for name in TARGETS}
        interval = {
            name: np.stack(
                [
                    np.min([of[name][..., 0] for of in found], axis=0),
                    np.max([of[name][..., 1] for of in found], axis=0),
                ],
                axis=-1,
            )
            for name in TARGETS
        }
        counted = truth >= 0
        return AuditOutcome(
            classes=self.classes,
            n_items=self.n_items,
            n_labelled=int(counted.sum()),
            n_unsure=int((~counted).sum()),
            n_wrong=int((predicted[:n] != truth)[counted].sum()),
            value=_named(value, n_classes),
            interval=_named(interval, n_classes),
            looks=looks,
            _sample=ways[0],
            _seed=self.seed,
        )

    def _folds(self, folds: int) -> NDArray[np.int64]:
        """Deal the rows into folds, stratum by stratum, so that every fold is a sample of the same design."""
        order = np.argsort(self.stratum, kind="stable")
        fold = np.empty(len(order), dtype=np.int64)
        fold[order] = np.arange(len(order)) % folds
        return fold

    def _codes_of_strata(self) -> NDArray[np.int64]:
        counts = np.zeros((len(self.size), len(self.classes)))
        np.add.at(counts, (self.stratum, self.predicted), 1)
        return counts.argmax(axis=1)


_UNSURE, _NOT_YET = -1, -2


@dataclass(frozen=True, eq=False)
class AuditOutcome(Shown):
    """How good labels are, from an audit.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    n_items, n_labelled, n_unsure, n_wrong : int
        How many items the audit is about, how many of them were labelled, how many of those drawn nobody could tell,
        and how many were wrong.
    value : dict of str to float or ndarray
        ``balanced_accuracy``, ``accuracy``, ``recall`` of each class, ``class_balance`` (of two classes the share of
        the positive one, of more of each), and of two classes ``sensitivity`` and ``specificity``. NaN where no
        labelled item is of a class.
    interval : dict of str to ndarray
        95 % intervals of the same, their ends along the last axis.
    looks : tuple of int or None
        For an audit that may stop at any time: after how many labels it looks. The intervals of all of them hold
        together in 95 % of audits.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(2_000, groups=[3] + [1] * 12, random_state=3)
    >>> plan = gl.audit(gl.LatentSML().fit(X), X, n=40)
    >>> outcome = plan.estimate({row: y[row] for row in plan.rows})
    >>> outcome.n_labelled
    40
    """

    classes: NDArray
    n_items: int
    n_labelled: int
    n_unsure: int
    n_wrong: int
    value: dict[str, Any]
    interval: dict[str, NDArray[np.float64]]
    looks: tuple[int, ...] | None
    _sample: Sample = field(repr=False)
    _seed: int = field(repr=False, default=0)

    def __repr__(self) -> str:
        low, high = self.interval["balanced_accuracy"]
        value = self.value["balanced_accuracy"]
        return (
            f"AuditOutcome of {self.n_labelled} labels of {self.n_items:,} items: balanced accuracy {value:.3f} "
            f"({low:.3f} to {high:.3f})"
        )

    def labels_for(self, half_width: float, target: str = "balanced_accuracy") -> int:
        """Return about how many labels in all an interval of plus or minus ``half_width`` needs, drawn in this way.

        Parameters
        ----------
        half_width : float
            Half of the width that is wished for, such as 0.05.
        target : str, default="balanced_accuracy"
            Which of the values; of ``recall`` and ``class_balance`` of more than two classes the widest counts.
        """
        return _labels_for(self._sample, half_width, target, self._seed)


def _unfitted(model: Any) -> Any:
    """Return an estimator with the same parameters; scikit-learn's ``clone`` wants one of its own."""
    other = copy(model)
    vars(other).pop("fitted_", None)
    return other


def _named(found: dict[str, NDArray[np.float64]], n_classes: int) -> dict[str, Any]:
    """Return the targets under their public names: of two classes the recalls have names of their own."""
    named: dict[str, Any] = {name: float(value) if value.ndim == 0 else value for name, value in found.items()}
    if n_classes == 2:
        for name, code in _OF_TWO.items():
            named[name] = _plain(found["recall"][code])
        named["class_balance"] = _plain(found["class_balance"][1])
    return named


def _plain(value: NDArray[np.float64]) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _both_ways(predicted: NDArray[np.int64], truth: NDArray[np.int64], n_classes: int) -> list[NDArray[np.int64]]:
    """Return the true labels with items that nobody can tell filled in: as right, as wrong, and as of each class.

    A wrong one is of each class in turn, for its recall is what suffers; what was labelled with it is of another.
    """
    unsure = truth < 0
    if not unsure.any():
        return [truth]
    ways = [predicted]
    for code in range(n_classes):
        ways += [np.where(predicted == code, (code + 1) % n_classes, code), np.full(len(truth), code)]
    return [np.where(unsure, way, truth) for way in ways]


def _labels_for(sample: Sample, half_width: float, target: str, seed: int) -> int:
    """Return how many labels would do if the rates are those of a sample, drawn in the same proportions."""
    if not 0 < half_width < 0.5:
        raise ValueError(f"half_width must be between 0 and 0.5, got {half_width}")
    read = _reader(target, sample.n_classes)
    labelled, n_items = sample.labelled, int(sample.size.sum())

    def wide(n: int) -> bool:
        drawn = np.minimum(sample.size, n * labelled / labelled.sum())
        scaled = sample._replace(counts=sample.rates * drawn[sample.stratum])
        ends = read(intervals(scaled, np.random.default_rng(seed)))
        return bool(np.max(ends[..., 1] - ends[..., 0]) > 2 * half_width)

    low, high = 2 * len(sample.size), n_items
    if not wide(low):
        return low
    for _ in range(_MOST_GUESSES):
        if high - low <= max(1, low // 50):
            break
        middle = int(np.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high


def _reader(target: str, n_classes: int) -> Callable[[dict[str, NDArray[np.float64]]], NDArray[np.float64]]:
    if target in _OF_TWO and n_classes == 2:
        return lambda found: found["recall"][_OF_TWO[target]]
    if target not in TARGETS:
        raise ValueError(f"target must be one of {[*TARGETS, *_OF_TWO][: 4 + 2 * (n_classes == 2)]}, got {target!r}")
    return lambda found: found[target]


def _drawn_rows(stratum: NDArray[np.int64], drawn: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw rows of each stratum without replacement, strata in turn, so that every beginning is a sample too."""
    rows, turn = [], []
    for number, count in enumerate(drawn.tolist()):
        rows.append(rng.choice(np.flatnonzero(stratum == number), count, replace=False))
        turn.append((np.arange(count) + rng.random()) / max(count, 1))
    return np.concatenate(rows)[np.argsort(np.concatenate(turn), kind="stable")]
