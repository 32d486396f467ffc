"""What all estimators share: reading votes, storing one value, and turning log-odds into labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import LabelsAtRiskWarning, warn_user
from goldless.estimators.persistence import save_estimator
from goldless.fitting.calibration import Calibration
from goldless.fitting.core import FitVotes, as_counts, reduce_votes
from goldless.fitting.explain import Explanation, explain_codes, explain_source
from goldless.fitting.facts import NO_LABELS, KnownLabels
from goldless.fitting.fitted import Convergence, Fitted, Unseen, probabilities
from goldless.fitting.labelling import Written, write_labels
from goldless.fitting.number_facts import auc_of, direction_of, emission_of, severity_of, turning_point_of
from goldless.io.encode import encode_by, encode_by_bins, encode_votes, policy
from goldless.io.numbers import with_words_of
from goldless.io.open import as_stream
from goldless.io.roles import SURELY_TRUTH, plain_title
from goldless.kernels.sparse import SparseCodes
from goldless.maths.tree import TreeModel
from goldless.metrics import balanced_accuracy
from goldless.shown import Shown
from goldless.votes.alphabet import LabelRules
from goldless.votes.counted import CountedVotes, of_distinct, on_distinct_rows
from goldless.votes.kinds import NumberRules
from goldless.votes.source import VoteSource
from goldless.votes.sparse import MOST_COMPARED
from goldless.votes.unseen import count_listed
from goldless.votes.votes import Votes


@dataclass(eq=False, repr=False, kw_only=True)
class VoteEstimator(ABC):
    """Base of all estimators: everything that was learnt is in ``fitted_``. Think twice before adding to it.

    The parameters are fields: here those of all, how votes are read and how labels are decided.

    It does not import scikit-learn, which takes a second: the public estimators (:mod:`goldless.estimators.learners`)
    are these with ``BaseEstimator`` behind them.
    """

    decision: str | None = "ml"
    missing: Any = None
    positive: Any = None
    classes: Any = None
    kind: Any = "auto"
    lower_is_positive: Any = None
    positive_from: float | None = None
    fitted_: Fitted = field(init=False)

    _min_voters = 3  # with fewer it refuses to fit
    _voters_to_judge = 0  # with fewer it fits, and says that accuracies are a guess
    _merges_copies = False
    _two_classes_only = ""  # what is for two classes only, in a sentence
    _needs_truth = False
    _is_model = True  # whether what is learnt is a model of the voters, and no count of votes
    _decisions: ClassVar[tuple] = ("ml", "map")

    # -- what was learnt ------------------------------------------------------------------------------------

    def _of_fit(self, name: str) -> Fitted:
        """Return what was learnt, or say in the words of Python that an attribute is not there yet."""
        if "fitted_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it is not fitted")
        return self.fitted_

    @property
    def classes_(self) -> NDArray:
        """Labels; of two, (negative, positive)."""
        return self._of_fit("classes_").classes

    @property
    def n_features_in_(self) -> int:
        """Number of voters."""
        return self._of_fit("n_features_in_").n_voters

    @property
    def feature_names_in_(self) -> NDArray:
        """Names of the voters, if they have names."""
        names = self._of_fit("feature_names_in_").voters
        if names is None:
            raise AttributeError("the voters of the fit have no names")
        return names

    @property
    def how_counted_(self) -> str:
        """In a sentence: how many items and patterns there were, and how passes over them went."""
        return self._of_fit("how_counted_").how_counted

    @property
    def confusion_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote | Y) of every voter, shape (n_voters, n_classes, n_classes); rows are the truth."""
        return self._of_fit("confusion_").confusion

    @property
    def recall_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote = Y | Y) of every voter and class, shape (n_voters, n_classes)."""
        return self._of_fit("recall_").recalls

    @property
    def balanced_accuracy_(self) -> NDArray[np.float64]:
        """Mean over the classes of how often each voter is right."""
        return self._of_fit("balanced_accuracy_").recalls.mean(axis=1)

    @property
    def sensitivity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote positive | Y positive) of each voter (two classes)."""
        return self._of_two("sensitivity_").recalls[:, 1]

    @property
    def specificity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote negative | Y negative) of each voter (two classes)."""
        return self._of_two("specificity_").recalls[:, 0]

    @property
    def precision_(self) -> NDArray[np.float64]:
        """Estimated Pr(Y positive | vote positive) of each voter, its positive predictive value (two classes)."""
        fitted = self._of_two("precision_")
        called = fitted.model.class_prior * np.stack([1 - fitted.recalls[:, 0], fitted.recalls[:, 1]], axis=1)
        return called[:, 1] / np.maximum(called.sum(axis=1), 1e-300)

    @property
    def unseen_(self) -> Unseen:
        """Items that too few voters call to be among the votes, with an interval; only with ``at_least``."""
        unseen = self._of_fit("unseen_").unseen
        if unseen is None:
            raise AttributeError("unseen_ is known only of fits with at_least")
        return unseen

    @property
    def class_balance_(self) -> float | NDArray[np.float64]:
        """Estimated Pr(Y positive) of two classes, Pr(Y) of more."""
        return self._of_fit("class_balance_").model.class_balance

    @property
    def calibration_(self) -> tuple:
        """What ``predict_proba`` counts with: a factor on the log-likelihood, and the class balance."""
        fitted = self._of_fit("calibration_")
        if not self._is_model:
            raise AttributeError(f"{type(self).__name__} counts votes, and has no calibration_")
        return (1.0, fitted.model.class_balance) if fitted.printed is None else tuple(fitted.printed)

    @property
    def imbalance_(self) -> float:
        """Estimated class imbalance b = Pr(Y positive) - Pr(Y negative) (two classes)."""
        return self._of_two("imbalance_").model.imbalance

    @property
    def latent_model_(self) -> TreeModel:
        """The fitted model of all voters, its states the classes."""
        fitted = self._of_fit("latent_model_")
        if not self._is_model:
            raise AttributeError(f"{type(self).__name__} counts votes, and has no latent_model_")
        return fitted.model

    @property
    def log_likelihood_(self) -> float:
        """Log-likelihood of the votes where EM ended."""
        return self._ended("log_likelihood_").log_likelihood

    @property
    def n_iter_(self) -> int:
        """Number of passes of EM."""
        return self._ended("n_iter_").n_iter

    @property
    def converged_(self) -> bool:
        """Whether EM converged."""
        return self._ended("converged_").converged

    def _ended(self, name: str) -> Convergence:
        ended = self._of_fit(name).convergence
        if ended is None:
            raise AttributeError(f"{name}: there was no EM")
        return ended

    def _of_two(self, name: str) -> Fitted:
        """Return what was learnt of two classes; of more an attribute is not there."""
        fitted = self._of_fit(name)
        if fitted.n_classes != 2:
            raise AttributeError(f"{name} is for two classes, and there are {fitted.n_classes}: see confusion_")
        return fitted

    # -- votes that are numbers -----------------------------------------------------------------------------

    def _of_numbers(self, name: str) -> Fitted:
        """Return what was learnt of numbers; of labels an attribute is not there."""
        fitted = self._of_fit(name)
        if fitted.bins is None:
            raise AttributeError(f"{name} is for votes that are numbers, and these are labels")
        return fitted

    @property
    def kinds_(self) -> tuple[str, ...]:
        """How the votes of each voter were read: "labels", "ordinal", "probabilities" or "scores"."""
        fitted = self._of_fit("kinds_")
        return ("labels",) * fitted.n_voters if fitted.bins is None else fitted.bins.kinds

    @property
    def cuts_(self) -> list[NDArray[np.float64]]:
        """Of each voter the numbers at which a bin begins, in the order of the bins."""
        bins = self._of_numbers("cuts_").bins
        assert bins is not None
        return [sign * edges for sign, edges in zip(bins.sign, bins.edges, strict=True)]

    @property
    def emission_(self) -> list[NDArray[np.float64]]:
        """Estimated Pr(bin | Y) of each voter, of shape (2, n_bins); rows are the truth."""
        return emission_of(self._of_numbers("emission_"))

    @property
    def auc_(self) -> NDArray[np.float64]:
        """Estimated AUC of each voter: how often it ranks a positive item above a negative one."""
        return auc_of(self._of_numbers("auc_"))

    @property
    def turning_point_(self) -> NDArray[np.float64]:
        """The number at which each voter turns to positive; not a number if it never does."""
        return turning_point_of(self._of_numbers("turning_point_"))

    @property
    def direction_(self) -> NDArray[np.int64]:
        """1 for voters whose high numbers mean positive, -1 for those whose low ones do, 0 for neither."""
        return direction_of(self._of_numbers("direction_"))

    @property
    def severity_(self) -> NDArray[np.float64]:
        """How much lower the numbers of each voter are than those of all, on items of the same class."""
        return severity_of(self._of_numbers("severity_"))

    @property
    def scale_or_classes_(self) -> float:
        """About 1 and more if the numbers speak of two classes, clearly less if they measure one scale."""
        separation = self._of_numbers("scale_or_classes_").separation
        if separation is None:
            raise AttributeError("scale_or_classes_: there is no model of the classes")
        return separation

    # -- reading votes --------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters that no votes could mend."""
        if self.decision not in self._decisions:
            known = [repr(decision) for decision in self._decisions]
            raise ValueError(f"decision must be {', '.join(known[:-1])} or {known[-1]}, got {self.decision!r}")

    def _read(self, X: Any, *, reset: bool, unknown: str = "error") -> Votes:
        """Encode votes in memory; later than at fit, check them against the fit."""
        votes = self._open(X, reset=reset, unknown=unknown)
        if isinstance(votes, VoteSource):
            raise TypeError(f"This needs votes in memory, an array or a frame, and not a {type(X).__name__}.")
        return votes

    def _open(
        self, X: Any, *, reset: bool, unknown: str = "error", sample_weight: ArrayLike | None = None
    ) -> Votes | VoteSource:
        """Encode votes, or find out what a stream of votes holds; later than at fit, check them against the fit.

        ``unknown`` is what a label is that the fit never saw: an "error", or "missing".
        """
        if reset:
            self._check_parameters()
            if "fitted_" in vars(self):
                del self.fitted_  # a fit that fails leaves nothing of an earlier one
            numbers = NumberRules.of(self.kind, self.lower_is_positive, self.positive_from)
            rules = LabelRules.of(self.classes, self.missing, self.positive, numbers=numbers)
            votes = self._encode(X, rules, sample_weight)
        else:
            rules = LabelRules.of(self.fitted_.classes, self.missing, unknown=policy(unknown))
            votes = self._encode_as_fitted(X, rules)
        if reset:
            self._check_classes(len(votes.classes))
        else:
            votes = self._in_order_of_fit(votes)
            self._check_columns(votes)
        return votes

    def _encode(self, X: Any, rules: LabelRules, sample_weight: ArrayLike | None) -> Votes | VoteSource:
        """Encode votes, or find out what a stream of votes holds."""
        stream = as_stream(X)
        if stream is not None:
            return stream.open_by(rules)
        votes = encode_by(X, rules, lambda n_items: as_counts(sample_weight, n_items))
        if votes.voters is not None and hasattr(type(X), "columns"):
            truths = [name for name in votes.voters.tolist() if plain_title(name) in SURELY_TRUTH]
            if truths and len(truths) < votes.n_voters:
                warn_user(f"Column {truths[0]!r} was read as a voter, though its name says that it is the truth.")
        return votes

    def _encode_as_fitted(self, X: Any, rules: LabelRules) -> Votes | VoteSource:
        """Encode votes as those of the fit were, or a stream of votes."""
        stream, fitted = as_stream(X), self.fitted_
        rules = replace(rules, numbers=NumberRules("labels" if fitted.bins is None else "scores"))
        if fitted.bins is not None:
            rules = with_words_of(fitted.bins, fitted.voters, rules)
        if stream is not None:
            return stream.open_by(rules, fitted.bins)
        if fitted.bins is None:
            return encode_by(X, rules)
        places = None if isinstance(X, Votes) else places_of(_column_names(X), fitted.voters)
        if places is None:
            return encode_by_bins(X, rules, fitted.classes, fitted.bins)
        return encode_by_bins(X, rules, fitted.classes, fitted.bins.subset(np.argsort(places)))

    def _in_order_of_fit(self, votes: Votes | VoteSource) -> Votes | VoteSource:
        """Return votes with their columns in the order of the fit, matched by name; streams as they are."""
        places = places_of(votes.voters, self.fitted_.voters) if isinstance(votes, Votes) else None
        if places is None:
            return votes
        assert isinstance(votes, Votes)
        bins = self.fitted_.bins
        return replace(votes.of_voters(places.tolist()), bins=None if votes.bins is None else bins)

    def _check_classes(self, n_classes: int) -> None:
        """Refuse more than two classes where the method is for two."""
        if self._two_classes_only and n_classes > 2:
            raise ValueError(f"{self._two_classes_only}, and the votes have {n_classes}.")

    def _check_columns(self, votes: Votes | VoteSource) -> None:
        """Compare names and number of the columns with those of the fit, in the words of scikit-learn."""
        name, known, given = type(self).__name__, self.fitted_.voters, votes.voters
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
            if not unseen and not lost:  # of a stream: columns in memory are matched by name
                message += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(message)
        if votes.n_voters != self.fitted_.n_voters:
            raise ValueError(
                f"X has {votes.n_voters} features, but {name} is expecting {self.fitted_.n_voters} features as "
                "input: one column for each voter of the fit."
            )

    def _read_for_fit(self, X: Any, sample_weight: ArrayLike | None, known: KnownLabels = NO_LABELS) -> FitVotes:
        """Encode, check, collapse and count; pick out the rows with a known label."""
        votes = self._open(X, reset=True, sample_weight=sample_weight)
        self._check_voters(votes.n_voters)
        if isinstance(votes, VoteSource):
            if sample_weight is not None:
                raise ValueError("sample_weight is not supported for streams.")
            counted = CountedVotes.of_source(votes, known.rows)
            self._check_classes(counted.votes.n_classes)  # a stream may show more than its first rows did
            known.check(counted.sketch.n_rows)
            return self._reduce(counted)
        weights = count_listed(votes, as_counts(sample_weight, votes.n_items), getattr(self, "at_least", None))
        known.check(votes.n_items)
        return self._reduce(CountedVotes.of_votes(votes, weights, known.rows))

    def _least_voters(self) -> int:
        """Return with how many voters this can be fitted at all."""
        return self._min_voters

    def _check_voters(self, n_voters: int) -> None:
        name, least = type(self).__name__, self._least_voters()
        if n_voters < least:
            raise ValueError(
                f"{name} needs {least} voters, got {n_voters} (n_features = {n_voters}): with fewer, "
                "accuracies cannot be told from agreement; use MajorityVote."
            )

    def _reduce(self, counted: CountedVotes) -> FitVotes:
        """Leave out what carries no information, and say if what is left can tell accuracies."""
        votes = reduce_votes(counted, type(self).__name__, self._least_voters(), self._merges_copies)
        n_voters = votes.sums.n_voters
        if n_voters < self._voters_to_judge:
            uses = "both classes" if votes.n_classes == 2 else "several classes"
            few = "one voter uses" if n_voters == 1 else f"{n_voters} different voters use"
            warn_user(
                f"Only {few} {uses}: with fewer than {self._voters_to_judge}, accuracies cannot be told from "
                "agreement and are a guess."
            )
        return votes

    def _store(self, fitted: Fitted) -> Any:
        """Keep what was learnt, and warn if EM was stopped."""
        self.fitted_ = fitted
        ended = fitted.convergence
        if ended is not None and not ended.converged:
            from sklearn.exceptions import ConvergenceWarning

            warn_user(
                f"EM stopped after {ended.n_iter} iterations while still gaining {ended.gap:.2g} in "
                f"log-likelihood per item (tol={self.tol:g}); raise max_iter.",  # type: ignore[attr-defined]
                ConvergenceWarning,
            )
        return self

    # -- answers --------------------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn from votes."""

    @property
    def _decides_by(self) -> str | None:
        """How labels are decided."""
        return self.decision

    def _evidence(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return what rows of codes say of each class: the log-likelihood."""
        return self.fitted_.log_likelihood(codes)

    def _deciding(self, codes: NDArray[np.int8], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what decides for rows of codes, a column for each class; only differences matter."""
        fitted, by = self.fitted_, self._decides_by
        if by == "map":
            return fitted.log_posterior(evidence, fitted.printed)
        if by == "mean" and fitted.cut is not None:
            return fitted.cut.log_odds(fitted, codes, evidence)
        return evidence

    def _printed(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Pr(class | votes), shape (n_rows, n_classes)."""
        return probabilities(self.fitted_.log_posterior(evidence, self.fitted_.printed))

    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        self._check_parameters()
        return self.fitted_.said_only(codes, self._deciding(codes, self._evidence(codes)))

    def _probability(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        return self._printed(self._evidence(codes))

    def _label(self, codes: NDArray[np.int8]) -> NDArray:
        """Return the labels of rows of codes."""
        return self.fitted_.classes[self.fitted_.decide(self._log_odds(codes))]

    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the code of the label and the probability of every class, shape (n_rows, 1 + n_classes)."""
        evidence = self._evidence(codes)
        deciding = self.fitted_.said_only(codes, self._deciding(codes, evidence))
        return np.column_stack([self.fitted_.decide(deciding), self._printed(evidence)])

    def _warn_of_risk(self) -> None:
        """Warn if labels of votes like those of the fit went badly wrong more often than others."""
        if self.fitted_.at_risk is not None:
            warn_user(self.fitted_.at_risk, LabelsAtRiskWarning)

    def _on_patterns(self, X: Any, of_codes: Callable[[NDArray[np.int8]], NDArray], unknown: str) -> NDArray:
        """Apply a function to the distinct rows only."""
        check_is_fitted(self)
        votes = self._open(X, reset=False, unknown=unknown)
        if isinstance(votes, VoteSource):
            return np.concatenate([answer for answer, _ in votes.rows(partial(of_distinct, of_codes))])
        return on_distinct_rows(votes.codes, votes.n_symbols, of_codes)

    def decision_function(self, X: Any, *, unknown: str = "error") -> NDArray[np.float64]:
        """Return the log-odds that decide.

        Of two classes one number an item, positive values mean the second class; of more a column for each class, the
        largest decides.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.
        """
        scores = self._on_patterns(X, self._log_odds, unknown)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any, *, unknown: str = "error") -> NDArray:
        """Return the label of every item, in the user's own classes.

        A tie (as for an item nobody voted on) goes to that of its classes with most votes at fit, voters without
        influence aside, and to the first if there are several.
        A label that the fit never saw is an error, or no vote if ``unknown`` is "missing".
        """
        check_is_fitted(self)
        self._warn_of_risk()
        return self._on_patterns(X, self._label, unknown)

    def predict_proba(
        self, X: Any, calibration: tuple | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Return Pr(class | votes) of every item, columns in the order of ``classes_``.

        The class balance enters here whatever the ``decision``, so unless that is "map" the most probable class need
        not be the predicted one.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        calibration : (temper, class_balance), optional
            A factor on the log-likelihood of the votes and the class balance to count with, as in
            ``goldless.diagnose(model, X).calibration``; by default ``calibration_`` where the model has it, and
            otherwise 1 and the class balance of the model.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.
        """
        if calibration is None:
            return self._on_patterns(X, self._probability, unknown)

        def calibrated(codes: NDArray[np.int8]) -> NDArray[np.float64]:
            return probabilities(self.fitted_.log_posterior(self._evidence(codes), Calibration(*calibration)))

        return self._on_patterns(X, calibrated, unknown)

    def predict_frame(self, X: Any, *, unknown: str = "error") -> Any:
        """Return label and probabilities of every item as a pandas frame with the index of X.

        Parameters
        ----------
        X : frame or array-like of shape (n_items, n_voters)
            Votes in the classes known from fit. The items of a long table are the index.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.

        Returns
        -------
        pandas.DataFrame
            With the columns ``label`` and, for each class, ``probability of`` it.

        Examples
        --------
        >>> import pandas as pd
        >>> import goldless as gl
        >>> votes = pd.DataFrame({"ann": list("yyn"), "bob": list("yny"), "eve": list("yyn")}, index=["a", "b", "c"])
        >>> gl.MajorityVote().fit(votes).predict_frame(votes)["label"].to_dict()
        {'a': 'y', 'b': 'y', 'c': 'n'}
        """
        import pandas as pd

        check_is_fitted(self)
        self._warn_of_risk()
        votes = self._read(X, reset=False, unknown=unknown)
        answers = on_distinct_rows(votes.codes, votes.n_symbols, self._answer)
        frame = pd.DataFrame({"label": self.fitted_.classes[answers[:, 0].astype(np.int64)]}, index=votes.items)
        for code, label in enumerate(self.fitted_.classes.tolist()):
            frame[f"probability of {label}"] = answers[:, 1 + code]
        return frame

    def predict_to(self, X: Any, path: Any, anchors: Any = None, *, unknown: str = "error") -> dict[Any, int]:
        """Write the label of every item and its probability to a file, batch by batch and in the input's order.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes; best a path, blocks or a Dask collection (:class:`~goldless.VoteStream`).
        path : path
            File that ends in ``.parquet``, ``.csv`` or ``.tsv``, written whole or not at all. Its columns are the
            name of the item (the identifier column of a file, the index of a pandas frame, or the number of the row,
            from 1), the label, and the probability of the positive class, or of each of more than two classes.
        anchors : mapping of int to label, or array-like of shape (n_items,), optional
            Known labels of a few items, as in the fit: these items keep them.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.

        Returns
        -------
        dict
            How many items got each label.
        """
        return self.write_labels(X, path, anchors, unknown=unknown).by_label

    def write_labels(self, X: Any, path: Any, anchors: Any = None, *, unknown: str = "error") -> Written:
        """Write labels as :meth:`predict_to` does; return how many there are of each, and how they agree with truth.

        The truth is that of a :class:`~goldless.VoteStream` of files with a column ``truth``; it only scores.
        """
        check_is_fitted(self)
        self._warn_of_risk()
        known = KnownLabels.read(anchors, self.missing)
        votes = self._open(X, reset=False, unknown=unknown)
        return write_labels(self._answer, votes, self.fitted_.classes, path, known)

    def explain(self, X: Any, *, unknown: str = "error") -> Explanation:
        """Return why items get their labels: log-odds by group of voters, and what one more vote would tell.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit. A source is gone through once.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.

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
        if not self._is_model:
            raise TypeError(f"{type(self).__name__} counts votes, and has no model to explain them by")
        votes, fitted = self._open(X, reset=False, unknown=unknown), self.fitted_
        sparse = votes.lists if isinstance(votes, VoteSource) else isinstance(votes.codes, SparseCodes)
        if sparse and votes.n_voters > MOST_COMPARED:
            raise ValueError(
                f"explain says what each of up to {MOST_COMPARED} voters adds, and there are {votes.n_voters:,}: "
                "explain the model and the votes of some of them (subset)."
            )
        if isinstance(votes, VoteSource):
            return replace(explain_source(fitted, votes), voters=fitted.voters)
        return replace(explain_codes(fitted, votes.codes), items=votes.items, voters=fitted.voters)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray:
        """Fit, then label the same items."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the balanced accuracy of the labels against known ones."""
        return balanced_accuracy(y, self._on_patterns(X, self._label, "error"))

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a JSON file; see :func:`goldless.load`."""
        check_is_fitted(self)
        save_estimator(self, path)

    # -- what scikit-learn asks for -------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of BaseEstimator, behind the public estimators
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = self._needs_truth
        return tags

    def _repr_html_(self) -> str:
        """Return a small table for notebooks; what scikit-learn shows if not fitted."""
        return Shown._repr_html_(self) if "fitted_" in vars(self) else super()._repr_html_()  # type: ignore

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if "fitted_" not in vars(self):
            return super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def check_is_fitted(model: Any) -> None:
    """Refuse a model that is not fitted, in the words of scikit-learn."""
    if "fitted_" not in vars(model):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)


def check_is_model(model: Any, what: str) -> None:
    """Refuse what is no model of the voters, such as a majority vote."""
    if not (isinstance(model, VoteEstimator) and model._is_model):
        raise TypeError(f"{what} needs a model of the voters such as LatentSML, not {type(model).__name__}")


def votes_of_model(model: Any, X: Any, what: str) -> Votes:
    """Check that something is a fitted model of the voters, and encode its votes as the fit did."""
    check_is_fitted(model)
    check_is_model(model, what)
    votes = encode_votes(X, classes=model.classes_, missing=model.missing)
    if votes.n_voters != model.n_features_in_:
        raise ValueError(f"the model has {model.n_features_in_} voters, the votes have {votes.n_voters}")
    return votes


def _bullets(names: list[str]) -> str:
    return "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")


def items_of(X: Any) -> NDArray | None:
    """Return the names of the items of votes in memory: the index of a pandas frame, or those that were read."""
    if hasattr(X, "iloc"):
        return np.asarray(X.index, dtype=object)
    votes = getattr(X, "votes", X)
    return getattr(votes, "items", None) if isinstance(votes, Votes) else None


def places_of(given: Any, known: NDArray | None) -> NDArray[np.int64] | None:
    """Return where each known voter is among the given ones; None if they are others, or in the same order."""
    if known is None or given is None or len(given) != len(known) or list(given) == list(known):
        return None
    place = {name: number for number, name in enumerate(given)}
    return np.array([place[name] for name in known]) if set(place) == set(known) else None


def _column_names(X: Any) -> list | None:
    """Return the names of the columns of a frame."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)
