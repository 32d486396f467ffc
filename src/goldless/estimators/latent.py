"""The latent spectral meta-learner (L-SML): groups, accuracies and labels from dependent voters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from goldless.estimators.base import FitVotes, LatentEstimator
from goldless.estimators.two_stage import ImbalanceRule, two_stage_estimate
from goldless.maths.checks import as_groups, relabel
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.em import RatePrior, run_em
from goldless.maths.groups import assign_groups
from goldless.maths.rank_one import complete_rank_one, residual
from goldless.maths.score import score_matrix
from goldless.maths.selection import select_voters
from goldless.votes.passes import GroupedPatterns


class LatentSML(LatentEstimator):
    """Combine voters that may echo each other: find groups, estimate accuracies, label items.

    Parameters
    ----------
    structure : {"paper", "independent"} or array-like of shape (n_voters,), default="paper"
        How voters are grouped. "paper": Algorithm 2, spectral clustering of the score matrix and smallest
        residual. "independent": every voter alone. An array: known groups.
    n_groups : int or iterable of int, optional
        Number of groups, or the candidates, for ``structure="paper"``; by default every number is tried.
    em : bool, default=True
        Whether exact EM on the latent model follows the two-stage estimate of Algorithm 3.
    latent_values : {"soft", "hard"}, default="soft"
        Whether the first stage hands on the expected value of each group's latent or its more likely value.
    imbalance : {"restricted", "tensor", "restricted-as-published"} or float, default="restricted"
        How the class imbalance b is found in the two-stage estimate. "restricted-as-published" repeats a formula
        of a public copy of the authors' code (``v / (1 - b^2)`` for ``v / sqrt(1 - b^2)``), which shrinks b
        towards zero; it is there to reproduce the published figures.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood (best balanced accuracy), "map" the more probable class.
    prior : tuple of float (right, wrong), default=(0.01, 0.01)
        Pseudo-votes added to every rate in EM.
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
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Estimated accuracies towards Y.
    group_sensitivity_, group_specificity_ : ndarray of shape (n_groups,)
        Pr(alpha | Y) of each group's latent; 1 for a voter that is alone, whose latent is Y.
    sensitivity_given_group_, specificity_given_group_ : ndarray of shape (n_voters,)
        Accuracies towards the group's latent.
    class_balance_, imbalance_ : float
        Pr(Y positive) and b.
    covariance_ : ndarray of shape (n_voters, n_voters)
        Sample covariance of the votes coded -1, +1.
    score_matrix_ : ndarray of shape (n_voters, n_voters)
        Score of every pair (eq. score). Exact copies of each other have the largest score.
    v_on_, v_off_ : ndarray of shape (n_voters,)
        Loadings within and across groups (Lemma 1).
    residual_ : float
        Residual of the grouping (eq. res).
    residual_path_ : dict of int to float
        Residual for each number of groups tried.
    latent_model_ : LatentModel
        The fitted model of all voters.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended; only if ``em``.

    Notes
    -----
    Exact copies (same votes on at least 20 items) are fitted as one voter, so adding a clone changes nothing.
    A single group of all voters is the same model as no groups (its latent is Y) and is reported so.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(10_000, groups=[3] + [1] * 9, random_state=3)
    >>> model = gl.LatentSML(structure="paper", n_groups=10).fit(X)
    >>> model.groups_
    array([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    _merges_copies = True

    def __init__(
        self,
        *,
        structure: str | ArrayLike = "paper",
        n_groups: int | Any = None,
        em: bool = True,
        latent_values: str = "soft",
        imbalance: str | float = "restricted",
        decision: str = "ml",
        prior: tuple[float, float] = (0.01, 0.01),
        max_iter: int = 500,
        tol: float = 1e-7,
        missing: Any = None,
        positive: Any = None,
    ):
        self.structure = structure
        self.n_groups = n_groups
        self.em = em
        self.latent_values = latent_values
        self.imbalance = imbalance
        self.decision = decision
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> LatentSML:
        """Find groups and estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_voters)
            Votes; NaN and None are missing.
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        """
        rule = ImbalanceRule(self.imbalance)
        if self.latent_values not in ("soft", "hard"):
            raise ValueError(f"latent_values must be 'soft' or 'hard', got {self.latent_values!r}")
        votes = self._read_for_fit(X, sample_weight)
        estimate = votes.table.pair_counts.covariance()
        groups = self._find_groups(votes, estimate)
        model = two_stage_estimate(votes.table, estimate, groups, rule, self.latent_values == "hard")
        if self.em:
            passes = GroupedPatterns(votes.table, groups)
            right, wrong = self.prior
            result = run_em(model, passes.expect, prior=RatePrior(right, wrong), max_iter=self.max_iter, tol=self.tol)
            model = result.model
            self._store_em(result)
        self.latent_model_ = votes.embed(model)
        self.covariance_ = votes.all_counts.covariance().covariance
        return self

    def _find_groups(self, votes: FitVotes, estimate: CovarianceEstimate) -> NDArray[np.int64]:
        """Group the fitted voters, and keep what the search saw of them."""
        covariance = filled_covariance(estimate)
        n_fitted = len(covariance)
        path: dict[int, float] = {}
        if isinstance(self.structure, str) and self.structure == "paper":
            found = assign_groups(covariance, n_groups=self.n_groups)
            groups, score, path = found.groups, found.score, found.residual_path
        else:
            score = np.asarray(score_matrix(covariance))
            if not isinstance(self.structure, str):
                groups = relabel(as_groups(self.structure, len(votes.core_voter))[votes.voters])
            elif self.structure == "independent":
                groups = np.arange(n_fitted)
            else:
                raise ValueError(
                    f"structure must be 'paper', 'independent' or groups of the voters, got {self.structure!r}"
                )
        if groups.max() == 0:  # one group of all: its latent is Y
            groups = np.arange(n_fitted)
        fit = residual(covariance, groups)
        self.residual_, self.residual_path_ = fit.value, path
        self.v_on_, self.v_off_ = votes.spread(fit.v_on), votes.spread(fit.v_off)
        self.score_matrix_ = _spread_matrix(score, votes.core_voter)
        return groups

    def select(self, k: int) -> NDArray:
        """Return the voters of a diverse panel of k, best first.

        The most accurate voter of each group, best groups first; when ``k`` is larger than the number of groups,
        further rounds by what each voter adds.

        Returns
        -------
        ndarray of shape (k,)
            Column names if the estimator was fitted on a frame, otherwise column numbers: ready to index X.
        """
        check_is_fitted(self)
        chosen = select_voters(self.latent_model_, k)
        names = getattr(self, "feature_names_in_", None)
        return chosen if names is None else names[chosen]

    def subset(self, voters: ArrayLike) -> LatentSML:
        """Return a fitted estimator for some of the voters only, such as a panel from :meth:`select`.

        It predicts from the columns of these voters, in this order, and uses the accuracies learnt from all.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        columns = np.asarray(voters)
        if names is not None and columns.dtype.kind in "OU":
            position = {name: column for column, name in enumerate(names)}
            unknown = [name for name in columns if name not in position]
            if unknown:
                raise ValueError(f"there is no voter {str(unknown[0])!r}")
            columns = np.array([position[name] for name in columns])
        part = type(self)(**self.get_params())
        part.classes_, part._tie_code_ = self.classes_, self._tie_code_
        part.n_features_in_ = len(columns)
        if names is not None:
            part.feature_names_in_ = names[columns]
        part.latent_model_ = self.latent_model_.subset(columns)
        part.covariance_ = self.covariance_[np.ix_(columns, columns)]
        return part

    @property
    def groups_(self) -> NDArray[np.int64]:
        """Group of each voter."""
        return self.latent_model_.groups

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return self.latent_model_.n_groups

    @property
    def group_sensitivity_(self) -> NDArray[np.float64]:
        """Pr(alpha positive | Y positive) of each group."""
        return self.latent_model_.group_sensitivity

    @property
    def group_specificity_(self) -> NDArray[np.float64]:
        """Pr(alpha negative | Y negative) of each group."""
        return self.latent_model_.group_specificity

    @property
    def sensitivity_given_group_(self) -> NDArray[np.float64]:
        """Pr(vote positive | alpha positive) of each voter."""
        return self.latent_model_.sensitivity_given_group

    @property
    def specificity_given_group_(self) -> NDArray[np.float64]:
        """Pr(vote negative | alpha negative) of each voter."""
        return self.latent_model_.specificity_given_group


def filled_covariance(estimate: CovarianceEstimate) -> NDArray[np.float64]:
    """Return the covariance with pairs that share no items filled in as if independent given Y."""
    known = estimate.known
    off_diagonal = ~np.eye(len(known), dtype=bool)
    if known[off_diagonal].all():
        return estimate.covariance
    loadings = complete_rank_one(estimate.covariance, known, estimate.n_pairs)
    return np.where(known | ~off_diagonal, estimate.covariance, np.outer(loadings, loadings))


def _spread_matrix(score: NDArray[np.float64], core_voter: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the score of all voters from that of the fitted ones."""
    known = core_voter >= 0
    spread = np.where(known[:, None] & known[None, :], score[np.ix_(core_voter, core_voter)], 0.0)
    copies = (core_voter[:, None] == core_voter[None, :]) & known[:, None]
    spread[copies] = score.max(initial=0.0)
    np.fill_diagonal(spread, 0.0)
    return spread
