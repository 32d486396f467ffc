"""Slow, obvious versions of what happens to votes: counting, collapsing, Dawid-Skene."""

from __future__ import annotations

from collections import Counter
from math import exp, log

import numpy as np

import goldless as gl


def pattern_counts(codes, weights):
    """Count the rows in a dictionary."""
    counts = Counter()
    for row, weight in zip(codes.tolist(), weights, strict=True):
        counts[tuple(row)] += int(weight)
    return counts


def pair_tables(codes, n_symbols, weights):
    """Look at every item and every pair of voters."""
    m = codes.shape[1]
    tables = np.zeros((n_symbols, n_symbols, m, m), dtype=np.int64)
    for row, weight in zip(codes, weights, strict=True):
        for i in range(m):
            for j in range(m):
                if row[i] >= 0 and row[j] >= 0:
                    tables[row[i], row[j], i, j] += weight
    return tables


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
    n_classes = table.n_symbols
    said = np.stack([table.codes == label for label in range(n_classes)], axis=2).astype(float)
    own_latent = np.bincount(groups) >= 2
    unit = np.stack([said[:, groups == group].sum(axis=1) for group in range(len(own_latent))], axis=1)
    cast = unit.sum(axis=2, keepdims=True)
    mean = unit / np.maximum(cast, 1)
    if hub is None:
        hub = mean.sum(axis=1) / np.maximum((cast > 0).sum(axis=1), 1)
        hub[:, 0] = 1 - hub[:, 1:].sum(axis=1)
    n_states = hub.shape[1]
    weight = hub * table.counts[:, None]
    latents = np.zeros((len(own_latent), n_classes, n_states))
    votes = np.zeros((len(groups), max(n_states, n_classes), n_classes))
    for group in np.flatnonzero(own_latent):
        latents[group] = mean[:, group].T @ weight
    for voter, group in enumerate(groups):
        parent = mean[:, group] * table.counts[:, None] if own_latent[group] else weight
        votes[voter, : parent.shape[1]] = parent.T @ said[:, voter]
    return weight.sum(axis=0), latents, votes


def assert_looks_are_those_of_memory(source, frame):
    """What is seen of single items of a source is what is seen of the same votes in memory."""
    model = gl.LatentSML().fit(frame)
    why, expected = model.explain(source), model.explain(frame)
    for name in ("probability", "log_odds", "by_group", "other", "next_voter", "next_gain", "label", "runner_up"):
        np.testing.assert_array_equal(getattr(why, name), getattr(expected, name))
    assert list(why.items) == list(frame.index)
    np.testing.assert_array_equal(gl.audit(model, source, n=20).rows, gl.audit(model, frame, n=20).rows)
    asked, again = model.next_to_label(source, 5), model.next_to_label(frame, 5)
    np.testing.assert_array_equal(asked.rows, again.rows)
    assert list(asked.items) == list(frame.index[asked.rows])
    assert gl.diagnose(model, source, resamples=0).verdict == gl.diagnose(model, frame, resamples=0).verdict
    pages = [gl.report(votes, model=model, resamples=0).summary["answer"] for votes in (source, frame)]
    assert pages[0] == pages[1]
