"""What every value of a byte says about the hub, and what a histogram of bytes says about every voter.

A unit is a group of voters that fits in a byte, or one byte of a wide group (:class:`PackingPlan`). Given the state
of the hub, units are independent, so the log-likelihood of a row is a sum of table entries, one for each byte; and
the sums an M-step needs follow from how much of each state fell on each value of each byte.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.packing import PackingPlan
from goldless.kernels.posterior import Message, posterior
from goldless.kernels.tree import add_rows, expect_two, hear_wide, in_fours, read_rows

_TINY = 1e-300
_FEW_UNITS = 64  # that numpy tables once before a kernel would be compiled


class RowSums(NamedTuple):
    """What a pass of EM adds up over rows. Sums of two blocks of rows add.

    ``histogram[byte, value, s]`` and ``wide_histogram[byte, value, a]``; of two states they hold the second.
    """

    labels: NDArray[np.float64]
    histogram: NDArray[np.float64]
    wide_latents: NDArray[np.float64]
    wide_histogram: NDArray[np.float64]
    log_likelihood: float

    def plus(self, other: RowSums) -> RowSums:
        """Return the sums over both blocks."""
        return RowSums(
            self.labels + other.labels,
            self.histogram + other.histogram,
            self.wide_latents + other.wide_latents,
            self.wide_histogram + other.wide_histogram,
            self.log_likelihood + other.log_likelihood,
        )


@dataclass(frozen=True, eq=False)
class UnitTables:
    """A tree model as tables over byte values."""

    plan: PackingPlan
    rates: NDArray[np.float64]  # (n_groups, n_latent_states, n_hub_states): Pr(alpha_k = a | hub)
    has_latent: NDArray[np.bool_]  # (n_groups,): whether a group has a latent of its own, or hangs on the hub
    log_weights: NDArray[np.float64]  # (n_hub_states,): log-probability of each state of the hub
    # (n_narrow, n_values, n_hub_states): log-likelihood of a byte value in each state of the hub
    narrow: NDArray[np.float64]
    # (n_wide_bytes, n_values, n_latent_states): log-likelihood of a byte value of a wide group for each value of its
    # latent
    wide: NDArray[np.float64]
    # (n_units, n_values, n_latent_states): likelihood of the votes of a unit for each value of its latent, the
    # largest scaled to 1
    likelihood: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        plan: PackingPlan,
        log_votes: NDArray[np.float64],
        rates: NDArray[np.float64],
        has_latent: NDArray[np.bool_],
        weights: NDArray[np.float64],
        once: bool = False,
    ) -> UnitTables:
        """Fill the tables.

        ``log_votes`` (n_voters, n_parent_states, n_symbols): log-probability of every vote in each state of the
        voter's parent; ``rates`` and ``has_latent``: of all groups, as above; ``weights`` (n_hub_states,):
        probability of each state of the hub; ``once``: whether the tables are for one pass, so that few need no
        kernel.
        """
        _, n_latent, n_states = rates.shape
        narrow = np.zeros((plan.n_narrow, plan.n_values, n_states))
        wide = np.zeros((int(plan.wide_start[-1]), plan.n_values, n_latent))
        likelihood = np.zeros((len(plan.unit_group), plan.n_values, n_latent))
        rates = np.ascontiguousarray(rates)
        fill: Callable[..., None] = _fill_few if once and len(plan.unit_group) <= _FEW_UNITS else _fill
        fill(*units_of(plan), log_votes, rates, has_latent, narrow, wide, likelihood)
        return cls(plan, rates, has_latent, np.log(np.maximum(weights, _TINY)), narrow, wide, likelihood)

    @cached_property
    def _ratios(self) -> NDArray[np.float64]:
        """Log-ratios to the first state; of two states the second, of more padded to fours."""
        n_narrow, n_values, n_states = self.narrow.shape
        if n_states == 2:
            return self.narrow[:, :, 1:] - self.narrow[:, :, :1]
        ratios = np.zeros((n_narrow, n_values, in_fours(n_states)))
        np.subtract(self.narrow, self.narrow[:, :, :1], out=ratios[:, :, :n_states])
        return ratios

    @cached_property
    def _wide_rates(self) -> NDArray[np.float64]:
        return self.rates[self.plan.wide_groups]

    def _messages(self, packed: NDArray[np.uint8]) -> list[Message]:
        """Return what the votes of every wide group say of the hub."""
        return [
            Message.of(read_rows(self._bytes_of(packed, own), self.wide[own]), rates)
            for rates, own in zip(self._wide_rates, self._wide_bytes, strict=True)
        ]

    def _bytes_of(self, packed: NDArray[np.uint8], own: slice) -> NDArray[np.uint8]:
        """Return the bytes of a wide group."""
        first = self.plan.n_narrow
        return np.ascontiguousarray(packed[:, first + own.start : first + own.stop])

    @property
    def _wide_bytes(self) -> list[slice]:
        """The bytes of every wide group, counted from the first wide byte."""
        return [slice(*ends) for ends in zip(self.plan.wide_start[:-1], self.plan.wide_start[1:], strict=True)]

    def hub_log_likelihood(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return log Pr(votes of the row | hub), shape (n_rows, n_hub_states)."""
        return self._heard(packed, read_rows(packed, self.narrow))

    def hub_log_ratio(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return log Pr(votes | state) - log Pr(votes | first state), shape (n_rows, n_hub_states - 1)."""
        out = read_rows(packed, self._ratios)
        if self.narrow.shape[2] == 2:
            out = np.concatenate([np.zeros_like(out), out])
        heard = self._heard(packed, out[: self.narrow.shape[2]])
        return heard[:, 1:] - heard[:, :1]

    def _heard(self, packed: NDArray[np.uint8], hub: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log-likelihoods of the hub, by state and row, with what wide groups say, by row and state."""
        if not len(self._wide_rates):
            return hub.T
        if self.wide.shape[2] > 2:
            return sum((message.log_scale + np.log(message.mixed) for message in self._messages(packed)), hub).T
        out = np.ascontiguousarray(hub.T)
        hear_wide(packed, self.plan.n_narrow, self.wide, self.plan.wide_start, self._wide_rates, out)
        return out

    def sums(self, packed: NDArray[np.uint8], counts: NDArray[np.float64]) -> RowSums:
        """Return what the rows add to an E-step; the log-likelihood lacks what :meth:`base` adds."""
        n_states, n_latent, n_wide_bytes = self.narrow.shape[2], self.wide.shape[2], len(self.wide)
        if n_latent == 2:
            labels, wide_latents = np.zeros(n_states), np.zeros(self._wide_rates.shape)
            histogram = np.zeros(self._ratios.shape)
            wide_histogram = np.zeros((n_wide_bytes, self.plan.n_values, 1))
            log_likelihood = expect_two(
                packed, counts, self._ratios, self.wide, self.plan.wide_start, self._wide_rates, self.log_weights,
                labels, histogram, wide_latents, wide_histogram,
            )  # fmt: skip
            return RowSums(labels, histogram[:, :, :n_states], wide_latents, wide_histogram, log_likelihood)
        hub = read_rows(packed, self._ratios)  # with the states that tables are padded by, which stay zero
        if n_states == 2:
            hub = np.concatenate([np.zeros_like(hub), hub])
        hub[:n_states] += self.log_weights[:, None]
        found = posterior(hub[:n_states], self._messages(packed), counts)
        wide_histogram = np.zeros((n_wide_bytes, self.plan.n_values, n_latent))
        for parents, own in zip(found.parents, self._wide_bytes, strict=True):
            wide_histogram[own] = added_rows(
                self.plan, self._bytes_of(packed, own), parents, n_bytes=own.stop - own.start
            )
        return RowSums(
            found.hub.sum(axis=1),
            without_first(added_rows(self.plan, packed, hub, n_states)),
            np.array(found.latents).reshape(self._wide_rates.shape),
            without_first(wide_histogram),
            found.log_likelihood,
        )

    def base(self, totals: NDArray[np.float64]) -> float:
        """Return the log-likelihood of all rows if the hub were in its first state, wide groups aside.

        ``totals`` of shape (n_bytes, n_values) counts the items that have each value of each byte.
        """
        return float((totals[: self.plan.n_narrow] * self.narrow[:, :, 0]).sum())

    def expected(self, sums: RowSums, totals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected counts behind the sums of a pass.

        Returns ``latents`` (n_groups, n_latent_states, n_hub_states): expected items with (alpha_k, hub); nothing for
        groups without a latent of their own; ``votes`` (n_voters, n_parent_states, n_symbols): expected votes for
        every symbol in each state of the voter's parent.
        """
        plan = self.plan
        histogram = with_first(sums.histogram, totals[: plan.n_narrow])
        wide = with_first(sums.wide_histogram, totals[plan.n_narrow :])
        latents = np.zeros(self.rates.shape)
        latents[plan.wide_groups] = sums.wide_latents
        votes = np.zeros((plan.n_voters, max(self.rates.shape[1:]), plan.radix - plan.missing))
        _collect(*units_of(plan), histogram, wide, self.likelihood, self.rates, self.has_latent, latents, votes)
        return latents, votes


def without_first(of_states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave the first of two states out, which the second and the total tell; of more states leave none out."""
    return np.ascontiguousarray(of_states[:, :, 1:]) if of_states.shape[2] == 2 else of_states


def with_first(histogram: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the histogram of all states (:func:`without_first`)."""
    if histogram.shape[2] != 1:
        return np.ascontiguousarray(histogram)
    return np.concatenate([np.maximum(totals[:, :, None] - histogram, 0.0), histogram], axis=2)


def byte_totals(plan: PackingPlan, packed: NDArray[np.uint8], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many items have each value of each byte, shape (n_bytes, n_values)."""
    return added_rows(plan, packed, counts[None], n_bytes=plan.n_bytes)[:, :, 0]


def added_rows(
    plan: PackingPlan,
    packed: NDArray[np.uint8],
    weights: NDArray[np.float64],
    n_states: int | None = None,
    n_bytes: int | None = None,
) -> NDArray[np.float64]:
    """Return how much weight falls on each value of the first bytes, shape (n_bytes, n_values, n_states).

    ``weights`` has shape (n_states, n_rows), or more states, which are left out.
    """
    n_states = len(weights) if n_states is None else n_states
    n_more = in_fours(n_states) - len(weights)
    if n_more > 0:
        weights = np.concatenate([weights, np.zeros((n_more, weights.shape[1]))])
    histogram = np.zeros((plan.n_narrow if n_bytes is None else n_bytes, plan.n_values, len(weights)))
    add_rows(packed, weights, histogram)
    return histogram[:, :, :n_states]


def units_of(plan: PackingPlan) -> tuple:
    """Return what kernels need to know of a plan."""
    return (
        plan.voters,
        plan.unit_start,
        plan.unit_group,
        plan.unit_byte,
        plan.unit_weight,
        plan.n_narrow,
        plan.radix,
        plan.missing,
    )


@compiled
def _fill(
    voters, unit_start, unit_group, unit_byte, unit_weight, n_narrow, radix, missing,
    log_votes, rates, has_latent, narrow, wide, likelihood,
):  # fmt: skip
    """Add the message of every unit to the table of its byte."""
    n_states, n_latent = narrow.shape[2], rates.shape[1]
    n_values = likelihood.shape[1]
    evidence = np.zeros((n_values, max(n_states, n_latent)))
    for unit in range(unit_group.size):
        group, byte = unit_group[unit], unit_byte[unit]
        own = has_latent[group]
        n_parents = n_latent if own else n_states
        evidence[0] = 0.0
        size = 1
        for i in range(unit_start[unit], unit_start[unit + 1]):  # each voter is the next higher digit
            for digit in range(radix - 1, -1, -1):
                vote = digit - missing
                for value in range(size):
                    for parent in range(n_parents):
                        entry = evidence[value, parent]
                        if vote >= 0:
                            entry += log_votes[voters[i], parent, vote]
                        evidence[digit * size + value, parent] = entry
            size *= radix
        if byte >= n_narrow:  # messages of a wide group need all its bytes
            for value in range(size):
                for a in range(n_latent):
                    wide[byte - n_narrow, value, a] = evidence[value, a]
            continue
        if own:
            for value in range(size):
                top = evidence[value, 0]
                for a in range(1, n_latent):
                    top = max(top, evidence[value, a])
                for a in range(n_latent):
                    likelihood[unit, value, a] = np.exp(evidence[value, a] - top)
                for state in range(n_states):
                    mean = 0.0
                    for a in range(n_latent):
                        mean += rates[group, a, state] * likelihood[unit, value, a]
                    evidence[value, state] = top + np.log(max(mean, _TINY))
        weight = unit_weight[unit]
        for high in range(n_values // (weight * size)):
            for value in range(size):
                start = (high * size + value) * weight
                for low in range(weight):
                    for state in range(n_states):
                        narrow[byte, start + low, state] += evidence[value, state]


def _fill_few(
    voters, unit_start, unit_group, unit_byte, unit_weight, n_narrow, radix, missing,
    log_votes, rates, has_latent, narrow, wide, likelihood,
):  # fmt: skip
    """Do what :func:`_fill` does, in numpy."""
    n_values = likelihood.shape[1]
    _, n_latent, n_states = rates.shape
    for unit, (group, byte, weight) in enumerate(zip(unit_group, unit_byte, unit_weight, strict=True)):
        own = has_latent[group]
        evidence = np.zeros((1, n_latent if own or byte >= n_narrow else n_states))
        for voter in voters[unit_start[unit] : unit_start[unit + 1]]:  # each voter is the next higher digit
            of_votes = log_votes[voter, : evidence.shape[1]].T
            of_digits = np.concatenate([np.zeros((missing, evidence.shape[1])), of_votes])
            evidence = (evidence[None] + of_digits[:, None]).reshape(-1, evidence.shape[1])
        size = len(evidence)
        if byte >= n_narrow:  # messages of a wide group need all its bytes
            wide[byte - n_narrow, :size] = evidence
            continue
        if own:
            message = Message.of(evidence.T, rates[group])
            likelihood[unit, :size] = message.likelihood.T
            evidence = (message.log_scale + np.log(message.mixed)).T
        narrow[byte] += evidence[np.arange(n_values) // weight % size]


@compiled
def _collect(
    voters, unit_start, unit_group, unit_byte, unit_weight, n_narrow, radix, missing,
    histogram, wide, likelihood, rates, has_latent, latents, votes,
):  # fmt: skip
    """Turn histograms over byte values into expected counts of latents and votes."""
    n_states, n_latent = histogram.shape[2], rates.shape[1]
    n_values = likelihood.shape[1]
    local = np.empty((n_values, max(n_states, n_latent)))
    parents = np.empty(n_latent)
    for unit in range(unit_group.size):
        group, byte = unit_group[unit], unit_byte[unit]
        own = has_latent[group]
        size = radix ** (unit_start[unit + 1] - unit_start[unit])
        n_parents = n_latent if own else n_states
        if byte >= n_narrow:
            for value in range(size):
                for a in range(n_latent):
                    local[value, a] = wide[byte - n_narrow, value, a]
        else:
            local[:size] = 0.0
            weight = unit_weight[unit]
            for high in range(n_values // (weight * size)):
                for value in range(size):
                    start = (high * size + value) * weight
                    for low in range(weight):
                        for state in range(n_states):
                            local[value, state] += histogram[byte, start + low, state]
        if own and byte < n_narrow:
            for value in range(size):
                parents[:] = 0.0
                for state in range(n_states):
                    mean = 0.0
                    for a in range(n_latent):
                        mean += rates[group, a, state] * likelihood[unit, value, a]
                    share = local[value, state] / max(mean, _TINY)
                    for a in range(n_latent):
                        joint = share * rates[group, a, state] * likelihood[unit, value, a]
                        latents[group, a, state] += joint
                        parents[a] += joint
                for a in range(n_latent):
                    local[value, a] = parents[a]
        for i in range(unit_start[unit], unit_start[unit + 1]):  # sum the lowest digit out, voter by voter
            size //= radix
            for value in range(size):
                for parent in range(n_parents):
                    total = 0.0
                    for digit in range(radix):
                        entry = local[value * radix + digit, parent]
                        total += entry
                        vote = digit - missing
                        if vote >= 0:
                            votes[voters[i], parent, vote] += entry
                    local[value, parent] = total
