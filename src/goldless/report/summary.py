"""A fitted model and its votes as a plain dictionary; the schema is in docs/report-schema.md."""

from __future__ import annotations

import warnings as _warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from goldless.diagnosis import Diagnosis, diagnose
from goldless.diagnosis.panel_scale import on_one_scale
from goldless.diagnosis.worth import expected_of_panel, unexplained_share
from goldless.estimators.latent_base import LatentEstimator
from goldless.estimators.majority import MajorityVote
from goldless.fitting.explain import Explanation
from goldless.fitting.panels import columns_of
from goldless.io.encode import encode_votes
from goldless.maths.score import score_matrix
from goldless.maths.selection import select_voters
from goldless.maths.tree import LatentModel
from goldless.plain import as_number, interval, plain, rounded
from goldless.report.sentences import headline, unknowable, what_to_do, what_to_watch
from goldless.report.structure import structure_of
from goldless.report.truth import summarize_truth
from goldless.votes.patterns import PatternTable
from goldless.votes.votes import Votes

SCHEMA_VERSION = 2
_MATRICES_UP_TO = 300
_PATTERNS = 12
_ITEMS = 15
_SOURCES = 3
_HEARD = 0.05  # log-odds


def summarize(
    model: Any,
    X: Any,
    *,
    truth: ArrayLike | None = None,
    panel_size: int = 5,
    panel: Sequence[int] | None = None,
    title: str | None = None,
    source: str | None = None,
    warnings: Iterable[str] = (),
    diagnosis: Diagnosis | None = None,
) -> dict[str, Any]:
    """Return everything the report shows, as numbers, strings, lists and dictionaries.

    Parameters
    ----------
    model : fitted estimator
        :class:`~goldless.LatentSML`, or another with a ``latent_model_``.
    X : array-like, frame or Votes of shape (n_items, n_voters)
        The votes it was fitted on.
    truth : array-like of shape (n_items,), optional
        Codes of the true labels (0 negative, 1 positive, -1 unknown), for scoring only.
    panel_size : int, default=5
        Number of voters of the suggested panel, at most all.
    panel : sequence of int, optional
        Columns of the panel to show instead of the suggested one.
    title, source : str, optional
        Name of the votes, and how they were read.
    warnings : iterable of str
        What was said while reading and fitting.
    diagnosis : Diagnosis, optional
        Of the model and these votes, if there is one already.

    Returns
    -------
    dict
        It can be written as JSON; see ``docs/report-schema.md``.
    """
    check_is_fitted(model)
    if not isinstance(model, LatentEstimator):
        raise TypeError(f"a report needs a model of the voters such as LatentSML, not {type(model).__name__}")
    votes = encode_votes(X, classes=model.classes_, missing=model.missing)
    if votes.n_voters != model.n_features_in_:
        raise ValueError(f"the model has {model.n_features_in_} voters, the votes have {votes.n_voters}")
    table = PatternTable.of(votes.codes)
    latent = model.latent_model_
    names = _names(model, votes)
    diagnosis = diagnose(model, votes) if diagnosis is None else diagnosis
    panel = _panel(model, min(panel_size, latent.n_voters)) if panel is None else [int(voter) for voter in panel]
    labels = _labels_of_patterns(model, votes, table, panel)
    why = model.explain(_pattern_votes(model, votes, table))
    posterior = why.probability
    groups = named_groups(latent)
    estimate = table.pair_counts.covariance()
    covariance, fitted = estimate.covariance, latent.population_covariance()
    voters = _voters(diagnosis, latent, table, panel, groups)
    of_panel = expected_of_panel(
        labels["panel"],
        labels["combined"],
        posterior,
        table.counts,
        diagnosis.expectation("combined").balanced_accuracy,
    )
    expected = [
        {
            "method": row.method,
            "balanced_accuracy": rounded(row.balanced_accuracy),
            "interval": [rounded(end) for end in row.interval],
            "detail": row.voter,
        }
        for row in diagnosis.expected
    ]
    expected.append(
        {"method": "panel", "balanced_accuracy": rounded(of_panel), "interval": None, "detail": f"of {len(panel)}"}
    )
    best = diagnosis.expectation("best single voter").column or 0
    score = getattr(model, "score_matrix_", None)
    score = np.asarray(score_matrix(covariance)) if score is None else score
    summary: dict[str, Any] = {
        "schema": "goldless-report",
        "schema_version": SCHEMA_VERSION,
        "goldless_version": version("goldless"),
        "title": title or "votes",
        "source": source,
        "method": type(model).__name__,
        "votes": {
            "n_items": table.n_items,
            "n_voters": table.n_voters,
            "n_patterns": table.n_patterns,
            "coverage": rounded((votes.codes >= 0).mean()),
            "votes_per_item": rounded((votes.codes >= 0).sum(axis=1).mean(), 2),
            "classes": [str(plain(label)) for label in model.classes_],
            "class_balance": rounded(latent.class_balance),
        },
        "answer": {
            "n_groups": len(groups),
            "n_sources": latent.n_groups,
            "n_echoing": sum(len(group["voters"]) for group in groups),
            "effective_votes": rounded(diagnosis.effective_votes, 2),
            "effective_votes_interval": interval(diagnosis.effective_votes_interval, 2),
            "expected": expected,
            "unexplained": rounded(unexplained_share(covariance, fitted, estimate.standard_error)),
            "differs_from_majority": int(table.counts[labels["combined"] != labels["majority vote"]].sum()),
        },
        "groups": groups,
        "voters": voters,
        "order": _order(diagnosis.balanced_accuracy, groups),
        "panel": {
            "voters": panel,
            "names": [names[voter] for voter in panel],
            "effective_votes": [
                rounded(diagnosis.effective_votes_of(panel[:k]), 2) for k in range(1, len(panel) + 1)
            ],
            "balanced_accuracy": next(row["balanced_accuracy"] for row in expected if row["method"] == "panel"),
            "choices": _choices(model, names, rounded(diagnosis.expectation("combined").balanced_accuracy)),
        },
        "matrices": _matrices(score, covariance, fitted, diagnosis),
        "diagnosis": _diagnosis(diagnosis, groups),
        "patterns": _patterns(table, posterior, labels),
        "items": _items(votes, table, why, labels, names, groups),
        "structure": structure_of(model, latent, estimate),
    }
    answer = summary["answer"]
    answer["headline"] = headline(summary)
    warnings = list(dict.fromkeys(warnings))
    verdict = getattr(model, "verdict_", None)
    answer["verdict"] = verdict if isinstance(verdict, str) else None
    answer["ambiguous"] = bool(getattr(model, "ambiguous_", False))
    if answer["ambiguous"] and verdict not in warnings:
        warnings.insert(0, str(verdict))
    answer["advice"] = what_to_do(summary)
    summary["warnings"] = [*warnings, *what_to_watch(summary, model)]
    summary["unknowable"] = unknowable(summary)
    summary["truth"] = None
    if truth is not None:
        combined = {name: codes[table.inverse] for name, codes in labels.items()}
        summary["truth"] = summarize_truth(votes.codes, np.asarray(truth), combined, best)
    return summary


def _panel(model: Any, size: int) -> list[int]:
    """Return the columns of the suggested panel."""
    if hasattr(model, "select"):
        return columns_of(model, model.select(size)).tolist()
    return select_voters(model.latent_model_, size).tolist()


def _choices(model: Any, names: list[str], expected: float) -> list[dict[str, Any]]:
    """Return the panels worth their size, smallest first; none if the estimator lists none."""
    panels = on_one_scale(model, model.panels(), expected) if hasattr(model, "panels") else ()
    return [
        {
            "voters": [names[voter] for voter in columns_of(model, panel.voters)],
            "balanced_accuracy": rounded(panel.balanced_accuracy),
            "vote_accuracy": rounded(panel.vote_accuracy),
            "effective_votes": rounded(panel.effective_votes, 2),
        }
        for panel in panels
    ]


def _names(model: Any, votes: Votes) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    names = votes.voters if names is None else names
    return [f"voter {i}" for i in range(votes.n_voters)] if names is None else [str(name) for name in names]


def _labels_of_patterns(
    model: Any, votes: Votes, table: PatternTable, panel: Sequence[int]
) -> dict[str, NDArray[np.int64]]:
    """Return the label of every pattern by each way to combine, as codes."""
    patterns = _pattern_votes(model, votes, table)
    latent = model.latent_model_.subset(np.array(panel))
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        majority = MajorityVote().fit(patterns, sample_weight=table.counts)
    of_panel = latent.log_likelihood_ratio(np.ascontiguousarray(table.codes[:, panel]))
    return {
        "combined": _codes(model.predict(patterns), votes.classes),
        "majority vote": _codes(majority.predict(patterns), votes.classes),
        "panel": (of_panel > 0).astype(np.int64),
    }


def _pattern_votes(model: Any, votes: Votes, table: PatternTable) -> Votes:
    return Votes(table.codes, votes.classes, getattr(model, "feature_names_in_", None))


def _codes(labels: NDArray, classes: NDArray) -> NDArray[np.int64]:
    return np.array([label == classes[1] for label in labels.tolist()], dtype=np.int64)


def named_groups(latent: LatentModel) -> list[dict[str, Any]]:
    """Return the groups of two or more voters, largest first, called A, B, ..."""
    sizes = np.bincount(latent.groups)
    numbers = sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda group: (-sizes[group], group))
    return [
        {
            "name": _letters(position),
            "index": int(number),
            "voters": np.flatnonzero(latent.groups == number).tolist(),
            "sensitivity": rounded(latent.group_sensitivity[number]),
            "specificity": rounded(latent.group_specificity[number]),
            "balanced_accuracy": rounded((latent.group_sensitivity[number] + latent.group_specificity[number]) / 2),
        }
        for position, number in enumerate(numbers)
    ]


def _letters(position: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    name = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _diagnosis(diagnosis: Diagnosis, groups: list[dict]) -> dict[str, Any]:
    """Return what can be trusted, and give every group its stability and what one more of its kind would add."""
    together = diagnosis.co_membership
    for group in groups:
        members, size = group["voters"], len(group["voters"])
        inside = None if together is None else together[np.ix_(members, members)]
        group["stability"] = None if inside is None else rounded((inside.sum() - size) / (size * (size - 1)), 3)
        gain = diagnosis.one_more.get(group["index"])
        group["one_more"] = None if gain is None else rounded(gain, 3)
        ends = diagnosis.one_more_interval.get(group["index"])
        group["one_more_interval"] = None if ends is None else interval(ends, 3)
    voters = diagnosis.voters
    return {
        "verdict": diagnosis.verdict,
        "advice": diagnosis.advice,
        "cannot_tell": list(diagnosis.cannot_tell),
        "independence_pvalue": as_number(diagnosis.independence_pvalue),
        "fit_pvalue": as_number(diagnosis.fit_pvalue),
        "calibration": {name: rounded(value) for name, value in diagnosis.calibration._asdict().items()},
        "class_balance_interval": [rounded(end) for end in diagnosis.class_balance_interval],
        "effective_votes_by_class": [rounded(value, 2) for value in diagnosis.effective_votes_by_class],
        "effective_votes_by_class_interval": [
            interval(ends, 2) for ends in diagnosis.effective_votes_by_class_interval
        ],
        "n_resamples": diagnosis.n_resamples,
        "near_duplicates": [
            {
                "voters": [pair.first, pair.second],
                "names": [voters[pair.first], voters[pair.second]],
                "agreement": rounded(pair.agreement),
                "correlation": rounded(pair.correlation),
            }
            for pair in diagnosis.near_duplicates
        ],
        "weak_groups": [[voters[voter] for voter in group] for group in diagnosis.weak_groups],
        "without": dict(diagnosis.without),
        "said_without": diagnosis.said_without(),
    }


def _voters(
    diagnosis: Diagnosis, latent: LatentModel, table: PatternTable, panel: list[int], groups: list[dict]
) -> list[dict[str, Any]]:
    names = diagnosis.voters
    cast, positive = table.pair_counts.votes_cast, table.pair_counts.positive_votes
    group_of = {voter: group["name"] for group in groups for voter in group["voters"]}
    informative = (positive > 0) & (positive < cast)
    return [
        {
            "index": voter,
            "name": name,
            "group": group_of.get(voter),
            "sensitivity": rounded(diagnosis.sensitivity[voter]),
            "specificity": rounded(diagnosis.specificity[voter]),
            "balanced_accuracy": rounded(diagnosis.balanced_accuracy[voter]),
            "sensitivity_interval": interval(diagnosis.sensitivity_interval[voter]),
            "specificity_interval": interval(diagnosis.specificity_interval[voter]),
            "balanced_accuracy_interval": interval(diagnosis.balanced_accuracy_interval[voter]),
            "coverage": rounded(cast[voter] / max(table.n_items, 1)),
            "positive_share": rounded(positive[voter] / max(cast[voter], 1)),
            "uniqueness": rounded(diagnosis.uniqueness[voter]),
            "uniqueness_interval": interval(diagnosis.uniqueness_interval[voter]),
            "panel": panel.index(voter) + 1 if voter in panel else None,
            "copy_of": names[latent.copy_of[voter]] if latent.copy_of[voter] != voter else None,
            "informative": bool(informative[voter]),
        }
        for voter, name in enumerate(names)
    ]


def _order(accuracy: NDArray[np.float64], groups: list[dict]) -> list[int]:
    """Return the voters group by group, best first within a group, then those alone."""
    by_accuracy = np.argsort(-accuracy, kind="stable").tolist()
    grouped = [voter for group in groups for voter in by_accuracy if voter in set(group["voters"])]
    alone = set(range(len(accuracy))) - set(grouped)
    return grouped + [voter for voter in by_accuracy if voter in alone]


def _matrices(score: NDArray, covariance: NDArray, fitted: NDArray, diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the pictures of pairs, the diagonal as zero; None for more voters than a picture can show."""
    if len(score) > _MATRICES_UP_TO:
        return None
    return {
        "score": round_matrix(score),
        "covariance": round_matrix(covariance),
        "fitted": round_matrix(fitted),
        "left_over": round_matrix(covariance - fitted),
        "co_membership": None if diagnosis.co_membership is None else round_matrix(diagnosis.co_membership),
    }


def round_matrix(matrix: NDArray) -> list[list[float]]:
    """Return a matrix off the diagonal, to three digits of its largest entry."""
    off = np.where(np.eye(len(matrix), dtype=bool), 0.0, np.nan_to_num(matrix))
    largest = np.abs(off).max(initial=0.0)
    digits = 3 if largest <= 0 else int(np.clip(2 - np.floor(np.log10(largest)), 0, 12))
    return (off.round(digits) + 0.0).tolist()


def _patterns(table: PatternTable, posterior: NDArray, labels: dict[str, NDArray]) -> list[dict[str, Any]]:
    """Return the commonest patterns in which voters disagree."""
    positive, negative = (table.codes == 1).sum(axis=1), (table.codes == 0).sum(axis=1)
    disagree = np.flatnonzero((positive > 0) & (negative > 0))
    commonest = disagree[np.argsort(-table.counts[disagree], kind="stable")][:_PATTERNS]
    return [
        {
            "votes": table.codes[row].tolist(),
            "count": int(table.counts[row]),
            "share": rounded(table.counts[row] / max(table.n_items, 1), 6),
            **_decision(row, positive, negative, posterior, labels),
        }
        for row in commonest
    ]


def _decision(row: int, positive: NDArray, negative: NDArray, posterior: NDArray, labels: dict) -> dict[str, Any]:
    return {
        "positive_votes": int(positive[row]),
        "negative_votes": int(negative[row]),
        "probability": rounded(posterior[row]),
        "label": int(labels["combined"][row]),
        "majority": int(labels["majority vote"][row]),
    }


def _items(
    votes: Votes, table: PatternTable, why: Explanation, labels: dict, voters: list[str], groups: list[dict]
) -> list[dict[str, Any]]:
    """Return one item of each of the patterns that the model is least sure of, and whose vote would help."""
    posterior = why.probability
    letters = {group["index"]: group["name"] for group in groups}
    sources = [letters.get(group, voters[members[0]]) for group, members in enumerate(why.groups)]
    positive, negative = (table.codes == 1).sum(axis=1), (table.codes == 0).sum(axis=1)
    spoken = np.flatnonzero(positive + negative > 0)
    unsure = spoken[np.lexsort((-table.counts[spoken], np.abs(posterior[spoken] - 0.5).round(4)))][:_ITEMS]
    first = np.full(table.n_patterns, votes.n_items)
    np.minimum.at(first, table.inverse, np.arange(votes.n_items))
    names = votes.items
    return [
        {
            "item": str(first[row] + 1 if names is None else names[first[row]]),
            "row": int(first[row]),
            "alike": int(table.counts[row]) - 1,
            "votes": table.codes[row].tolist(),
            **_decision(row, positive, negative, posterior, labels),
            "ask": voters[why.next_voter[row]] if why.next_voter[row] >= 0 else None,
            "gain": rounded(why.next_gain[row]),
            "because": _because(why.by_group[row], sources),
        }
        for row in unsure
    ]


def _because(log_odds: NDArray[np.float64], sources: list[str]) -> list[list[Any]]:
    """Return the groups, or voters alone, that speak loudest on an item, and the log-odds each adds.

    Where all of the loudest say the same, the last makes room for the loudest that speaks against them.
    """
    ordered = [g for g in np.argsort(-np.abs(log_odds).round(9), kind="stable") if abs(log_odds[g]) >= _HEARD]
    loudest = ordered[:_SOURCES]
    against = [g for g in ordered[_SOURCES:] if np.sign(log_odds[g]) != np.sign(log_odds[ordered[0]])]
    if against and len({np.sign(log_odds[g]) for g in loudest}) == 1:
        loudest[-1] = against[0]
    return [[sources[group], rounded(log_odds[group], 2)] for group in loudest]
