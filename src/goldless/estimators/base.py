"""What all estimators share: reading votes, saying what is odd about them, and turning log-odds into labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from goldless.estimators.calibration import Calibration, calibrated_to
from goldless.estimators.explanation import Explanation, explain_patterns, spread_rows
from goldless.estimators.facts import NO_LABELS, KnownLabels
from goldless.estimators.labelling import Written, write_labels
from goldless.estimators.notebook import small_html
from goldless.estimators.persistence import save_estimator
from goldless.estimators.tree_fit import balance_prior_items, free_balance
from goldless.maths.checks import relabel
from goldless.maths.em import EMResult, Prior, RatePrior, run_em
from goldless.maths.finish import finish_em
from goldless.maths.latent_model import LatentModel, embed, log_odds, probability
from goldless.metrics import balanced_accuracy
from goldless.votes.blocks import Block
from goldless.votes.counted import CountedVotes, DistinctPass, on_distinct_rows
from goldless.votes.counts import PairCounts
from goldless.votes.encoding import Votes, encode_votes, voter_name
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.sources import EncodedSource, as_stream
from goldless.votes.warnings import warn_user
from goldless.votes.whole import WholeVotes

_TIE = 1e-9  # log-odds closer to zero than this are a tie
_EXACT = 2**53  # whole numbers below this are exact as floats


@dataclass(frozen=True)
class FitVotes:
    """The votes of a fit, reduced to what carries information.

    Attributes
    ----------
    table : PatternTable
        Patterns of the voters that are fitted, on the items they voted on.
    core_voter : ndarray of shape (n_voters,)
        Column of ``table`` that speaks for each voter, or -1 for a voter that says nothing.
    positive_share : ndarray of shape (n_voters,)
        Share of positive votes of each voter (1/2 if it has none).
    all_counts : PairCounts
        Pair counts of all voters.
    votes : Votes
        Everything that was read.
    weights : ndarray of shape (n_items,) or None
        How many items each row stands for.
    counts : PairCounts
        Pair counts of the voters that are fitted, over all items.
    n_items : int
        Number of items that they voted on.
    all_table : PatternTable
        Patterns of all voters.
    whole : WholeVotes or None
        All votes, if the tables are only a sample of their patterns.
    known : Block
        Votes of all voters on the rows that were asked for: those with a known label.
    """

    table: PatternTable
    core_voter: NDArray[np.int64]
    positive_share: NDArray[np.float64]
    all_counts: PairCounts
    votes: Votes
    weights: NDArray[np.int64] | None
    counts: PairCounts
    n_items: int
    all_table: PatternTable
    whole: WholeVotes | None
    known: Block

    @property
    def voters(self) -> NDArray[np.int64]:
        """Column of X behind each column of the table."""
        core, first = np.unique(self.core_voter, return_index=True)
        return first[core >= 0]

    def embed(self, core: LatentModel) -> LatentModel:
        """Return the model of all voters."""
        return embed(core, self.core_voter, self.positive_share)

    def spread_groups(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of all voters; a copy is in the group of its original, a silent voter alone."""
        n_voters = len(self.core_voter)
        return relabel(np.where(self.core_voter >= 0, groups[self.core_voter], n_voters + np.arange(n_voters)))

    def spread(self, per_core_voter: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each voter from values of the fitted ones; 0 for a voter that says nothing."""
        return np.where(self.core_voter >= 0, per_core_voter[self.core_voter], 0.0)


class VoteEstimator(BaseEstimator, ABC):
    """Base of all estimators. Think twice before adding anything to it."""

    missing: Any
    positive: Any
    classes_: NDArray
    n_features_in_: int

    _min_voters = 3
    _merges_copies = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    # -- reading votes --------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters that no votes could mend."""

    def _read(self, X: Any, *, reset: bool) -> Votes:
        """Encode votes in memory; at fit learn the classes and the names, later check against them."""
        votes = self._open(X, reset=reset)
        if isinstance(votes, EncodedSource):
            raise TypeError(f"This needs votes in memory, an array or a frame, and not a {type(X).__name__}.")
        return votes

    def _open(self, X: Any, *, reset: bool) -> Votes | EncodedSource:
        """Encode votes, or find out what a stream of votes holds; at fit learn the classes and names, later check."""
        if reset:
            self._check_parameters()
            for name in [name for name in vars(self) if name.endswith("_") or name == "_patterns"]:
                delattr(self, name)  # a fit that fails leaves nothing of an earlier one
        votes = self._encode(X, None if reset else self.classes_)
        if reset:
            self._learn_columns(votes)
        else:
            self._check_columns(votes)
        return votes

    def _encode(self, X: Any, classes: ArrayLike | None) -> Votes | EncodedSource:
        """Encode votes, or find out what a stream of votes holds."""
        known: dict[str, Any] = {"classes": classes, "missing": self.missing, "positive": self.positive}
        stream = as_stream(X)
        votes = encode_votes(X, **known) if stream is None else stream.open(**known)
        if isinstance(votes, Votes) and stream is not None:
            votes = encode_votes(votes, **known)  # read into memory after all
        return votes

    def _learn_columns(self, votes: Votes | EncodedSource) -> None:
        self.classes_, self.n_features_in_ = votes.classes, votes.n_voters
        if votes.voters is not None:
            self.feature_names_in_ = votes.voters

    def _check_columns(self, votes: Votes | EncodedSource) -> None:
        """Compare names and number of the columns with those of the fit, in the words of scikit-learn."""
        name, known, given = type(self).__name__, getattr(self, "feature_names_in_", None), votes.voters
        if known is None and given is not None:
            warn_user(f"X has feature names, but {name} was fitted without feature names", UserWarning)
        elif known is not None and given is None:
            warn_user(f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning)
        elif known is not None and given is not None and list(known) != list(given):
            unseen, lost = sorted(set(given) - set(known)), sorted(set(known) - set(given))
            message = "The feature names should match those that were passed during fit.\n"
            if unseen:
                message += f"Feature names unseen at fit time:\n{_bullets(unseen)}"
            if lost:
                message += f"Feature names seen at fit time, yet now missing:\n{_bullets(lost)}"
            if not unseen and not lost:
                message += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(message)
        if votes.n_voters != self.n_features_in_:
            raise ValueError(
                f"X has {votes.n_voters} features, but {name} is expecting {self.n_features_in_} features as input: "
                "one column for each voter of the fit."
            )

    def _read_for_fit(self, X: Any, sample_weight: ArrayLike | None, known: KnownLabels = NO_LABELS) -> FitVotes:
        """Encode, check, collapse and count; pick out the rows with a known label."""
        votes = self._open(X, reset=True)
        self._check_voters(votes.n_voters)
        if isinstance(votes, EncodedSource):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight goes with votes in memory: a source says itself how often rows occur."
                )
            counted = CountedVotes.of_source(votes, known.rows)
            known.check(counted.n_rows)
            return self._prepare(counted)
        weights = as_counts(sample_weight, votes.n_items)
        known.check(votes.n_items)
        return self._prepare(CountedVotes.of_votes(votes, weights, known.rows))

    def _check_voters(self, n_voters: int) -> None:
        name, least = type(self).__name__, self._min_voters
        if n_voters < least:
            raise ValueError(
                f"{name} needs {least} voters, got {n_voters} (n_features = {n_voters}): with fewer, "
                "accuracies cannot be told from agreement; use MajorityVote."
            )

    def _prepare(self, counted: CountedVotes) -> FitVotes:
        """Leave out what carries no information, and say what is odd."""
        name, least, n_voters = type(self).__name__, self._min_voters, counted.votes.n_voters
        counts = counted.counts
        cast, positive = counts.votes_cast, counts.positive_votes
        # a voter that says one thing on all items tells nothing; one that says it on some, and abstains on
        # others, is a one-sided rule and may tell a lot
        one_sided = (positive == 0) | (positive == cast)
        informative = (cast > 0) & ~(one_sided & (cast == counted.n_voted_items))
        copy_of = counts.first_copies()
        _warn_about(counted, informative, copy_of, self._merges_copies)
        fitted = informative & (copy_of == np.arange(n_voters)) if self._merges_copies else informative
        if fitted.sum() < least:
            raise ValueError(
                f"{name} needs {least} different voter(s) that use both classes, but there are only "
                f"{int(fitted.sum())} among {n_voters} (n_samples = {counted.n_rows})"
                + ("; use MajorityVote." if least > 1 else ".")
            )
        number = np.cumsum(fitted) - 1
        core_voter = np.where(informative, number[copy_of] if self._merges_copies else number, -1)
        share = np.where(cast > 0, positive / np.maximum(cast, 1), 0.5)
        chosen = np.flatnonzero(fitted)
        core, whole = counted.table.informative(chosen), counted.whole(chosen)
        self._tie_code_ = int(2 * positive[fitted].sum() > cast[fitted].sum())
        self.how_counted_ = counted.how
        n_items = core.n_items if whole is None else whole.n_items
        return FitVotes(
            core,
            core_voter,
            share,
            counts,
            counted.votes,
            counted.weights,
            counts.voters(chosen),
            n_items,
            counted.table,
            whole,
            counted.picked,
        )

    # -- answers --------------------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn from votes."""

    @abstractmethod
    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the log-odds of the positive class for rows of codes."""

    def _label(self, codes: NDArray[np.int8]) -> NDArray:
        """Return the labels of rows of codes."""
        return self.classes_[self._decide(self._log_odds(codes))]

    def _decide(self, log_odds: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the code of the class that log-odds speak for."""
        return np.where(np.abs(log_odds) <= _TIE, self._tie_code_, (log_odds > 0).astype(np.int64))

    @abstractmethod
    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the code of the label and the probability of the positive class, shape (n_rows, 2)."""

    def _on_patterns(self, X: Any, of_codes: Callable[[NDArray[np.int8]], NDArray]) -> NDArray:
        """Apply a function to the distinct rows only."""
        check_is_fitted(self)
        votes = self._open(X, reset=False)
        if isinstance(votes, EncodedSource):
            return np.concatenate([answer for answer, _ in votes.rows(DistinctPass(of_codes))])
        return on_distinct_rows(votes.codes, of_codes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds that decide: positive values mean the second class.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        """
        return self._on_patterns(X, self._log_odds)

    def predict(self, X: Any) -> NDArray:
        """Return the label of every item, in the user's own classes.

        A tie (log-odds of zero, as for an item nobody voted on) goes to the class with more votes at fit, voters
        without influence aside, and to the first class if both have as many.
        """
        return self._on_patterns(X, self._label)

    def predict_to(self, X: Any, path: Any, anchors: Any = None) -> dict[Any, int]:
        """Write the label of every item and its probability to a file, batch by batch and in the input's order.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes; best a path, blocks or a Dask collection (:class:`~goldless.VoteStream`).
        path : path
            File that ends in ``.parquet``, ``.csv`` or ``.tsv``, written whole or not at all. Its columns are the
            name of the item (the identifier column of a file, the index of a pandas frame, or the number of the row,
            from 1), the label, and the probability of the positive class.
        anchors : mapping of int to label, or array-like of shape (n_items,), optional
            Known labels of a few items, as in the fit: these items keep them.

        Returns
        -------
        dict
            How many items got each label.
        """
        return self.write_labels(X, path, anchors).by_label

    def write_labels(self, X: Any, path: Any, anchors: Any = None) -> Written:
        """Write labels as :meth:`predict_to` does; return how many there are of each, and how they agree with truth.

        The truth is that of a :class:`~goldless.VoteStream` of files with a column ``truth``; it only scores.
        """
        check_is_fitted(self)
        known = KnownLabels.read(anchors, self.missing)
        return write_labels(self._answer, self._open(X, reset=False), self.classes_, path, known)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray:
        """Fit, then label the same items."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the balanced accuracy of the labels against known ones."""
        return balanced_accuracy(y, self.predict(X))

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a JSON file; see :func:`goldless.load`."""
        check_is_fitted(self)
        save_estimator(self, path)


class LatentEstimator(VoteEstimator):
    """An estimator whose answer is a fitted :class:`~goldless.LatentModel` in ``latent_model_``."""

    def _check_parameters(self) -> None:
        if self.decision not in ("ml", "map"):
            raise ValueError(f"decision must be 'ml' or 'map', got {self.decision!r}")

    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        self._check_parameters()
        return self._deciding(self._likelihood_ratio(codes))

    def _deciding(self, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds that decide from the log-likelihood ratio."""
        return self._calibrated(ratio) if self.decision == "map" else ratio

    def _likelihood_ratio(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative) for rows of codes."""
        return self.latent_model_.log_likelihood_ratio(codes)

    def _calibrated(
        self, ratio: NDArray[np.float64], calibration: tuple[float, float] | None = None
    ) -> NDArray[np.float64]:
        """Return the log-odds of the positive class from the log-likelihood ratio."""
        known = getattr(self, "calibration_", None) if calibration is None else calibration
        if known is None:
            return ratio + self.latent_model_.log_prior_odds
        return float(known[0]) * ratio + float(log_odds(np.array(known[1])))

    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        ratio = self._likelihood_ratio(codes)
        return np.stack([self._decide(self._deciding(ratio)), probability(self._calibrated(ratio))], axis=1)

    def predict_proba(self, X: Any, calibration: tuple[float, float] | None = None) -> NDArray[np.float64]:
        """Return Pr(class | votes) of every item, columns in the order of ``classes_``.

        The class balance enters here whatever the ``decision``, so with ``decision="ml"`` the most probable class
        need not be the predicted one.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        calibration : (temper, class_balance), optional
            A factor on the log-likelihood ratio of the votes and the class balance to count with, as in
            ``goldless.diagnose(model, X).calibration``; by default ``calibration_`` where the model has it, and
            otherwise 1 and the class balance of the model.
        """
        check_is_fitted(self)
        positive = self._on_patterns(
            X, lambda codes: probability(self._calibrated(self._likelihood_ratio(codes), calibration))
        )
        return np.stack([1 - positive, positive], axis=1)

    def explain(self, X: Any) -> Explanation:
        """Return why items get their labels: log-odds by group of voters, and what one more vote would tell.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.

        Examples
        --------
        >>> import goldless as gl
        >>> X, _ = gl.simulate_votes(2_000, groups=[1] * 9, missing_rate=0.2, random_state=0)
        >>> model = gl.DawidSkene().fit(X)
        >>> why = model.explain(X[:3])
        >>> bool(np.allclose(why.prior + why.by_group.sum(axis=1), why.log_odds))
        True
        >>> why.neediest(1)                                      # the item that one more vote would help most
        array([0])
        >>> why.next_voter                                       # whose vote; -1: all have voted, a new voter's
        array([-1,  3,  1])
        """
        check_is_fitted(self)
        table = PatternTable.of(self._read(X, reset=False).codes)
        ratio, calibration = self._likelihood_ratio(table.codes), getattr(self, "calibration_", None)
        why = explain_patterns(self.latent_model_, table.codes, ratio, calibration)
        return spread_rows(why, table.inverse)

    def _rate_prior(self, n_items: int, overdispersion: float) -> RatePrior:
        """Return the pseudo-counts of this estimator's EM."""
        if np.shape(self.prior) != (2,) or not all(pseudo >= 0 for pseudo in self.prior):
            raise ValueError(f"prior must be two pseudo-counts (right, wrong), none negative, got {self.prior!r}")
        items = self.balance_prior
        if isinstance(items, str) and items == "auto":
            items = balance_prior_items(n_items, overdispersion)
        if isinstance(items, str) or not items >= 0:
            raise ValueError(f"balance_prior must be 'auto' or a number of items, got {self.balance_prior!r}")
        right, wrong = self.prior
        return RatePrior(right, wrong, balance=items / 2)

    def _improve(
        self, start: LatentModel, table: PatternTable, prior: Prior, whole: WholeVotes | None = None
    ) -> LatentModel:
        """Run EM from a model; on a table that is a sample of ``whole``, to a good start for :meth:`_finish`."""
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")
        passes = GroupedPatterns(table, start.groups)
        result = run_em(start, passes.expect, prior=prior, max_iter=self.max_iter, tol=self.tol)
        self._store_em(result, final=whole is None)
        return result.model

    def _release_balance(
        self,
        model: LatentModel,
        table: PatternTable,
        prior: RatePrior,
        overdispersion: float,
        whole: WholeVotes | None = None,
    ) -> tuple[LatentModel, RatePrior, Calibration | None]:
        """Drop the prior on the class balance where the votes, or the sample of them, speak against it.

        Where it stays, say how to take its pull out of the probabilities.
        """
        if not isinstance(self.balance_prior, str):
            return model, prior, None
        expect = GroupedPatterns(table, model.groups).expect
        solve = partial(run_em, model, expect, max_iter=self.max_iter, tol=self.tol)
        free = free_balance(solve, table.n_items, self.log_likelihood_, prior, overdispersion)
        if free is None:
            return model, prior, None
        if not free.asked_for:
            return model, prior, calibrated_to(table, model, free.result.model)
        self._store_em(free.result, final=whole is None)
        return free.result.model, free.prior, None

    def _finish(self, model: LatentModel, table: PatternTable, prior: Prior, whole: WholeVotes | None) -> LatentModel:
        """Go on with EM from the optimum on a sample to that on all votes."""
        if whole is None:
            return model
        on_sample = GroupedPatterns(table, model.groups).expect
        result = finish_em(model, on_sample, whole.expect, prior=prior, max_iter=self.max_iter, tol=self.tol)
        self._store_em(result)
        return result.model

    def _store_em(self, result: EMResult, final: bool = True) -> None:
        """Keep how EM ended, and warn if it was stopped and nothing follows."""
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.log_likelihood_ = result.log_likelihood
        if final and not result.converged:
            warn_user(
                f"EM stopped after {result.n_iter} iterations while still gaining {result.gap:.2g} in "
                f"log-likelihood per item (tol={self.tol:g}); raise max_iter.",
                ConvergenceWarning,
            )

    def _repr_html_(self) -> str:
        """Return a small table for notebooks; what scikit-learn shows if not fitted."""
        return small_html(self) if hasattr(self, "latent_model_") else super()._repr_html_()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if not hasattr(self, "latent_model_"):
            return super()._repr_mimebundle_(**options)
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def sensitivity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote positive | Y positive) of each voter."""
        return self.latent_model_.sensitivity

    @property
    def specificity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote negative | Y negative) of each voter."""
        return self.latent_model_.specificity

    @property
    def balanced_accuracy_(self) -> NDArray[np.float64]:
        """Mean of sensitivity and specificity of each voter."""
        return self.latent_model_.balanced_accuracy

    @property
    def class_balance_(self) -> float:
        """Estimated Pr(Y positive)."""
        return self.latent_model_.class_balance

    @property
    def imbalance_(self) -> float:
        """Estimated class imbalance b = Pr(Y positive) - Pr(Y negative)."""
        return self.latent_model_.imbalance


def _bullets(names: list[str]) -> str:
    return "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")


def as_counts(sample_weight: ArrayLike | None, n_items: int) -> NDArray[np.int64] | None:
    """Check that weights count items."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim != 1 or len(weights) != n_items:
        raise ValueError(f"sample_weight must be one count for each of {n_items} rows, got shape {weights.shape}.")
    if not np.issubdtype(weights.dtype, np.number) or not np.isfinite(weights).all():
        raise ValueError("sample_weight must be finite numbers.")
    bad = np.flatnonzero((weights != np.floor(weights)) | (weights < 0))
    if len(bad):
        raise ValueError(
            f"sample_weight counts how many items a row stands for, so it must be a whole number, not "
            f"{weights[bad[0]]} (row {bad[0]})."
        )
    total = float(weights.sum(dtype=float))
    if total == 0:
        raise ValueError("sample_weight is zero everywhere: there are no items.")
    if total >= _EXACT:
        raise ValueError(f"sample_weight adds up to {total:g} items; fewer than 2**53 can be counted exactly.")
    return weights.astype(np.int64)


def _warn_about(counted: CountedVotes, informative: NDArray, copy_of: NDArray, merges_copies: bool) -> None:
    """Say what is odd about the votes, each in one sentence with what was done about it."""
    votes, cast = counted.votes, counted.counts.votes_cast

    def named(voters: NDArray[np.integer]) -> str:
        shown = ", ".join(voter_name(votes.voters, voter) for voter in voters[:5])
        return shown + (f" and {len(voters) - 5} more" if len(voters) > 5 else "")

    silent = np.flatnonzero(cast == 0)
    if len(silent):
        warn_user(f"No votes at all from {named(silent)}: kept with accuracy 0.5, without influence.")
    constant = np.flatnonzero(~informative & (cast > 0))
    if len(constant):
        warn_user(f"Always the same vote from {named(constant)}: kept with accuracy 0.5, without influence.")
    copies = np.flatnonzero(copy_of != np.arange(votes.n_voters))
    if len(copies):
        pairs = ", ".join(f"{votes.voter_name(copy)} of {votes.voter_name(copy_of[copy])}" for copy in copies[:5])
        more = f" and {len(copies) - 5} more" if len(copies) > 5 else ""
        effect = "a voter and its copies count as one" if merges_copies else "each still counts as a voter of its own"
        warn_user(f"Exact copies among the voters: {pairs}{more}; {effect}.")
    if counted.n_empty:
        warn_user(
            f"{counted.n_empty} item(s) without any vote, the first in row {counted.first_empty}: without influence, "
            "and labelled by a guess."
        )
    if votes.n_voters >= 20 and votes.n_voters > 2 * counted.n_items:
        warn_user(
            f"{votes.n_voters} columns but only {counted.n_items} rows: rows are items and columns are voters; if "
            "yours is the other way round, pass the transpose."
        )
