"""Slow, obvious versions of the mathematics, to compare the fast ones with."""

from __future__ import annotations

import itertools

import numpy as np


def score_matrix(R):
    """Eq. (score), term by term."""
    m = len(R)
    score = np.zeros((m, m))
    for i, j in itertools.permutations(range(m), 2):
        others = [k for k in range(m) if k not in (i, j)]
        for k, l in itertools.permutations(others, 2):
            score[i, j] += abs(R[i, j] * R[k, l] - R[i, l] * R[k, j])
    return score


def residual_value(R, groups, v_on, v_off):
    """Eq. (res), term by term."""
    total = 0.0
    for i, j in itertools.permutations(range(len(R)), 2):
        fitted = v_on[i] * v_on[j] if groups[i] == groups[j] else v_off[i] * v_off[j]
        total += (fitted - R[i, j]) ** 2
    return total


def same_group(R, first, second, tol):
    """Appendix, Algorithm 'check if c(i1) = c(i2)', with its two arrays of zeros."""
    m = len(R)
    others = [j for j in range(m) if j not in (first, second)]

    def vanishes(i, j, k, l):
        left, right = R[i, j] * R[k, l], R[i, l] * R[k, j]
        return abs(left - right) <= tol * max(abs(left), abs(right))

    return all(vanishes(first, j, k, l) == vanishes(second, j, k, l) for j, k, l in itertools.permutations(others, 3))


def joint_distribution(model):
    """Every configuration (y, latents, votes) of a small model with its probability."""
    for y in (0, 1):
        p_y = model.class_balance if y else 1 - model.class_balance
        for latents in itertools.product((0, 1), repeat=model.n_groups):
            p_latents = 1.0
            for k, a in enumerate(latents):
                positive = model.group_sensitivity[k] if y else 1 - model.group_specificity[k]
                p_latents *= positive if a else 1 - positive
            for votes in itertools.product((0, 1), repeat=model.n_voters):
                p_votes = 1.0
                for i, f in enumerate(votes):
                    a = latents[model.groups[i]]
                    positive = model.sensitivity_given_group[i] if a else 1 - model.specificity_given_group[i]
                    p_votes *= positive if f else 1 - positive
                yield y, latents, votes, p_y * p_latents * p_votes


def posterior(model, codes):
    """Pr(votes), Pr(Y = 1 | votes) and Pr(alpha_k = 1 | votes) of one item, by summing the joint distribution."""
    total, positive, latent_positive = 0.0, 0.0, np.zeros(model.n_groups)
    for y, latents, votes, p in joint_distribution(model):
        if all(code in (-1, vote) for code, vote in zip(codes, votes, strict=True)):
            total += p
            positive += p * y
            latent_positive += p * np.array(latents)
    return total, positive / total, latent_positive / total


def moments(model):
    """Mean and covariance of the votes coded -1, +1, overall and for each class, from the joint distribution."""
    results = []
    for wanted in ((0, 1), (1,), (0,)):
        total, mean, second = 0.0, 0.0, 0.0
        for y, _, votes, p in joint_distribution(model):
            if y in wanted:
                f = 2 * np.array(votes) - 1
                total, mean, second = total + p, mean + p * f, second + p * np.outer(f, f)
        results.append((mean / total, second / total - np.outer(mean, mean) / total**2))
    return results


def expected_counts(model, codes, counts):
    """E-step by Bayes' rule over the joint distribution, item by item."""
    labels, latents = np.zeros(2), np.zeros((model.n_groups, 2, 2))
    votes_given = np.zeros((model.n_voters, 2, 2))
    log_likelihood = 0.0
    for item, count in zip(codes, counts, strict=True):
        matching = [
            (y, a, p)
            for y, a, votes, p in joint_distribution(model)
            if all(code in (-1, vote) for code, vote in zip(item, votes, strict=True))
        ]
        total = sum(p for *_, p in matching)
        log_likelihood += count * np.log(total)
        for y, a, p in matching:
            share = count * p / total
            labels[y] += share
            for k in range(model.n_groups):
                latents[k, a[k], y] += share
            for i, code in enumerate(item):
                if code >= 0:
                    votes_given[i, a[model.groups[i]], code] += share
    return labels, latents, votes_given, log_likelihood


def third_moment(values, loadings, counts):
    """Least squares of the centred third moments on v_i v_j v_k, over triples i < j < k."""
    numerator = denominator = 0.0
    for i, j, k in itertools.combinations(range(len(loadings)), 3):
        product = loadings[i] * loadings[j] * loadings[k]
        numerator += counts @ (values[:, i] * values[:, j] * values[:, k]) / counts.sum() * product
        denominator += product**2
    return numerator / denominator


def numerical_information(log_likelihood, n_parameters, step=1e-3):
    """Gradient and minus the second derivatives of a function of a step from zero, by differences."""
    unit = step * np.eye(n_parameters)
    gradient = np.array([(log_likelihood(e) - log_likelihood(-e)) / (2 * step) for e in unit])
    information = np.empty((n_parameters, n_parameters))
    for i, one in enumerate(unit):
        for j, other in enumerate(unit):
            mixed = log_likelihood(one + other) - log_likelihood(one - other)
            mixed -= log_likelihood(other - one) - log_likelihood(-one - other)
            information[i, j] = -mixed / (4 * step**2)
    return gradient, information


def same_wrong_answer(codes, counts, labels, n_classes):
    """Lift, standard error and items of every pair, item by item and pair by pair."""
    m = codes.shape[1]
    lift, error, items = np.full((m, m), np.nan), np.full((m, m), np.nan), np.zeros((m, m))
    for i, j in itertools.permutations(range(m), 2):
        found = []
        for item, count, label in zip(codes, counts, labels, strict=True):
            wrong = [voter for voter in range(m) if item[voter] not in (-1, label)]
            if i not in wrong or j not in wrong:
                continue
            others = [item[voter] for voter in wrong if voter not in (i, j)]
            popularity = [(others.count(item[one]) + 1 / (n_classes - 1)) / (len(others) + 1) for one in (i, j)]
            found += int(count) * [(item[i] == item[j]) - np.mean(popularity)]
        items[i, j] = len(found)
        if found:
            lift[i, j] = np.mean(found)
        if len(found) > 1:
            error[i, j] = np.std(found, ddof=1) / np.sqrt(len(found))
    return lift, error, items
