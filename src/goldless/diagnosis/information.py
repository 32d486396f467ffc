"""Scores and information of the latent model over vote patterns: the derivatives behind every interval.

All rates are on the log-odds scale, where the derivative of the complete-data log-likelihood is "observed minus
expected". Fisher's identity averages it over the hidden labels; Louis' identity gives the observed information. The
tree makes both closed form: given Y the groups are independent, and a group's latent has two values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.maths.em import RatePrior
from goldless.maths.tree import LatentModel, log_odds, probability

_CLIP = 1e-12
_BLOCK_CELLS = 1 << 22  # rows times parameters of one block


@dataclass(frozen=True)
class ScoreBlock:
    """What a model says of some patterns.

    Attributes
    ----------
    rows : slice
        The patterns.
    posterior : ndarray of shape (n_rows,)
        Pr(Y positive | votes).
    score : ndarray of shape (n_rows, n_parameters)
        Derivative of the log-likelihood of each pattern.
    contrast : ndarray of shape (n_rows, n_parameters)
        Derivative of the log-odds of Y.
    """

    rows: slice
    posterior: NDArray[np.float64]
    score: NDArray[np.float64]
    contrast: NDArray[np.float64]


@dataclass(frozen=True)
class PatternScores:
    """Derivatives of a latent model of distinct voters on vote patterns and their counts.

    The parameters are the log-odds of: the sensitivities given the group, the specificities given the group, the
    sensitivities and specificities of the latents of groups of two or more, and the class balance.
    """

    codes: NDArray[np.int8]
    counts: NDArray[np.integer]
    model: LatentModel

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.bincount(self.model.groups) >= 2)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return 2 * self.model.n_voters + 2 * len(self._own) + 1

    @property
    def rates(self) -> NDArray[np.float64]:
        """The parameters as rates."""
        model = self.model
        return np.concatenate(
            [
                model.sensitivity_given_group,
                model.specificity_given_group,
                model.group_sensitivity[self._own],
                model.group_specificity[self._own],
                [model.class_balance],
            ]
        )

    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield scores block by block; the cut depends on their number alone."""
        return (self._block(rows)[0] for rows in self._cut())

    def _cut(self) -> Iterator[slice]:
        n_rows = max(1, _BLOCK_CELLS // self.n_parameters)
        return (slice(first, first + n_rows) for first in range(0, len(self.codes), n_rows))

    def _block(self, rows: slice) -> tuple[ScoreBlock, NDArray, NDArray, NDArray, NDArray]:
        """Return the scores of some rows and the parts from which Louis' identity is put together."""
        model, groups, own = self.model, self.model.groups, self._own
        codes = self.codes[rows]
        positive, negative = codes == 1, codes == 0
        sensitivity = model.sensitivity_given_group.clip(_CLIP, 1 - _CLIP)
        specificity = model.specificity_given_group.clip(_CLIP, 1 - _CLIP)
        membership = np.zeros((model.n_voters, model.n_groups))
        membership[np.arange(model.n_voters), groups] = 1.0
        if_positive = (positive * np.log(sensitivity) + negative * np.log1p(-sensitivity)) @ membership
        if_negative = (positive * np.log1p(-specificity) + negative * np.log(specificity)) @ membership
        with np.errstate(divide="ignore"):
            joint = [  # log Pr(alpha_k = positive and its votes | Y), and the same for alpha_k = negative
                (if_positive + np.log(of_positive), if_negative + np.log1p(-of_positive))
                for of_positive in (1 - model.group_specificity, model.group_sensitivity)
            ]
        mixed = [np.logaddexp(*pair) for pair in joint]
        ratio = (mixed[1] - mixed[0]).sum(axis=1)
        posterior = probability(ratio + model.log_prior_odds)
        # Pr(alpha_k = positive | Y, votes), for Y negative and positive
        latent = [np.exp(pair[0] - total) for pair, total in zip(joint, mixed, strict=True)]
        right = positive - (positive | negative) * sensitivity  # observed minus expected, if alpha is positive
        wrong = negative - (positive | negative) * specificity  # and if it is negative
        by_class = []
        for label in (0, 1):
            through = latent[label][:, groups]
            of_groups = np.zeros((2, len(codes), len(own)))
            if label:
                of_groups[0] = latent[1][:, own] - model.group_sensitivity[own]
            else:
                of_groups[1] = 1 - latent[0][:, own] - model.group_specificity[own]
            balance = np.full((len(codes), 1), label - model.class_balance)
            by_class.append(np.hstack([through * right, (1 - through) * wrong, *of_groups, balance]))
        weight = posterior[:, None]
        score = weight * by_class[1] + (1 - weight) * by_class[0]
        block = ScoreBlock(rows, posterior, score, by_class[1] - by_class[0])
        return block, latent[0], latent[1], right, wrong

    @cached_property
    def observed_information(self) -> NDArray[np.float64]:
        """Minus the second derivative of the log-likelihood (Louis 1982), shape (n_parameters, n_parameters)."""
        groups, own, m = self.model.groups, self._own, self.model.n_voters
        total = np.zeros((self.n_parameters, self.n_parameters))
        for rows in self._cut():
            block, if_negative, if_positive, right, wrong = self._block(rows)
            counts, q = self.counts[rows].astype(float), block.posterior
            contrast = block.contrast * np.sqrt(counts * q * (1 - q))[:, None]
            total -= contrast.T @ contrast
            # complete-data information, on the diagonal
            latent = q[:, None] * if_positive + (1 - q[:, None]) * if_negative
            voted = (self.codes[rows] >= 0) * counts[:, None]
            parent = latent[:, groups]
            diagonal = np.concatenate(
                [
                    (voted * parent).sum(axis=0),
                    (voted * (1 - parent)).sum(axis=0),
                    np.full(len(own), counts @ q),
                    np.full(len(own), counts @ (1 - q)),
                    [counts.sum()],
                ]
            )
            rates = self.rates
            total[np.diag_indices(self.n_parameters)] += diagonal * rates * (1 - rates)
            # what the hidden latents of groups leave open given Y
            for number, group in enumerate(own):
                members = np.flatnonzero(groups == group)
                columns = np.concatenate([members, m + members, [2 * m + number, 2 * m + len(own) + number]])
                for label, share, chance in ((0, 1 - q, if_negative), (1, q, if_positive)):
                    open_part = counts * share * chance[:, group] * (1 - chance[:, group])
                    steps = np.hstack(
                        [
                            right[:, members],
                            -wrong[:, members],
                            np.full((len(q), 1), float(label)),
                            np.full((len(q), 1), float(label) - 1),
                        ]
                    )
                    total[np.ix_(columns, columns)] -= (steps * open_part[:, None]).T @ steps
        return total

    def prior_information(self, prior: RatePrior) -> NDArray[np.float64]:
        """Minus the second derivative of the log prior, a diagonal."""
        pseudo = np.full(self.n_parameters, prior.right + prior.wrong)
        pseudo[-1] = 2 * prior.balance
        return pseudo * self.rates * (1 - self.rates)

    def accuracy_gradients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the derivatives of the sensitivities and specificities towards Y (eq. bla).

        Two arrays of shape (n_voters, n_parameters).
        """
        model, m, own = self.model, self.model.n_voters, self._own
        voters, groups = np.arange(m), model.groups
        slope_up = model.sensitivity_given_group * (1 - model.sensitivity_given_group)
        slope_down = model.specificity_given_group * (1 - model.specificity_given_group)
        skill = model.sensitivity_given_group + model.specificity_given_group - 1
        gradients = []
        for offset, rate, own_slope, other_slope, own_column, other_column in (
            (0, model.group_sensitivity, slope_up, slope_down, voters, m + voters),
            (len(own), model.group_specificity, slope_down, slope_up, m + voters, voters),
        ):
            gradient = np.zeros((m, self.n_parameters))
            through = rate[groups]
            gradient[voters, own_column] = through * own_slope
            gradient[voters, other_column] = -(1 - through) * other_slope
            for number, group in enumerate(own):
                members = np.flatnonzero(groups == group)
                slope = rate[group] * (1 - rate[group])
                gradient[members, 2 * m + offset + number] = skill[members] * slope
            gradients.append(gradient)
        return gradients[0], gradients[1]

    def stepped(self, step: NDArray[np.float64]) -> LatentModel:
        """Return the model whose log-odds are moved by a step."""
        m, own = self.model.n_voters, self._own
        rates = probability(log_odds(self.rates) + step)
        group_sensitivity, group_specificity = (
            self.model.group_sensitivity.copy(),
            self.model.group_specificity.copy(),
        )
        group_sensitivity[own] = rates[2 * m : 2 * m + len(own)]
        group_specificity[own] = rates[2 * m + len(own) : -1]
        return replace(
            self.model,
            sensitivity_given_group=rates[:m],
            specificity_given_group=rates[m : 2 * m],
            group_sensitivity=group_sensitivity,
            group_specificity=group_specificity,
            class_balance=float(rates[-1]),
        )
