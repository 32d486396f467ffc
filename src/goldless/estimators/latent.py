"""The latent spectral meta-learner (L-SML): groups, accuracies and labels from dependent voters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import AmbiguousReadingWarning, warn_user
from goldless.estimators.incremental import InParts
from goldless.estimators.tree_answers import TreeAnswers
from goldless.fitting.abstention import whole_with_abstention
from goldless.fitting.alternatives import NOTABLE_CHANGE, describe_reading, nearby_readings
from goldless.fitting.calibration import Calibration, calibrated_to
from goldless.fitting.core import FitVotes
from goldless.fitting.facts import Facts, KnownLabels
from goldless.fitting.fit import (
    fit_subtypes,
    free_balance,
    unit_vote_counts,
    with_abstention,
    with_silent_abstention,
)
from goldless.fitting.known_labels import WithLabels
from goldless.fitting.moments import ImbalanceRule, two_stage_estimate
from goldless.fitting.settling import (
    Settled,
    describe_settled,
    known_rates,
    settle,
    with_label_voter,
)
from goldless.maths.checks import as_groups, relabel
from goldless.maths.clustering import assign_groups
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.em import EMResult, RatePrior, run_em
from goldless.maths.em_large import finish_em
from goldless.maths.rank_one import filled_covariance, residual
from goldless.maths.score import score_matrix
from goldless.maths.structure.result import UNDECIDED_MARGIN, Structure
from goldless.maths.structure.search import covariance_misfit, search_structure
from goldless.maths.subtypes import SubtypeModel
from goldless.maths.tree import LatentModel
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.whole import WholeVotes

_FEWEST_VOTERS = 4


class LatentSML(InParts, TreeAnswers):
    """Combine voters that may echo each other: find groups, estimate accuracies, label items.

    Parameters
    ----------
    structure : {"search", "paper", "independent"} or array-like of shape (n_voters,), default="search"
        How voters are grouped. "search": weighted search over groupings with a price for every voter in a group
        (:func:`goldless.maths.structure.search.search_structure`). "paper": Algorithm 2, spectral clustering of the
        score matrix and smallest residual. "independent": every voter alone. An array: known groups.
    n_groups : int or iterable of int, optional
        Number of groups, or the candidates, for ``structure="paper"``; by default every number is tried.
    start : {"votes", "two-stage"}, optional
        Where EM starts: one soft vote for every group and single voter, or the two-stage moment estimate of
        Algorithm 3. By default "two-stage" for ``structure="paper"`` and "votes" otherwise.
    em : bool, default=True
        Whether exact EM on the latent model follows; without it the two-stage estimate is used as it is.
    subtypes : bool, optional
        Whether items may have subtypes, such as easy and hard ones, where the votes support them. By default only
        with ``structure="search"``.
    latent_values : {"soft", "hard"}, default="soft"
        Whether the first stage of the two-stage estimate hands on the expected value of each group's latent or
        its more likely value.
    imbalance : {"restricted", "tensor", "restricted-as-published"} or float, default="restricted"
        How the class imbalance b is found in the two-stage estimate. "restricted-as-published" repeats a formula
        of a public copy of the authors' code (``v / (1 - b^2)`` for ``v / sqrt(1 - b^2)``), which shrinks b
        towards zero; it is there to reproduce the published figures.
    prior : tuple of float (right, wrong), default=(1.0, 0.5)
        Pseudo-votes added to every rate in EM: they stop degenerate solutions.
    balance_prior : "auto" or float, default="auto"
        How many pseudo-items hold the class balance near one half. "auto" is 100 times the over-dispersion, and at
        most the number of items (:func:`goldless.fitting.fit.balance_prior_items`); it gives way where the
        votes clearly say otherwise (:func:`goldless.fitting.fit.free_balance`).
    abstain : {"ignore", "informative"}, default="ignore"
        What a missing vote means: nothing, or something. "informative" gives every voter a second, silent vote on
        whether it votes at all. It helps where voters stay silent on purpose, as rules that fire on one class do; it
        harms where silence says who was asked, which EM can take for the classes.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood (best balanced accuracy), "map" the more probable class (best accuracy).
    max_iter, tol : int, float
        When EM stops: after ``max_iter`` iterations, or a gain of at most ``tol`` per item.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive.

    Attributes
    ----------
    groups_ : ndarray of shape (n_voters,)
        Group of each voter, numbered in order of first appearance; exact copies share a group.
    n_groups_ : int
        Number of groups.
    verdict_ : str
        In a sentence: which reading was used, what the nearest other reading is and how much it would change.
    rootings_ : tuple of Rooting
        Other readings of the votes, nearest first: their groups, by how much they fit worse (``margin``, in units
        of one voter's price), and the share of labels that would change.
    ambiguous_ : bool
        Whether a reading that changes labels is so near that the votes cannot decide.
    overdispersion_ : float
        Misfit of the covariance model: 1 when it holds.
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Estimated accuracies towards Y: those of ``latent_model_`` or, with item subtypes, the expected agreement of
        each voter with the averaged posterior.
    group_sensitivity_, group_specificity_ : ndarray of shape (n_groups,)
        Pr(alpha | Y) of each group's latent; 1 for a voter that is alone, whose latent is Y.
    sensitivity_given_group_, specificity_given_group_ : ndarray of shape (n_voters,)
        Accuracies towards the group's latent.
    class_balance_, imbalance_ : float
        Pr(Y positive) and b.
    calibration_ : tuple of float (temper, class_balance)
        What ``predict_proba`` counts with: where the prior on the class balance holds it back, its pull is taken out
        of the probabilities (:func:`goldless.fitting.calibration.calibrated_to`). Labels do not depend on it.
    covariance_ : ndarray of shape (n_voters, n_voters)
        Sample covariance of the votes coded -1, +1.
    score_matrix_ : ndarray of shape (n_voters, n_voters)
        Score of every pair (eq. score). Exact copies of each other have the largest score.
    v_on_, v_off_ : ndarray of shape (n_voters,)
        Loadings within and across groups (Lemma 1).
    residual_ : float
        Residual of the grouping (eq. res).
    residual_path_ : dict of int to float
        Residual for each number of groups tried; empty unless ``structure="paper"``.
    latent_model_ : LatentModel
        The fitted model of all voters, with two classes.
    subtype_models_ : tuple of SubtypeModel
        Richer hubs that the votes support; labels come from the average of these and ``latent_model_``.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended; only if ``em``.
    how_counted_ : str
        In a sentence: how many items and patterns there were, and how passes over them went.

    Notes
    -----
    Exact copies (same votes on at least 20 items) are fitted as one voter, so adding a clone changes nothing.
    A single group of all voters is the same model as no groups (its latent is Y) and is reported so. With fewer
    items than twice the voters, or fewer than four voters, no structure is searched: every voter is alone. With
    fewer than three different voters who is right cannot be told: the weak prior says that each beats a coin.

    Second moments determine a tree of hidden sources and not which of them is Y: that the group hangs on a latent
    and the rest on Y, or the other way round, is one and the same distribution of votes. The search takes the
    reading with fewest voters in groups; see ``rootings_`` and ``ambiguous_``.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(10_000, groups=[5] + [1] * 10, random_state=3)
    >>> model = gl.LatentSML().fit(X)
    >>> model.groups_
    array([ 0,  0,  0,  0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10])
    >>> print(model.verdict_)
    5 of 15 voters echo others, in 1 group; a reading with 9 voters in groups explains the votes as well and would
    change 37 % of the labels: the one with fewer was taken because it is simpler, which only labels can confirm.
    """

    _min_voters = 1
    _voters_to_judge = 3
    _merges_copies = True

    def __init__(
        self,
        *,
        structure: str | ArrayLike = "search",
        n_groups: int | Any = None,
        start: str | None = None,
        em: bool = True,
        subtypes: bool | None = None,
        latent_values: str = "soft",
        imbalance: str | float = "restricted",
        prior: tuple[float, float] = (1.0, 0.5),
        balance_prior: str | float = "auto",
        abstain: str = "ignore",
        decision: str = "ml",
        max_iter: int = 500,
        tol: float = 1e-7,
        missing: Any = None,
        positive: Any = None,
    ):
        self.structure = structure
        self.n_groups = n_groups
        self.start = start
        self.em = em
        self.subtypes = subtypes
        self.latent_values = latent_values
        self.imbalance = imbalance
        self.prior = prior
        self.balance_prior = balance_prior
        self.abstain = abstain
        self.decision = decision
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.positive = positive

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ImbalanceRule(self.imbalance)
        if self.latent_values not in ("soft", "hard"):
            raise ValueError(f"latent_values must be 'soft' or 'hard', got {self.latent_values!r}")
        if self.abstain not in ("ignore", "informative"):
            raise ValueError(f"abstain must be 'ignore' or 'informative', got {self.abstain!r}")
        if self.start not in (None, "votes", "two-stage"):
            raise ValueError(f"start must be 'votes' or 'two-stage', got {self.start!r}")
        if isinstance(self.structure, str) and self.structure not in ("search", "paper", "independent"):
            raise ValueError(
                "structure must be 'search', 'paper', 'independent' or one group for each voter, got "
                f"{self.structure!r}"
            )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        anchors: Any = None,
        class_balance: float | None = None,
        trusted: Any = None,
    ) -> LatentSML:
        """Find groups and estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes; NaN and None are missing. A path, blocks or a Dask collection are read block by block
            (:class:`~goldless.VoteStream`).
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        anchors : mapping of int to label, or array-like of shape (n_items,), optional
            Known labels of a few items: ``{row: label}``, or a label or gap (None, NaN, ``missing``) for each row.
            They decide between the readings of the votes (:func:`goldless.fitting.settling.settle`) and enter
            the likelihood.
        class_balance : float, optional
            Known share of positive items.
        trusted : list of voters, or mapping of voter to (sensitivity, specificity), optional
            Voters, by name or column number, that are known to look at the truth itself and not to echo others;
            with a mapping, their rates are known too.
        """
        known = KnownLabels.read(anchors, self.missing)
        votes = self._read_for_fit(X, sample_weight, known)
        facts = Facts.read(votes.votes, known, class_balance, trusted)
        if facts.any and not self.em:
            raise ValueError("anchors, class_balance and trusted enter through EM; leave em=True.")
        estimate = votes.counts.covariance()
        groups, structure = self._find_groups(votes, estimate)
        prior = self._rate_prior(votes.n_items, self.overdispersion_)
        model, prior, calibration = self._fit_model(votes, estimate, groups, prior)
        groupings = () if structure is None else tuple(reading.groups for reading in structure.readings)
        settled = settle(votes, facts, model, groupings, prior) if facts.any else None
        if settled is not None:
            model = settled.candidates[settled.best]
        self._compare_readings(votes, model, structure, settled, prior)
        table, whole, model = self._hear_abstention(votes, model)
        if facts.any:
            model, calibration = self._improve_with_facts(votes, facts, model, prior, table, whole)
        elif len(self._abstainers_):
            model = self._finish(self._improve(model, table, prior, whole), table, prior, whole)
        self.latent_model_ = votes.embed(model.subset(np.arange(votes.table.n_voters)))
        self._evidence_model_, self._columns_ = model, votes.voters
        self._reading_groups_, self._balance_items_ = groupings, prior.balance
        self._settled_ = () if settled is None else (settled.candidates, settled.weights)
        self.anchored_rows_ = facts.rows
        self._known_ = (facts.labels, facts.class_balance, facts.sensitivity, facts.specificity)
        self.subtype_models_ = self._find_subtypes(table, whole, model, prior, facts)
        if calibration is None or self.subtype_models_ or len(self._abstainers_):
            calibration = Calibration(1.0, self.latent_model_.class_balance)
        self.calibration_ = tuple(calibration)
        self._keep_sample(votes)
        self.covariance_ = votes.all_counts.covariance().covariance
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, anchors: Any = None, **facts: Any
    ) -> NDArray:
        """Fit, then label the same items; items with a known label keep it."""
        labels = self.fit(X, y, sample_weight=sample_weight, anchors=anchors, **facts).predict(X)
        known = KnownLabels.read(anchors, self.missing)
        labels[known.rows] = self.classes_[known.codes(self.classes_)]
        return labels

    def _hear_abstention(
        self, votes: FitVotes, model: LatentModel
    ) -> tuple[PatternTable, WholeVotes | None, LatentModel]:
        """Add what abstention says to the votes and to the model, if it is to be heard."""
        heard = self.abstain == "informative" and self.em
        abstains = votes.counts.votes_cast < votes.n_items
        self._abstainers_ = np.flatnonzero(abstains) if heard else np.array([], dtype=np.int64)
        if not len(self._abstainers_):
            return votes.table, votes.whole, model
        codes = with_abstention(votes.table.codes, self._abstainers_)
        return (
            PatternTable.of(codes, votes.table.counts),
            whole_with_abstention(votes.whole, self._abstainers_),
            with_silent_abstention(model, self._abstainers_),
        )

    def _find_subtypes(
        self, table: PatternTable, whole: WholeVotes | None, model: LatentModel, prior: RatePrior, facts: Facts
    ) -> tuple[SubtypeModel, ...]:
        """Return the hubs with item subtypes that the votes support, if they are wanted."""
        wanted = self._structure_is("search") if self.subtypes is None else self.subtypes
        if not (wanted and self.em):
            return ()
        of_votes = self.log_likelihood_
        if facts.any:  # the stored one is that of votes and known labels
            of_votes = GroupedPatterns(table, model.groups).log_likelihood(model)
        return fit_subtypes(table, model, of_votes, prior, whole)

    def _improve_with_facts(
        self,
        votes: FitVotes,
        facts: Facts,
        model: LatentModel,
        prior: RatePrior,
        table: PatternTable,
        whole: WholeVotes | None,
    ) -> tuple[LatentModel, Calibration | None]:
        """Run EM on the votes and one more voter, certain and alone, that speaks the known labels."""
        spoken = votes.known.spoken(votes.voters)
        rows = votes.known.rows(spoken)
        codes = with_abstention(rows.codes[:, votes.voters], self._abstainers_)
        known = known_rates(votes, facts, prior, model.n_voters + 1)
        start = known.impose(with_label_voter(model))
        on_table = GroupedPatterns(table, model.groups).expect
        of_all = WithLabels.of(
            on_table if whole is None else whole.expect, codes, facts.labels[spoken], rows.counts, start.groups
        )
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        solve: Callable[..., EMResult] = partial(run_em, expect=of_all, **limits)
        if whole is not None:  # the sample knows no labels: what they change is part of what it lacks
            solve = partial(finish_em, on_sample=WithLabels(on_table), on_all=of_all, **limits)
        result = solve(start, prior=known)
        self._store_em(result)
        voters = np.arange(model.n_voters)
        model, again = result.model.subset(voters), partial(solve, result.model)
        if not isinstance(self.balance_prior, str) or len(self._abstainers_):
            return model, None
        free = free_balance(again, votes.n_items, result.log_likelihood, known, self.overdispersion_)
        return model, None if free is None else calibrated_to(table, model, free.result.model.subset(voters))

    def _least_voters(self) -> int:
        """Return with how many voters this can be fitted: the equations of the two-stage estimate need three."""
        by_moments = not self.em or self.start == "two-stage" or self._structure_is("paper")
        return 3 if by_moments else self._min_voters

    def _structure_is(self, name: str) -> bool:
        return isinstance(self.structure, str) and self.structure == name

    def _fit_model(
        self, votes: FitVotes, estimate: CovarianceEstimate, groups: NDArray[np.int64], prior: RatePrior
    ) -> tuple[LatentModel, RatePrior, Calibration | None]:
        """Estimate the parameters for given groups; the prior on the class balance may have given way."""
        start = self.start or ("two-stage" if self._structure_is("paper") else "votes")
        table, whole = votes.table, votes.whole
        if start == "two-stage" or not self.em:
            rule, hard = ImbalanceRule(self.imbalance), self.latent_values == "hard"
            # where EM follows, moments of a sample are a good start
            model = two_stage_estimate(table, estimate, groups, rule, hard, None if self.em else whole)
        else:
            model = prior.maximise(unit_vote_counts(table, groups), groups)
        if not self.em:
            return model, prior, None
        model = self._improve(model, table, prior, whole)
        model, prior, calibration = self._release_balance(model, table, prior, self.overdispersion_, whole)
        return self._finish(model, table, prior, whole), prior, calibration

    def _find_groups(
        self, votes: FitVotes, estimate: CovarianceEstimate
    ) -> tuple[NDArray[np.int64], Structure | None]:
        """Group the fitted voters, and keep what the search saw of them."""
        covariance = filled_covariance(estimate)
        n_fitted = len(covariance)
        groups, structure, path = np.arange(n_fitted), None, {}
        score = np.asarray(score_matrix(covariance))
        if not isinstance(self.structure, str):
            groups = relabel(as_groups(self.structure, len(votes.core_voter))[votes.voters])
        elif self.structure == "paper":
            found = assign_groups(covariance, n_groups=self.n_groups, score=score)
            groups, path = found.groups, found.residual_path
        elif self.structure == "search" and n_fitted >= _FEWEST_VOTERS and votes.n_items >= 2 * n_fitted:
            structure = search_structure(estimate, votes.n_items)
            groups = structure.groups
        if groups.max() == 0:  # one group of all: its latent is Y
            groups = np.arange(n_fitted)
        fit = residual(covariance, groups)
        self.residual_, self.residual_path_ = fit.value, path
        self.v_on_, self.v_off_ = votes.spread(fit.v_on), votes.spread(fit.v_off)
        self.score_matrix_ = votes.spread_matrix(score)
        if structure is None:
            self.overdispersion_ = covariance_misfit(estimate, None if isinstance(self.structure, str) else groups)
        else:
            self.overdispersion_ = structure.overdispersion
        return groups, structure

    def _compare_readings(
        self,
        votes: FitVotes,
        model: LatentModel,
        structure: Structure | None,
        settled: Settled | None,
        prior: RatePrior,
    ) -> None:
        """Fit the nearest other readings, say what they would change, and warn if votes and facts cannot decide."""
        readings = () if structure is None else nearby_readings(votes.table, model, structure, prior)
        if settled is None:
            nearest = next((reading for reading in readings if reading.labels_changed > NOTABLE_CHANGE), None)
            self.ambiguous_ = nearest is not None and nearest.margin < UNDECIDED_MARGIN
            self.verdict_ = describe_reading(votes, model.groups, nearest, self.ambiguous_, structure)
        else:
            self.ambiguous_ = settled.is_open(votes.table)
            self.verdict_ = describe_settled(settled, len(votes.core_voter))
        if self.ambiguous_:
            warn_user(self.verdict_, AmbiguousReadingWarning)
        self.rootings_ = tuple(reading._replace(groups=votes.spread_groups(reading.groups)) for reading in readings)
