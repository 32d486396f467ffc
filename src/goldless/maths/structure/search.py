"""Structure by local search on the covariance, where the paper's clustering fails.

The covariance of the latent model has only m + K parameters off the diagonal, because within a group v_off is
proportional to v_on (appendix of the paper, eq. lin_dep): ``r_ij = u_i u_j`` within a group and
``t_k t_l u_i u_j`` across groups. Fitted by weighted least squares with the sampling variances of the
covariances, its residual Q is about chi-square when the model holds, so structures can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from goldless.kernels.covariance_fit import evaluate_partitions
from goldless.kernels.threads import one_linear_algebra_thread
from goldless.maths.checks import relabel
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.rank_one import complete_rank_one, leading_eigenpair
from goldless.maths.structure.descent import MANY_VOTERS, Covariances, Descent, Grouping
from goldless.maths.structure.partitions import rerootings, set_partitions
from goldless.maths.structure.prices import group_prices, price_of, seat_prices
from goldless.maths.structure.result import UNDECIDED_MARGIN, Reading, Structure
from goldless.progress import part, tell

_ENUMERATED_UP_TO = 9  # voters; there are 21,147 partitions of nine, and 115,975 of ten
_FEW_STARTS_FROM = 100  # voters; from there on one linkage start found as good an optimum as five on 47 of 48 panels
_FEWEST_COMMON_ITEMS = 5
_VARIANCE_FLOOR = 1e-3  # of the product of two centred votes, so that rare votes do not get endless weight
_REROOTS_SEARCHED = 3
_REROOTS_TRIED = 4  # of many voters, the largest groups only: the larger the group, the fewer voters a new root ties
_REROOTS_KEPT = 8
_READINGS_KEPT = 32
_TIED = 0.01  # in units of the objective, which chance moves by more than one
_MULTIPLICITY = 2.0
CLEAR_MISFIT = 1.5  # over-dispersion from which what looks like weak dependence may be misfit


@one_linear_algebra_thread()
def search_structure(
    estimate: CovarianceEstimate,
    n_items: int,
    *,
    starts: Sequence[NDArray[np.int64]] = (),
    prices: NDArray[np.float64] | None = None,
    among: NDArray[np.int64] | None = None,
) -> Structure:
    """Find groups of dependent voters from the covariance of their votes.

    Parameters
    ----------
    estimate : CovarianceEstimate
        Covariance of the votes with its sampling errors.
    n_items : int
        Number of items.
    starts : sequence of ndarray of shape (n_voters,), optional
        Further groupings to start from.
    prices : ndarray of shape (n_voters + 1,), optional
        What a group of each size costs in the second search, before over-dispersion: :func:`group_prices` by default.
    among : ndarray of shape (n_partitions, n_voters), optional
        With nine voters or fewer: the groupings to compare, in place of all (:func:`likely_partitions`).

    Notes
    -----
    How much dependence to model is a question of price. A first search with price log n (BIC) for each voter in
    a group finds the richest plausible structure; its over-dispersion phi = max(1, Q / dof) says how much of the
    residual is misfit that no grouping explains. In the second search a group of s voters costs
    ``phi (s log n + 2 log(m^s / s!))``: phi, because under over-dispersion a gain in Q is worth 1 / phi of its
    nominal value (quasi-likelihood); log(m^s / s!), because so many sets of s voters could have been the group, and
    the more there are, the more are found by chance (extended BIC with its constant 1).

    Nothing is random: the search starts from no groups, from average linkage of the standardised residuals of the
    model without groups, from the voters that this model takes for the best, and from every re-rooting of what it
    finds: second moments determine a tree without a root, so "the group hangs on alpha and the rest on Y" and its
    reverse must both be tried. Up to nine voters all partitions are compared. With three voters there is nothing to
    find, and with four or five much stays open: see :func:`~goldless.maths.structure.partitions.indistinguishable`.
    Of more than 300 voters the first start has the groups that linkage joins at the price of a pair, in place of no
    groups, and a descent is made from another start only if it is near the best found (``_Problem.near``).

    Of groupings that are equally good, as the two roots of a group of half of the voters, the one is taken whose
    voters covary more within groups: those that echo agree more than those that are right.

    With a single group the two roots are the same distribution. If they are nearly as good (three voters placed
    otherwise would reverse them), the one is taken that leaves fewer voters in the group when each is seated where
    it fits best by two standard errors, and not by the price; but not where the over-dispersion is above 1.5.
    """
    problem = _Problem(estimate, among)
    log_n = float(np.log(max(n_items, 2)))
    if problem.m < 4:
        alone = np.arange(problem.m)
        readings = [Reading(alone, problem.fit(alone)[0], 0.0)]
        return problem.structure(readings, overdispersion=1.0, price=group_prices(problem.m, log_n))
    candidates = [relabel(start) for start in starts]
    if problem.m <= MANY_VOTERS:
        candidates.insert(0, np.arange(problem.m))
    with part("searching for groups", 0.0, 0.6):
        price = group_prices(problem.m, log_n)
        rich = problem.best_readings(price, [*candidates, *problem.linkage_starts(price[2])])
    overdispersion = problem.overdispersion(rich[0].groups)
    price = overdispersion * (group_prices(problem.m, log_n, _MULTIPLICITY) if prices is None else prices)
    with part("searching for groups", 0.6, 1.0):
        readings = problem.best_readings(price, [*candidates, *problem.near(rich[:3])])
        readings = problem.rooted(readings, price, overdispersion)
    return problem.structure(readings, overdispersion, price)


def likely_partitions(estimate: CovarianceEstimate, n_items: int, n_kept: int) -> NDArray[np.int64] | None:
    """Return the groupings of nine voters or fewer worth comparing on resampled items, None for more voters.

    These are the ``n_kept`` best on the items at hand, at the first and at the second price of the search.
    """
    problem = _Problem(estimate)
    if not 4 <= problem.m <= _ENUMERATED_UP_TO:
        return None
    first_price = group_prices(problem.m, float(np.log(max(n_items, 2))))
    rich = problem.enumerated(first_price, n_kept)
    overdispersion = problem.overdispersion(rich[0].groups)
    price = overdispersion * group_prices(problem.m, float(np.log(max(n_items, 2))), _MULTIPLICITY)
    found = [reading.groups for reading in (*rich, *problem.enumerated(price, n_kept))]
    return np.unique(found, axis=0)  # sorted, as all partitions are


def covariance_misfit(estimate: CovarianceEstimate, groups: NDArray[np.int64] | None = None) -> float:
    """Return max(1, Q / dof) of given groups, by default of the model without groups."""
    if not estimate.n_voters:  # a crowd in which no two voters share enough items says nothing
        return 1.0
    problem = _Problem(estimate)
    return problem.overdispersion(np.arange(problem.m) if groups is None else groups)


class _Problem:
    """A covariance with weights, and the searches on it."""

    def __init__(self, estimate: CovarianceEstimate, partitions: NDArray[np.int64] | None = None):
        self.m = estimate.n_voters
        known = estimate.known & (estimate.n_pairs >= _FEWEST_COMMON_ITEMS)
        variance = np.maximum(estimate.standard_error**2, _VARIANCE_FLOOR / np.maximum(estimate.n_pairs, 1))
        self.covariance = np.where(known, estimate.covariance, 0.0)
        self.weight = np.where(known, 1.0 / np.where(known, variance, 1.0), 0.0)
        del variance  # of many voters every matrix counts
        self.spread = np.sqrt(np.maximum(estimate.variance, _VARIANCE_FLOOR))
        self.data = Covariances(self.covariance, self.weight)
        self.n_pairs = int(known.sum()) // 2
        self._blocks: dict[bytes, NDArray[np.float64]] = {}
        self._compared = partitions
        self._partitions: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None
        self.flat = complete_rank_one(self.covariance, known, self.weight) if known.any() else np.zeros(self.m)

    def _start(self, groups: NDArray[np.int64]) -> Grouping:
        """Return loadings and couplings to start a fit from.

        A group of three or more starts from the leading eigenvector of its block, others from the flat loadings.
        """
        size = np.bincount(groups, minlength=self.m)
        loading = self.flat.copy()
        for group in np.flatnonzero(size > 2):
            members = np.flatnonzero(groups == group)
            loading[members] = self._leading(members)
        return Grouping(groups.astype(np.int64).copy(), size, loading, np.where(size > 1, 0.7, 1.0))

    def _fitted_start(self, groups: NDArray[np.int64]) -> Grouping:
        state = self._start(groups)
        self.data.refit(state, 150, 1e-4)
        return state

    def _leading(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the leading eigenvector of a block, scaled to it; re-rootings ask for the same blocks again."""
        key = members.tobytes()
        if key not in self._blocks:
            value, vector = leading_eigenpair(self.covariance[np.ix_(members, members)])
            block = vector * np.sqrt(max(value, 1e-6))
            self._blocks[key] = block if block @ self.flat[members] >= 0 else -block
        return self._blocks[key]

    def fit(self, groups: NDArray[np.int64], sweeps: int = 300, tol: float = 1e-7) -> tuple[float, NDArray, NDArray]:
        """Return the weighted residual of a grouping, its loadings and its couplings."""
        state = self._start(groups)
        value = self.data.refit(state, sweeps, tol)
        return value, state.loading, state.coupling

    def search(self, groups: NDArray[np.int64], descent: Descent) -> Reading:
        """Descend from a grouping to a local optimum."""
        found, value = descent.run(self._fitted_start(groups))
        return Reading(found, value, price_of(found, descent.price))

    def degrees_of_freedom(self, groups: NDArray[np.int64]) -> int:
        """Return the number of known covariances less the number of parameters, at least one."""
        return max(1, self.n_pairs - self.m - int((np.bincount(groups) > 1).sum()))

    def overdispersion(self, groups: NDArray[np.int64]) -> float:
        """Return max(1, Q / dof) of a grouping."""
        return max(1.0, self.fit(groups)[0] / self.degrees_of_freedom(groups))

    def linkage_starts(self, price_of_pair: float) -> list[NDArray[np.int64]]:
        """Return groupings from average linkage of the standardised residuals of the model without groups.

        Of many voters, the first has the groups whose voters deviate in the mean by what would pay for a pair.
        """
        if self.m <= _ENUMERATED_UP_TO:
            return []
        distance = self.covariance - np.outer(self.flat, self.flat)  # in place from here: matrices may be large
        distance *= np.sqrt(self.weight)
        np.fill_diagonal(distance, 0.0)
        largest = distance.max()
        np.subtract(largest, distance, out=distance)
        np.fill_diagonal(distance, 0.0)
        distance = squareform((distance + distance.T) / 2, checks=False)
        tree = linkage(distance, "average")
        starts = [relabel(fcluster(tree, count, "maxclust")) for count in (2, 3, 4, 6, 10) if count < self.m]
        if self.m > _FEW_STARTS_FROM:
            starts = sorted(starts, key=lambda start: self.fit(start, 20, 1e-3)[0])[:1]
        if self.m > MANY_VOTERS:
            starts.insert(0, relabel(fcluster(tree, largest - np.sqrt(price_of_pair), "distance")))
        return [*starts, self._strongest()]

    def _strongest(self) -> NDArray[np.int64]:
        """Return the voters above the widest gap in the loadings of the model without groups, as one group.

        Where members of a group agree far more than voters who only share Y, as under strong imbalance, the model
        without groups takes the latent of the group for Y: then the loadings, and not the residuals, betray it.
        """
        strength = np.abs(self.flat)
        order = np.argsort(-strength, kind="stable")
        gaps = strength[order][1:-2] - strength[order][2:-1]
        groups = np.arange(self.m)
        groups[order[: int(np.argmax(gaps)) + 2]] = self.m
        return relabel(groups)

    def best_readings(self, price: NDArray[np.float64], starts: list[NDArray[np.int64]]) -> list[Reading]:
        """Return the local optima and re-rootings met, best first."""
        if self.m <= _ENUMERATED_UP_TO:
            return self.enumerated(price, _READINGS_KEPT)
        found: dict[bytes, Reading] = {}

        def keep(reading: Reading) -> None:
            key = reading.groups.tobytes()
            if reading.groups.max() > 0 and (key not in found or reading.objective < found[key].objective):
                found[key] = reading

        descent = Descent(self.data, price)
        keep(self._reading(np.arange(self.m), price))
        for number, start in enumerate(starts):
            tell("searching for groups", number / len(starts))
            if number and self.m > MANY_VOTERS:
                best = min(found.values(), key=lambda reading: reading.objective)
                if len(self.near([best, self._reading(start, price, 12)])) == 1:
                    continue
            keep(self.search(start, descent))
        tried: set[bytes] = set()
        while True:
            best = min(found.values(), key=lambda reading: reading.objective)
            most = _REROOTS_TRIED if self.m > MANY_VOTERS else None
            fresh = [groups for groups in rerootings(best.groups, most) if groups.tobytes() not in tried]
            if not fresh:
                break
            tried |= {groups.tobytes() for groups in fresh}
            roots = sorted((self._reading(groups, price, 12) for groups in fresh), key=lambda root: root.objective)
            for groups in self.near([best, *roots[:_REROOTS_SEARCHED]])[1:]:
                keep(self.search(groups, descent))
            for root in roots[:_REROOTS_KEPT]:
                keep(self._reading(root.groups, price))
        ranked = sorted(found.values(), key=lambda reading: reading.objective)[:_READINGS_KEPT]
        tied = [reading for reading in ranked if reading.objective <= ranked[0].objective + _TIED]
        return [*sorted(tied, key=lambda reading: -self._inside(reading.groups)), *ranked[len(tied) :]]

    def _inside(self, groups: NDArray[np.int64]) -> float:
        """Return the sum of the covariances within groups."""
        return float(self.covariance[groups[:, None] == groups[None, :]].sum() - np.trace(self.covariance))

    def near(self, readings: list[Reading]) -> list[NDArray[np.int64]]:
        """Return the groupings that are worth a descent, the first for certain.

        Of many voters those are left out that are further behind than what all their groups, and those of the first,
        cost: no move of voters out of groups could pay for that.
        """
        first = readings[0]
        if self.m > MANY_VOTERS:
            readings = [other for other in readings if other.objective - first.objective <= other.price + first.price]
        return [reading.groups for reading in readings]

    def rooted(self, readings: list[Reading], price: NDArray[np.float64], overdispersion: float) -> list[Reading]:
        """Put the other root of a single group first if it leaves fewer voters in the group; return all readings.

        With one group either hidden node can be Y without any change in the fit, and what decides is how many voters
        hang on each. A weak voter can hang on the latent of the group for certain and still not be worth the price
        of joining it; so for this question alone every voter is seated where it fits best by two standard errors.
        Where the model misfits, misfit would seat them, and the price alone decides.
        """
        best = readings[0]
        if (np.bincount(best.groups) > 1).sum() != 1 or overdispersion > CLEAR_MISFIT:
            return readings
        other = self._seated(rerootings(best.groups)[0], price)
        if other.objective > best.objective + UNDECIDED_MARGIN * price[2] / 2:
            return readings
        seats = seat_prices(price, overdispersion)
        gain = self._seated(best.groups, seats).objective - self._seated(other.groups, seats).objective
        if gain <= _TIED:
            return readings
        return [other, *(reading for reading in readings if not np.array_equal(reading.groups, other.groups))]

    def _seated(self, groups: NDArray[np.int64], price: NDArray[np.float64]) -> Reading:
        """Move single voters only, so that the root stays where it is."""
        descent = Descent(self.data, price)
        found, value = descent.seat(self._fitted_start(groups))
        return Reading(found, value, price_of(found, price))

    def _reading(self, groups: NDArray[np.int64], price: NDArray[np.float64], sweeps: int = 150) -> Reading:
        """Fit a grouping as it is."""
        cost = price_of(groups, price)
        return Reading(groups, self.fit(groups, sweeps, 1e-4)[0] + cost, cost)

    def enumerated(self, price: NDArray[np.float64], n_kept: int) -> list[Reading]:
        """Compare all partitions, or those there are to compare, and return the best."""
        if self._partitions is None:  # fitted once: only prices differ from search to search
            arrays = tuple(array.tobytes() for array in (self.covariance, self.weight, self.flat))
            compared = None if self._compared is None else self._compared.tobytes()
            self._partitions = _fitted_partitions(*arrays, compared)
        partitions, sizes, values = self._partitions
        cost = price[sizes].sum(axis=1)
        objective = values + cost
        # of equal structures the one with fewest voters in groups, which enumeration lists last
        order = np.lexsort([-np.arange(len(objective)), objective.round(9)])[:n_kept]
        return [Reading(partitions[row], float(objective[row]), float(cost[row])) for row in order]

    def _faintest_pair(self, price: float) -> float:
        """Return the correlation whose square, in units of its sampling variance, equals the price of a pair."""
        known = self.weight > 0
        if not known.any():
            return np.inf
        return float(np.median(np.sqrt(price / self.weight[known]) / np.outer(self.spread, self.spread)[known]))

    def structure(self, readings: list[Reading], overdispersion: float, price: NDArray[np.float64]) -> Structure:
        """Describe the best reading."""
        groups = readings[0].groups
        value, loading, coupling = self.fit(groups)
        return Structure(
            groups=groups,
            loadings=loading,
            couplings=coupling[: groups.max() + 1],
            residual=value,
            dof=self.degrees_of_freedom(groups),
            overdispersion=overdispersion,
            penalty=float(price[2] / 2),
            faintest_pair=self._faintest_pair(float(price[2])),
            readings=tuple(readings),
        )


@lru_cache(maxsize=4)  # a diagnosis compares the partitions of the fit again
def _fitted_partitions(
    covariance: bytes, weight: bytes, flat: bytes, compared: bytes | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all partitions, or those to compare, with the sizes of their groups and their weighted residuals."""
    loading = np.frombuffer(flat).copy()
    m = len(loading)
    rows = set_partitions(m) if compared is None else np.frombuffer(compared, dtype=np.int64).reshape(-1, m).copy()
    sizes = (rows[:, :, None] == np.arange(m)).sum(axis=1)
    matrices = (np.frombuffer(matrix).reshape(m, m).copy() for matrix in (covariance, weight))
    room = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty(m), np.empty(m), np.ones(m, dtype=bool)
    values = np.empty(len(rows))
    evaluate_partitions(*matrices, rows, sizes, loading, *room, np.empty(m), values)
    return rows, sizes, values
