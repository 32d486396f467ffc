"""From a fitted model and its votes to the summary of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goldless.diagnosis import AuditOutcome, Diagnosis, diagnose
from goldless.diagnosis.reference_class import reference_class
from goldless.diagnosis.result import Expectation
from goldless.diagnosis.worth import unexplained_share
from goldless.kernels.sparse import dense_codes
from goldless.plain import interval, plain, rounded
from goldless.report.against import audit_part
from goldless.report.items import item_parts, pattern_parts
from goldless.report.opened import Opened
from goldless.report.sentences import (
    Facts,
    headline,
    in_short,
    limits,
    on_real_panels,
    unknowable,
    what_to_do,
    what_to_watch,
)
from goldless.report.structure import matrices_part, structure_part
from goldless.report.summary import (
    SCHEMA,
    SCHEMA_VERSION,
    AgainstPart,
    Answer,
    CallsPart,
    Expected,
    Summary,
    Voter,
    VotesPart,
)
from goldless.report.table import MOST_ITEMS, item_table
from goldless.report.trust import diagnosis_part
from goldless.report.truth import truth_part
from goldless.report.voters import (
    expected_of,
    group_parts,
    numbers_part,
    order_of_voters,
    panel_part,
    suggested_panel,
    voter_parts,
)
from goldless.words import class_names


def summarize(
    model: Any,
    X: Any,
    *,
    truth: ArrayLike | None = None,
    panel_size: int = 5,
    panel: Sequence[int] | None = None,
    families: Any = None,
    title: str | None = None,
    source: str | None = None,
    warnings: Iterable[str] = (),
    diagnosis: Diagnosis | None = None,
    resamples: int | None = None,
    progress: Callable[[float], None] | None = None,
    items: int = MOST_ITEMS,
    audit: AuditOutcome | None = None,
    against: AgainstPart | None = None,
) -> dict[str, Any]:
    """Return everything the report shows, as numbers, strings, lists and dictionaries.

    The votes are read and collapsed to their distinct rows once; all figures come from these.

    Parameters
    ----------
    model : fitted estimator
        :class:`~goldless.LatentSML`, or another with a ``latent_model_``.
    X : array-like, frame or Votes of shape (n_items, n_voters)
        The votes it was fitted on.
    truth : array-like of shape (n_items,), optional
        Codes of the true labels (their place in ``model.classes_``, -1 unknown), for scoring only.
    panel_size : int, default=5
        Number of voters of the suggested panel, at most all.
    panel : sequence of int, optional
        Columns of the panel to show instead of the suggested one.
    families : optional
        As in :func:`goldless.diagnose`; they also steer the suggested panel.
    title, source : str, optional
        Name of the votes, and how they were read.
    warnings : iterable of str
        What was said while reading and fitting.
    diagnosis : Diagnosis, optional
        Of the model and these votes, if there is one already.
    resamples, progress : optional
        As in :func:`goldless.diagnose`, if there is none.
    items : int, default=100_000
        How many items the table of all items holds at most; 0 leaves it out.
    audit : AuditOutcome, optional
        What an audit of the model's labels found.
    against : AgainstPart, optional
        What changed since another batch; :func:`goldless.report` makes it.

    Returns
    -------
    dict
        It can be written as JSON; :func:`goldless.report.json_schema` says what is in it.
    """
    opened = Opened.of(model, X)
    if opened.rows is not None and truth is not None:
        truth = np.asarray(truth)[opened.rows]
    if opened.remark:
        warnings = [*warnings, opened.remark]
    if diagnosis is None and opened.columns is not None:
        diagnosis = diagnose(model, X, resamples=resamples, families=families, progress=progress)
    elif diagnosis is None:
        diagnosis = _diagnose(opened, resamples, families, progress)
    chosen = (
        suggested_panel(opened, panel_size, diagnosis.families) if panel is None else [int(voter) for voter in panel]
    )
    summary = _summary(opened, diagnosis, chosen, truth, title, source, list(dict.fromkeys(warnings)))
    return replace(
        summary,
        table=item_table(opened, truth, items),
        audit=None if audit is None else audit_part(audit),
        against=against,
        numbers=numbers_part(model.fitted_),
    ).to_dict()


def _diagnose(
    opened: Opened, resamples: int | None, families: Any, progress: Callable[[float], None] | None
) -> Diagnosis:
    """Diagnose the distinct rows; where labels of rows are known, all rows."""
    options = {"resamples": resamples, "families": families, "progress": progress}
    facts = opened.fitted.facts
    if (facts is not None and len(facts.rows)) or opened.said is not None:
        return diagnose(opened.model, opened.votes, **options)
    return diagnose(opened.model, opened.patterns, sample_weight=opened.table.counts, **options)


def _summary(
    opened: Opened,
    diagnosis: Diagnosis,
    panel: list[int],
    truth: ArrayLike | None,
    title: str | None,
    source: str | None,
    warnings: list[str],
) -> Summary:
    table, tree, counts = opened.table, opened.tree, opened.table.counts
    combined = diagnosis.expectation("combined").balanced_accuracy
    panel_accuracy = rounded(expected_of(opened, panel, combined))
    groups = group_parts(tree, diagnosis)
    voters = voter_parts(opened, diagnosis, panel, groups)
    estimate = opened.with_unseen().pairs.covariance()
    grouping, ended = opened.fitted.grouping, opened.fitted.convergence
    votes = VotesPart(
        n_items=table.n_items,
        n_voters=table.n_voters,
        n_patterns=table.n_patterns,
        coverage=rounded(opened.cast.sum() / max(table.n_items * table.n_voters, 1)),
        votes_per_item=rounded(opened.cast.sum() / max(table.n_items, 1), 2),
        classes=class_names(map(plain, opened.votes.classes), opened.said is not None),
        class_shares=[rounded(share) for share in tree.class_prior],
        vote_shares=[rounded(share) for share in opened.cast.sum(axis=1) / max(opened.cast.sum(), 1)],
    )
    expected = [_expected(row, voters) for row in diagnosis.expected]
    expected.append(_expected_of_panel(diagnosis, panel_accuracy, len(panel)))
    facts = Facts(
        votes=votes,
        groups=groups,
        voters=voters,
        diagnosis=diagnosis_part(opened, diagnosis),
        panel=panel_part(opened, diagnosis, panel, panel_accuracy),
        combined=rounded(combined),
        effective_votes=rounded(diagnosis.effective_votes, 2),
        effective_votes_interval=interval(diagnosis.effective_votes_interval, 2),
        unexplained=rounded(
            unexplained_share(estimate.covariance, tree.population_covariance(), estimate.standard_error)
        ),
        differs_from_majority=int(counts[opened.combined != opened.majority].sum()),
        ambiguous=grouping is not None and grouping.ambiguous,
        converged=ended is None or ended.converged,
        at_risk=diagnosis.at_risk,
    )
    verdict = None if grouping is None or not grouping.verdict else grouping.verdict
    if facts.ambiguous and verdict is not None and verdict not in warnings:
        warnings = [verdict, *warnings]
    answer = Answer(
        headline=headline(facts),
        in_short=in_short(facts),
        limits=limits(facts),
        advice=what_to_do(facts),
        verdict=verdict,
        ambiguous=facts.ambiguous,
        chance=rounded(facts.chance),
        n_groups=len(groups),
        n_sources=len(diagnosis.voters) - sum(len(group) - 1 for group in diagnosis.groups),
        n_echoing=sum(len(group.voters) for group in groups),
        effective_votes=facts.effective_votes,
        effective_votes_interval=facts.effective_votes_interval,
        expected=expected,
        on_real_panels=on_real_panels(
            expected[0],
            reference_class(opened.n_classes, opened.said is not None),
            facts.differs_from_majority / votes.n_items,
        ),
        unexplained=facts.unexplained,
        differs_from_majority=facts.differs_from_majority,
    )
    scored = None
    if truth is not None:
        labels = {"combined": opened.combined, "majority vote": opened.majority}
        by_item = {name: codes[table.inverse] for name, codes in labels.items()}
        by_item["panel"] = opened.by_panel(panel)
        best = diagnosis.expectation("voter thought best").column or 0
        scored = truth_part(dense_codes(opened.votes.codes), np.asarray(truth), by_item, best, opened.n_classes)
    return Summary(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        goldless_version=version("goldless"),
        title=title or "votes",
        source=source,
        method=type(opened.model).__name__,
        votes=votes,
        answer=answer,
        groups=groups,
        voters=voters,
        order=order_of_voters(diagnosis.balanced_accuracy, [group.voters for group in groups]),
        panel=facts.panel,
        matrices=matrices_part(opened, estimate, diagnosis),
        diagnosis=facts.diagnosis,
        patterns=pattern_parts(opened),
        items=item_parts(opened, diagnosis.voters, groups),
        structure=structure_part(opened, estimate),
        warnings=[*warnings, *what_to_watch(facts)],
        unknowable=unknowable(votes),
        truth=scored,
        table=None,
        audit=None,
        against=None,
        calls=_calls(opened),
    )


def _calls(opened: Opened) -> CallsPart | None:
    """Return what is told of items that too few voters call to be listed."""
    unseen = opened.fitted.unseen
    if unseen is None:
        return None
    low, high = unseen.interval.tolist()
    return CallsPart(
        at_least=unseen.at_least,
        unseen=rounded(unseen.items, 1),
        unseen_interval=(rounded(low, 1), rounded(high, 1)),
        given=unseen.given,
        sensitivity=[rounded(rate) for rate in opened.model.sensitivity_],
        precision=[rounded(rate) for rate in opened.model.precision_],
    )


def _expected(row: Expectation, voters: list[Voter]) -> Expected:
    """Return what is expected of one way to label."""
    real = None if row.interval is None else interval(row.interval)
    held = None if row.held is None else rounded(row.held)
    voted = None if row.column is None else voters[row.column].coverage
    value, ends = rounded(row.balanced_accuracy), interval(row.model_interval)
    return Expected(row.method, value, real, ends, held, row.voter, voted)


def _expected_of_panel(diagnosis: Diagnosis, accuracy: float, size: int) -> Expected:
    """Return what is expected of the labels of a panel, with what was true of panels of five on real votes.

    A panel of all voters gives the combined labels.
    """
    real, held = diagnosis.of_panel(accuracy)
    if size == len(diagnosis.voters):
        real = diagnosis.expectation("combined").interval
    return Expected("panel", accuracy, None if real is None else interval(real), None, held, f"of {size}")
