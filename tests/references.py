"""Slow, obvious versions of the mathematics, to compare the fast ones with."""

from __future__ import annotations

import itertools

import numpy as np

from goldless import LatentModel


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
    """Every configuration (y, latents, votes) of a small model, its states the classes, with its probability."""
    n_latent = model.latents.shape[1]
    for y in range(model.n_classes):
        for latents in itertools.product(range(n_latent), repeat=model.n_groups):
            p_latents = np.prod([model.latents[k, a, y] for k, a in enumerate(latents)])
            for votes in itertools.product(range(model.n_symbols), repeat=model.n_voters):
                p_votes = np.prod([model.votes[i, latents[model.groups[i]], f] for i, f in enumerate(votes)])
                yield y, latents, votes, model.prior[y] * p_latents * p_votes


def posterior(model, codes):
    """Pr(votes), Pr(Y | votes) and Pr(alpha_k | votes) of one item, by summing the joint distribution."""
    total, of_class = 0.0, np.zeros(model.n_classes)
    of_latent = np.zeros((model.n_groups, model.latents.shape[1]))
    for y, latents, votes, p in joint_distribution(model):
        if all(code in (-1, vote) for code, vote in zip(codes, votes, strict=True)):
            total += p
            of_class[y] += p
            of_latent[np.arange(model.n_groups), latents] += p
    return total, of_class / total, of_latent / total


def corners(n_symbols):
    """Corners of a regular simplex, one for each symbol; two are -1 and +1."""
    if n_symbols == 2:
        return np.array([[-1.0], [1.0]])
    return (np.eye(n_symbols) - 1 / n_symbols) * np.sqrt(n_symbols / (n_symbols - 1))


def moments(model):
    """Mean and covariance of the votes as corners, overall and for each class from the last, from the joint one."""
    corner = corners(model.n_symbols)
    results = []
    for wanted in (range(model.n_classes), *([label] for label in reversed(range(model.n_classes)))):
        total, mean, second = 0.0, 0.0, 0.0
        for y, _, votes, p in joint_distribution(model):
            if y in wanted:
                f = corner[list(votes)]
                total, mean, second = total + p, mean + p * f, second + p * (f @ f.T)
        results.append((mean / total, second / total - (mean @ mean.T) / total**2))
    return results


def expected_counts(model, codes, counts):
    """E-step by Bayes' rule over the joint distribution, item by item."""
    labels, latents = np.zeros(model.n_classes), np.zeros(model.latents.shape)
    votes_given = np.zeros(model.votes.shape)
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


def with_rates(model, **changes):
    """The model of two classes with other rates."""
    names = ("group_sensitivity", "group_specificity", "sensitivity_given_group", "specificity_given_group")
    rates = {name: getattr(model, name) for name in ("groups", "class_balance", *names, "copy_of")}
    return LatentModel(**(rates | changes))


def slow_line_of_two(ratio, said, counts, mean):
    """The line of two classes as it was when there was no other: slope by Newton's method, balance by bisection."""
    clipped, slope, intercept = ratio.clip(-30, 30), 1.0, 0.0
    for _ in range(50):
        fitted = 0.5 * (1 + np.tanh(0.5 * (slope * clipped + intercept)))
        left, spread = counts * (said - fitted), counts * fitted * (1 - fitted)
        total, first, second = spread.sum(), spread @ clipped, spread @ clipped**2
        step = np.array(
            [total * (left @ clipped) - first * left.sum(), second * left.sum() - first * (left @ clipped)]
        )
        step = (step / (total * second - first**2)).clip(-1.0, 1.0)
        slope, intercept = slope + step[0], intercept + step[1]
    low, high = -60.0, 60.0
    for _ in range(100):
        middle = (low + high) / 2
        if counts @ (0.5 * (1 + np.tanh(0.5 * (slope * ratio + middle)))) < mean * counts.sum():
            low = middle
        else:
            high = middle
    return slope, 0.5 * (1 + np.tanh(0.25 * (low + high)))
