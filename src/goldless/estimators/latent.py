"""The latent spectral meta-learner (L-SML): groups, accuracies and labels from dependent voters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import renamed, warn_user
from goldless.estimators import incremental
from goldless.estimators.base import VoteEstimator, check_is_fitted, items_of
from goldless.estimators.sampled import in_memory
from goldless.fitting.ask import Questions, questions_of
from goldless.fitting.core import as_counts
from goldless.fitting.facts import Facts, KnownLabels
from goldless.fitting.fit import fit_tree
from goldless.fitting.fitted import Alternative, Grouping
from goldless.fitting.given_groups import FitOptions
from goldless.fitting.moments import ImbalanceRule
from goldless.fitting.panels import Panels, choose_panel, worthwhile_panels
from goldless.fitting.paper import PaperOptions
from goldless.maths.score import score_matrix
from goldless.maths.tree import TreeModel

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class LatentSML(VoteEstimator):
    """Combine voters that may echo each other: find groups, estimate accuracies, label items.

    Parameters
    ----------
    structure : {"search", "paper", "independent"} or array-like of shape (n_voters,), default="search"
        How voters are grouped. "search": weighted search over groupings with a price for every voter in a group
        (:func:`goldless.maths.structure.search.search_structure`). "paper": Algorithm 2, spectral clustering of the
        score matrix and smallest residual. "independent": every voter alone. An array: known groups;
        two of them that hold exact copies of one voter are one group.
    paper : PaperOptions, optional
        Steps of the paper that a fit need not take (:class:`~goldless.PaperOptions`).
    subtypes : bool, optional
        Whether items may have subtypes, such as easy and hard ones, where the votes support them. By default only
        with ``structure="search"``.
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
    decision : {"mean", "ml", "map"}, optional
        How items are labelled. "ml" takes the larger likelihood (best balanced accuracy if the model holds), "map"
        the more probable class (best accuracy). "mean", for two classes, cuts the likelihood ratio where as many
        items are positive as tempered probabilities say, because on real votes its zero is less to be believed than
        the order of the items (:mod:`goldless.fitting.cut`). By default "mean" with ``structure="search"`` and "ml"
        otherwise. Probabilities do not depend on it.
    max_iter, tol : int, float
        When EM stops: after ``max_iter`` iterations, or a gain of at most ``tol`` per item.
    at_least : int, optional
        How many voters must call an item positive for it to be among the votes: 1 in the merged output of variant
        callers, 2 in a consensus of two. By default as the votes say: files of variant calls do, arrays do not; 0
        never. Items with fewer calls are then counted inside EM (truncated likelihood), so that rates and class
        balance are those of all candidate items, seen or not; ``unseen_`` says how many there are. Two classes and
        four voters are needed. Without it such votes give far too low specificities and too many positive items.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive, also of words that stand beside numbers.
    classes : array-like of label, optional
        Labels there may be, in order; by default those that occur, sorted. Of numbers the names of the two classes,
        (negative, positive), by default 0 and 1; with ``kind="ordinal"`` words are grades in this order.
    kind : {"auto", "labels", "ordinal", "probabilities", "scores"} or mapping of voter to these, default="auto"
        What votes are: names of classes, or grades, probabilities or scores of a positive class (see "Votes that are
        numbers" in the documentation). "auto" looks at them.
    lower_is_positive : bool or list of voters, optional
        Voters, by name or column number, that mean positive by low numbers; True for all.
    positive_from : float, optional
        The smallest number that means positive: the user's own cut.
    n_groups, start, em, latent_values, imbalance
        Old names of what is in ``paper``, for one version.

    Attributes
    ----------
    groups_ : ndarray of shape (n_voters,)
        Group of each voter, numbered in order of first appearance; exact copies share a group.
    n_groups_ : int
        Number of groups.
    verdict_ : str
        In a sentence: which grouping was used, what the nearest other one is and how much it would change.
    alternatives_ : tuple of Alternative
        Other groupings that explain the votes, nearest first: their groups, by how much they fit worse (``margin``,
        in units of one voter's price), and the share of labels that would change.
    ambiguous_ : bool
        Whether a grouping that changes labels is so near that the votes cannot decide.
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
        What ``predict_proba`` counts with. The truth is taken for one more voter of the panel: nothing in the votes
        says how far it is from what they have in common, and the posterior of the model, the mean of which is kept
        for every class, is far too sure on real votes (:func:`goldless.fitting.calibration.one_more_voter`). Known
        labels move it. Labels do not depend on it, unless ``decision="map"``.
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
    fewer than three different voters who is right cannot be told: a weak prior says that each beats chance.

    Second moments determine a tree of hidden sources and not which of them is Y: that the group hangs on a latent
    and the rest on Y, or the other way round, is one and the same distribution of votes. The search takes the
    grouping with fewest voters in groups; see ``alternatives_`` and ``ambiguous_``.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(10_000, groups=[5] + [1] * 10, random_state=3)
    >>> model = gl.LatentSML().fit(X)
    >>> model.groups_
    array([ 0,  0,  0,  0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10])
    >>> print(model.verdict_)
    5 of 15 voters are counted in 1 group. Another grouping (9 voters in groups) fits equally well and would change 37
    % of the labels. The simpler one was used; a few labelled items would decide.
    """

    structure: str | ArrayLike = "search"
    paper: PaperOptions | None = None
    subtypes: bool | None = None
    prior: tuple[float, float] = (1.0, 0.5)
    balance_prior: str | float = "auto"
    abstain: str = "ignore"
    decision: str | None = None
    max_iter: int = 500
    tol: float = 1e-7
    at_least: int | None = None
    n_groups: Any = None
    start: str | None = None
    em: bool = True
    latent_values: str = "soft"
    imbalance: str | float = "restricted"

    _min_voters = 1
    _voters_to_judge = 3
    _merges_copies = True
    _decisions = (None, "mean", "ml", "map")

    partial_fit = incremental.partial_fit
    merge = incremental.merge

    @property
    def _paper(self) -> PaperOptions:
        """What is asked for of the paper, by its options or by their old names."""
        return replace(PaperOptions() if self.paper is None else self.paper, **self._moved())

    def _moved(self) -> dict[str, Any]:
        """Return what was given by the old names of the options of the paper."""
        given = {field.name: (getattr(self, field.name), field.default) for field in fields(PaperOptions)}
        return {
            name: value
            for name, (value, default) in given.items()
            if value is not default and (default is None or value != default)
        }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.paper is not None and not isinstance(self.paper, PaperOptions):
            raise TypeError(f"paper must be PaperOptions(...), got {self.paper!r}")
        for name in self._moved():
            warn_user(f"{name} moves: write paper=PaperOptions({name}=...).", FutureWarning)
        paper = self._paper
        ImbalanceRule(paper.imbalance)
        if paper.latent_values not in ("soft", "hard"):
            raise ValueError(f"latent_values must be 'soft' or 'hard', got {paper.latent_values!r}")
        if self.abstain not in ("ignore", "informative"):
            raise ValueError(f"abstain must be 'ignore' or 'informative', got {self.abstain!r}")
        if paper.start not in (None, "votes", "two-stage"):
            raise ValueError(f"start must be 'votes' or 'two-stage', got {paper.start!r}")
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
        unseen: float | None = None,
    ) -> Self:
        """Find groups and estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes; NaN and None are missing. A path, blocks or a Dask collection are read block by block
            (:class:`~goldless.VoteStream`).
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        anchors : mapping, pandas Series or array-like of shape (n_items,), optional
            Known labels of a few items: ``{row: label}``; if X has an index, a Series or a mapping by its labels
            (whole numbers as keys of a mapping are always rows); or a label or gap (None, NaN, ``missing``) for each
            row.
            They decide between groupings that explain the votes (:func:`goldless.fitting.settling.settle`) and
            enter the likelihood.
        class_balance : float, optional
            Known share of positive items.
        trusted : list of voters, or mapping of voter to (sensitivity, specificity), optional
            Voters, by name or column number, that are known to look at the truth itself and not to echo others;
            with a mapping, their rates are known too.
        unseen : float, optional
            With ``at_least``: how many candidate items too few voters called, if that is known. By default it is
            estimated, which is better than a guess. The length of a genome is no such number, and is refused.
        """
        known = KnownLabels.read(anchors, self.missing, items_of(X))
        votes = self._read_for_fit(X, sample_weight, known)
        facts = Facts.read(votes.votes, known, class_balance, trusted)
        if facts.any and not self._paper.em:
            raise ValueError("anchors, class_balance and trusted enter through EM; leave em=True.")
        if votes.n_classes > 2:
            self._refuse_two_class_options(f"for two classes, and the votes have {votes.n_classes}")
        if votes.ranked is not None:
            self._refuse_two_class_options("for labels, and the votes are numbers")
            if self.abstain == "informative":
                raise ValueError("abstain='informative' is for labels, and the votes are numbers.")
            if not np.isnan(facts.confusion).all():
                raise ValueError("known rates of trusted voters are for labels: of numbers, name the voters only.")
        if unseen is not None and self.at_least is None:
            raise ValueError("unseen goes with at_least, which says which items are unseen.")
        return self._store(fit_tree(votes, replace(self._options(), n_unseen=unseen), facts))

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, anchors: Any = None, **facts: Any
    ) -> NDArray:
        """Fit, then label the same items; items with a known label keep it."""
        labels = self.fit(X, y, sample_weight=sample_weight, anchors=anchors, **facts).predict(X)
        known = KnownLabels.read(anchors, self.missing, items_of(X))
        labels[known.rows] = self.classes_[known.codes(self.classes_)]
        return labels

    def _options(self) -> FitOptions:
        """Return how the tree is fitted."""
        paper = self._paper
        return FitOptions(
            prior=self.prior,
            balance_prior=self.balance_prior,
            max_iter=self.max_iter,
            tol=self.tol,
            structure=self.structure,
            n_groups=paper.n_groups,
            start=paper.start or ("two-stage" if self._structure_is("paper") else "votes"),
            em=paper.em,
            levels=self._structure_is("search") if self.subtypes is None else self.subtypes,
            latent_values=paper.latent_values,
            imbalance=paper.imbalance,
            abstain=self.abstain,
            at_least=self.at_least,
        )

    def _refuse_two_class_options(self, why: str) -> None:
        """Say which options are for labels of two classes only."""
        for name, used in {
            "structure='paper'": self._structure_is("paper"),
            "start='two-stage'": self._paper.start == "two-stage",
            "em=False": not self._paper.em,
            "decision='mean'": self.decision == "mean",
        }.items():
            if used:
                raise ValueError(f"{name} is {why}.")

    @property
    def _decides_by(self) -> str | None:
        if self.decision is not None:
            return self.decision
        return "mean" if self._structure_is("search") else "ml"

    def _least_voters(self) -> int:
        """Return with how many voters this can be fitted: the equations of the two-stage estimate need three."""
        by_moments = not self._paper.em or self._paper.start == "two-stage" or self._structure_is("paper")
        return 3 if by_moments else self._min_voters

    def _structure_is(self, name: str) -> bool:
        return isinstance(self.structure, str) and self.structure == name

    # -- panels, questions and parts ------------------------------------------------------------------------

    def select(
        self,
        k: int | None = None,
        *,
        cost: Mapping | ArrayLike | None = None,
        budget: float | None = None,
        include: Iterable = (),
        exclude: Iterable = (),
        families: Any = None,
    ) -> NDArray:
        """Return the voters of a panel that is accurate and does not echo itself, in the order they were chosen.

        Each next voter is the one that adds most to what the panel is expected to get right, its votes counted and
        its votes weighted (:class:`goldless.maths.panels.PanelChooser`). Of exact copies one is enough: the
        others come last.

        Parameters
        ----------
        k : int, optional
            Number of voters, or with a budget the most there may be.
        cost : mapping of voter to cost, or array-like of shape (n_voters,), optional
            Cost of each voter, for a budget.
        budget : float, optional
            What the panel may cost: the most accurate panel found within it is returned.
        include, exclude : iterable of voters, optional
            Voters that must and must not be in the panel: names, or column numbers.
        families : "prefix", mapping of voter to family, or one family for each voter, optional
            Of voters that are expected to add nearly the same to a panel of k, one of a family that is not in it yet
            is taken. By default families are what names share (:func:`goldless.families.families_of`).

        Returns
        -------
        ndarray of shape (n_chosen,)
            Column names if the estimator was fitted on a frame, otherwise column numbers: ready to index X.
        """
        check_is_fitted(self)
        return choose_panel(self.fitted_, k, cost, budget, include, exclude, families)

    def panels(
        self, *, cost: Mapping | ArrayLike | None = None, include: Iterable = (), exclude: Iterable = ()
    ) -> Panels:
        """Return the panels worth their cost, cheapest first: every dearer one is expected to get more right.

        Parameters
        ----------
        cost : mapping of voter to cost, or array-like of shape (n_voters,), optional
            Cost of each voter; by default all cost 1.
        include, exclude : iterable of voters, optional
            Voters that must and must not be in the panels: names, or column numbers.

        Returns
        -------
        tuple of Panel
            With ``to_frame()`` to see them as a frame. Each has ``voters``, ``cost``, ``balanced_accuracy``,
            ``vote_accuracy`` and ``effective_votes``. Without labels these are estimates: use them to compare panels.
        """
        check_is_fitted(self)
        return worthwhile_panels(self.fitted_, cost, include, exclude)

    def next_to_label(self, X: Any, n: int = 20, sample_weight: ArrayLike | None = None) -> Questions:
        """Choose items whose labels would best separate the groupings that the votes leave open.

        Label them, then fit again with these labels as ``anchors``: a few at a time is better than all at once.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            The votes of the fit. Rows that had an anchor are not asked again. Of votes that are not in memory items
            are chosen from 65,536 drawn at random.
        n : int, default=20
            How many items to choose.
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for, as in the fit.

        Examples
        --------
        >>> import goldless as gl
        >>> X, y = gl.simulate_votes(2_000, groups=[4] + [1] * 5, random_state=1)
        >>> model = gl.LatentSML().fit(X)
        >>> asked = model.next_to_label(X, n=5).rows
        >>> surer = gl.LatentSML().fit(X, anchors={row: y[row] for row in asked})
        """
        check_is_fitted(self)
        drawn = in_memory(self, X)
        votes = self._read(drawn.votes, reset=False)
        found = questions_of(drawn.model.fitted_, votes.codes, n, as_counts(sample_weight, votes.n_items))
        items = None if votes.items is None else np.asarray(votes.items)[found.rows]
        return replace(found, items=items, rows=found.rows if drawn.rows is None else drawn.rows[found.rows])

    def subset(self, voters: Iterable) -> Self:
        """Return a fitted estimator for some of the voters only, such as a panel from :meth:`select`.

        It predicts from the columns of these voters, in this order, and uses the accuracies learnt from all (without
        kinds of items and abstention, which belong to all voters together).
        """
        check_is_fitted(self)
        part = copy(self)
        part.fitted_ = self.fitted_.subset(voters)
        return part

    # -- what was learnt ------------------------------------------------------------------------------------

    def _grouping(self, name: str) -> Grouping:
        grouping = self._of_fit(name).grouping
        assert grouping is not None
        return grouping

    @property
    def groups_(self) -> NDArray[np.int64]:
        """Group of each voter."""
        return self.latent_model_.groups

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return self.latent_model_.n_groups

    @property
    def verdict_(self) -> str:
        """In a sentence: which grouping was used, what the nearest other one is and how much it would change."""
        return self._grouping("verdict_").verdict

    @property
    def alternatives_(self) -> tuple[Alternative, ...]:
        """Other groupings that explain the votes, nearest first."""
        return self._grouping("alternatives_").alternatives

    rootings_ = renamed("rootings_", "alternatives_")

    @property
    def ambiguous_(self) -> bool:
        """Whether a grouping that changes labels is so near that the votes cannot decide."""
        return self._grouping("ambiguous_").ambiguous

    @property
    def overdispersion_(self) -> float:
        """Misfit of the covariance model: 1 when it holds."""
        return self._grouping("overdispersion_").overdispersion

    @property
    def covariance_(self) -> NDArray[np.float64]:
        """Sample covariance of the votes."""
        return self._grouping("covariance_").covariance

    @property
    def score_matrix_(self) -> NDArray[np.float64]:
        """Score of every pair (eq. score). Exact copies of each other have the largest score.

        Of more than 1,000 voters it is computed when it is asked for, from the covariance: O(m^3).
        """
        grouping = self._grouping("score_matrix_")
        if grouping.score.size or not grouping.covariance.size:
            return grouping.score
        return np.asarray(score_matrix(grouping.covariance))

    @property
    def v_on_(self) -> NDArray[np.float64]:
        """Loadings within groups (Lemma 1)."""
        return self._grouping("v_on_").v_on

    @property
    def v_off_(self) -> NDArray[np.float64]:
        """Loadings across groups (Lemma 1)."""
        return self._grouping("v_off_").v_off

    @property
    def residual_(self) -> float:
        """Residual of the grouping (eq. res)."""
        return self._grouping("residual_").residual

    @property
    def residual_path_(self) -> dict[int, float]:
        """Residual for each number of groups tried; empty unless ``structure="paper"``."""
        return self._grouping("residual_path_").residual_path

    @property
    def subtype_models_(self) -> tuple[TreeModel, ...]:
        """Hubs with kinds of items that the votes support; labels come from the average of these and the model.

        Their voters are those of ``fitted_.columns``, in that order.
        """
        return self._of_fit("subtype_models_").evidence[1:]

    @property
    def anchored_rows_(self) -> NDArray[np.int64]:
        """Rows of X whose label was known."""
        facts = self._of_fit("anchored_rows_").facts
        return np.array([], dtype=np.int64) if facts is None else facts.rows

    @property
    def group_confusion_(self) -> NDArray[np.float64]:
        """Pr(alpha | Y) of each group's latent, shape (n_groups, n_classes, n_classes); rows are the truth."""
        return self.latent_model_.latents.transpose(0, 2, 1)

    @property
    def confusion_given_group_(self) -> NDArray[np.float64]:
        """Pr(vote | alpha) of each voter, shape (n_voters, n_classes, n_classes); rows are its group's latent."""
        return self.latent_model_.votes

    @property
    def group_sensitivity_(self) -> NDArray[np.float64]:
        """Pr(alpha positive | Y positive) of each group (two classes)."""
        return self._of_two("group_sensitivity_").model.group_sensitivity

    @property
    def group_specificity_(self) -> NDArray[np.float64]:
        """Pr(alpha negative | Y negative) of each group (two classes)."""
        return self._of_two("group_specificity_").model.group_specificity

    @property
    def sensitivity_given_group_(self) -> NDArray[np.float64]:
        """Pr(vote positive | alpha positive) of each voter (two classes)."""
        return self._of_two("sensitivity_given_group_").model.sensitivity_given_group

    @property
    def specificity_given_group_(self) -> NDArray[np.float64]:
        """Pr(vote negative | alpha negative) of each voter (two classes)."""
        return self._of_two("specificity_given_group_").model.specificity_given_group
