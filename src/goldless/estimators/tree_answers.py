"""What a fitted tree of voters answers: rates, labels, panels, and which items to ask about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from goldless.estimators.latent_base import LatentEstimator
from goldless.fitting.ask import Questions, choose_questions
from goldless.fitting.core import FitVotes, as_counts
from goldless.fitting.fit import averaged_ratio, with_abstention
from goldless.fitting.panels import choose_panel, columns_of, worthwhile_panels
from goldless.fitting.settling import candidate_readings, habitual_weights
from goldless.maths.panels import Panel
from goldless.maths.subtypes import SubtypeModel
from goldless.maths.tree import LatentModel, merge_copies, probability
from goldless.votes.patterns import PatternTable
from goldless.votes.sample import VoteSample

_Tree = TypeVar("_Tree", bound="TreeAnswers")


class TreeAnswers(LatentEstimator):
    """The answers of :class:`~goldless.LatentSML`, whose fit leaves the attributes below."""

    latent_model_: LatentModel
    subtype_models_: tuple[SubtypeModel, ...]
    anchored_rows_: NDArray[np.int64]
    overdispersion_: float
    covariance_: NDArray[np.float64]
    calibration_: tuple[float, ...]
    _abstainers_: NDArray[np.int64]
    _agreement_: NDArray[np.float64]
    _evidence_model_: LatentModel
    _columns_: NDArray[np.int64]
    _reading_groups_: tuple[NDArray[np.int64], ...]
    _balance_items_: float
    _settled_: tuple
    _sample_: VoteSample

    @property
    def sensitivity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote positive | Y positive) of each voter."""
        return self._agreement_[0] if self.subtype_models_ else self.latent_model_.sensitivity

    @property
    def specificity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote negative | Y negative) of each voter."""
        return self._agreement_[1] if self.subtype_models_ else self.latent_model_.specificity

    @property
    def balanced_accuracy_(self) -> NDArray[np.float64]:
        """Mean of sensitivity and specificity of each voter."""
        return (self.sensitivity_ + self.specificity_) / 2

    def _likelihood_ratio(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        core = merge_copies(codes, self.latent_model_.copy_of)
        if len(self._columns_) < core.shape[1]:
            core = core[:, self._columns_]
        evidence = with_abstention(core, self._abstainers_)
        ratios = [self._evidence_model_.log_likelihood_ratio(evidence)]
        ratios += [model.log_likelihood_ratio(evidence) for model in self.subtype_models_]
        return averaged_ratio(ratios)

    def _keep_sample(self, votes: FitVotes) -> None:
        """Keep what panels are judged by, and with subtypes how far each voter agrees with the averaged posterior."""
        table = votes.all_table
        ratio = self._likelihood_ratio(table.codes)
        self._sample_ = VoteSample.of(table.codes, table.counts, probability(self._calibrated(ratio)))
        if not self.subtype_models_:
            return
        if votes.whole is None:
            agreed, cast = _agreement(self, table.codes, table.counts, ratio)
        else:
            agreed, cast = votes.whole.sum_codes(partial(_agreement, self))
        self._agreement_ = np.divide(agreed, cast, out=np.full(cast.shape, 0.5), where=cast > 0)

    def select(
        self,
        k: int | None = None,
        *,
        cost: Mapping | ArrayLike | None = None,
        budget: float | None = None,
        include: Iterable = (),
        exclude: Iterable = (),
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

        Returns
        -------
        ndarray of shape (n_chosen,)
            Column names if the estimator was fitted on a frame, otherwise column numbers: ready to index X.
        """
        check_is_fitted(self)
        return choose_panel(self, k, cost, budget, include, exclude)

    def next_to_label(self, X: Any, n: int = 20, sample_weight: ArrayLike | None = None) -> Questions:
        """Choose items whose labels would best separate the readings that the votes leave open.

        Label them, then fit again with these labels as ``anchors``: a few at a time is better than all at once.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            The votes of the fit. Rows that had an anchor are not asked again.
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
        voters = self._columns_
        codes = merge_copies(self._read(X, reset=False).codes, self.latent_model_.copy_of)[:, voters]
        table = PatternTable.of(np.ascontiguousarray(codes), as_counts(sample_weight, len(codes)))
        if self._settled_:
            readings, weights = self._settled_
        else:
            prior = replace(self._rate_prior(table.n_items, self.overdispersion_), balance=self._balance_items_)
            readings = candidate_readings(table, self.latent_model_.subset(voters), self._reading_groups_, prior)
            weights = habitual_weights(len(readings))
        return choose_questions(table, readings, weights, n, self.anchored_rows_[self.anchored_rows_ < len(codes)])

    def panels(
        self, *, cost: Mapping | ArrayLike | None = None, include: Iterable = (), exclude: Iterable = ()
    ) -> tuple[Panel, ...]:
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
            With ``voters``, ``cost``, ``balanced_accuracy``, ``vote_accuracy`` and ``effective_votes``. Without
            labels these are estimates: use them to compare panels.
        """
        check_is_fitted(self)
        return worthwhile_panels(self, cost, include, exclude)

    def subset(self: _Tree, voters: Iterable) -> _Tree:
        """Return a fitted estimator for some of the voters only, such as a panel from :meth:`select`.

        It predicts from the columns of these voters, in this order, and uses the accuracies learnt from all (without
        item subtypes and abstention, which belong to all voters together).
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        columns = columns_of(self, voters)
        part = type(self)(**self.get_params())
        part.classes_, part._tie_code_ = self.classes_, self._tie_code_
        part.n_features_in_ = len(columns)
        if names is not None:
            part.feature_names_in_ = names[columns]
        part.latent_model_ = self.latent_model_.subset(columns)
        part.subtype_models_, part._abstainers_ = (), np.array([], dtype=np.int64)
        part._evidence_model_, part._columns_ = part.latent_model_, np.arange(len(columns))
        part.covariance_ = self.covariance_[np.ix_(columns, columns)]
        part._sample_ = self._sample_.subset(columns)
        part.calibration_ = (1.0, self.calibration_[1])
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


def _agreement(
    model: TreeAnswers,
    codes: NDArray[np.int8],
    counts: NDArray[np.float64] | NDArray[np.int64],
    ratio: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the expected votes of each voter that are right, and all of them, on (positive, negative) items."""
    ratio = model._likelihood_ratio(codes) if ratio is None else ratio
    positive = probability(ratio + model.latent_model_.log_prior_odds)
    items = np.stack([counts * positive, counts * (1 - positive)])
    said = [items @ (codes == code).astype(float) for code in (0, 1)]
    return np.stack([said[1][0], said[0][1]]), said[0] + said[1]
