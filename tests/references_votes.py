"""Slow, obvious versions of what happens to votes: counting, collapsing, Dawid-Skene."""

from __future__ import annotations

from collections import Counter
from math import exp, log

import numpy as np


def pattern_counts(codes, weights):
    """Count the rows in a dictionary."""
    counts = Counter()
    for row, weight in zip(codes.tolist(), weights, strict=True):
        counts[tuple(row)] += int(weight)
    return counts


def pair_counts(codes, weights):
    """Look at every item and every pair of voters."""
    m = codes.shape[1]
    both, first_positive, both_positive = (np.zeros((m, m), dtype=np.int64) for _ in range(3))
    for row, weight in zip(codes, weights, strict=True):
        for i in range(m):
            for j in range(m):
                if row[i] >= 0 and row[j] >= 0:
                    both[i, j] += weight
                    first_positive[i, j] += weight * (row[i] == 1)
                    both_positive[i, j] += weight * (row[i] == 1) * (row[j] == 1)
    return both, first_positive, both_positive


def majority(codes):
    """Return +1, -1 or 0 for a tie, by counting the votes of every item."""
    return [int(np.sign(list(row).count(1) - list(row).count(0))) for row in codes]


def dawid_skene(codes, n_iter, pseudo=0.01):
    """EM of Dawid and Skene, item by item and vote by vote; return (positive rates given 0 and 1, balance).

    Starts from the share of positive votes of every item; ``pseudo`` votes and items are added everywhere.
    """
    n, m = codes.shape
    posterior = [sum(row == 1) / sum(row >= 0) for row in codes]
    for _ in range(n_iter + 1):  # the first M-step makes the start
        balance = (sum(posterior) + pseudo) / (n + 2 * pseudo)
        rates = np.zeros((2, m))
        for i in range(m):
            for y in (0, 1):
                said, total = pseudo, 2 * pseudo
                for item in range(n):
                    if codes[item, i] >= 0:
                        share = posterior[item] if y else 1 - posterior[item]
                        said += share * codes[item, i]
                        total += share
                rates[y, i] = said / total
        posterior = []
        for item in range(n):
            log_joint = [log(1 - balance), log(balance)]
            for i in range(m):
                if codes[item, i] >= 0:
                    for y in (0, 1):
                        log_joint[y] += log(rates[y, i] if codes[item, i] else 1 - rates[y, i])
            posterior.append(1 / (1 + exp(log_joint[0] - log_joint[1])))
    return rates, balance


def unit_votes(table, groups, hub=None):
    """Expected counts (labels, latents, votes) when every group, and every voter that is alone, has one soft vote."""
    negative, positive = (table.codes == 0).astype(float), (table.codes == 1).astype(float)
    own_latent = np.bincount(groups) >= 2
    alone = ~own_latent[groups]
    total, units = positive[:, alone].sum(axis=1), (positive + negative)[:, alone].sum(axis=1)
    members = {int(group): np.flatnonzero(groups == group) for group in np.flatnonzero(own_latent)}
    latent_of = {}
    for group, voters in members.items():
        said_positive = positive[:, voters].sum(axis=1)
        said = said_positive + negative[:, voters].sum(axis=1)
        asked = said > 0
        mean = np.divide(said_positive, said, out=np.full(len(said), 0.5), where=asked)
        latent_of[group] = (np.stack([1 - mean, mean], axis=1), asked)
        total, units = total + np.where(asked, mean, 0.0), units + asked
    if hub is None:
        share = total / np.maximum(units, 1)
        hub = np.stack([1 - share, share], axis=1)
    n_states = hub.shape[1]
    weight = hub * table.counts[:, None]
    latents = np.zeros((len(own_latent), 2, n_states))
    votes = np.zeros((len(groups), max(n_states, 2), 2))
    votes[alone, :n_states, 0] = negative[:, alone].T @ weight
    votes[alone, :n_states, 1] = positive[:, alone].T @ weight
    for group, (latent, asked) in latent_of.items():
        latents[group] = latent[asked].T @ weight[asked]
        voters, counted = members[group], latent * table.counts[:, None]
        votes[voters, :2, 0], votes[voters, :2, 1] = negative[:, voters].T @ counted, positive[:, voters].T @ counted
    return weight.sum(axis=0), latents, votes
