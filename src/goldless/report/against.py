"""Another batch of votes by the same voters, and an audit: what the report sets beside its own figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldless.diagnosis import AuditOutcome, Diagnosis, compare
from goldless.plain import interval, rounded
from goldless.report.summary import AgainstPart, AuditPart, AuditRow, ChangePart, Drift


def against_part(
    before: Diagnosis, after: Diagnosis, title: str, only_before: list[str], only_after: list[str]
) -> AgainstPart:
    """Return what changed between two batches.

    ``before`` and ``after``: of the voters that both have, in the same order; ``title``: name of the earlier batch;
    ``only_before`` and ``only_after``: voters that only one of them has.
    """
    found = compare(before, after)
    pvalue = np.where(np.isnan(found.recall_pvalue), np.inf, found.recall_pvalue).min(axis=1)
    rates = [side.free_estimates.recall.mean(axis=1) for side in (before, after)]
    voters = [
        Drift(
            name=name,
            before=rounded(rates[0][voter]),
            after=rounded(rates[1][voter]),
            pvalue=None if np.isinf(pvalue[voter]) else rounded(pvalue[voter], 6),
            drifted=bool(pvalue[voter] < found.level),
        )
        for voter, name in enumerate(found.voters)
        if np.isfinite([rates[0][voter], rates[1][voter]]).all()
    ]
    return AgainstPart(
        title=title,
        n_items=before.n_items,
        verdict=found.verdict,
        level=found.level,
        classes=list(found.classes),
        class_shares_before=[rounded(share) for share in before.free_estimates.class_prior],
        class_shares_after=[rounded(share) for share in after.free_estimates.class_prior],
        effective_votes_before=rounded(before.effective_votes, 2),
        effective_votes_after=rounded(after.effective_votes, 2),
        changes=[
            ChangePart(one.what, list(one.voters), rounded(one.before), rounded(one.after), rounded(one.pvalue, 6))
            for one in found.changes
        ],
        voters=sorted(voters, key=lambda voter: (not voter.drifted, voter.pvalue is None, voter.pvalue or 0.0)),
        only_before=only_before,
        only_after=only_after,
    )


def audit_part(outcome: AuditOutcome) -> AuditPart:
    """Return what an audit measured."""
    classes = [str(label) for label in outcome.classes.tolist()]
    named: list[tuple[str, Any, Any]] = [
        (name.replace("_", " "), outcome.value[name], outcome.interval[name])
        for name in ("balanced_accuracy", "accuracy")
    ]
    for code, label in enumerate(classes):
        named.append((f"recall of {label}", outcome.value["recall"][code], outcome.interval["recall"][code]))
    share, ends = outcome.value["class_balance"], outcome.interval["class_balance"]
    if len(classes) == 2:
        named.append((f"share of {classes[1]}", share, ends))
    else:
        named += [(f"share of {label}", share[code], ends[code]) for code, label in enumerate(classes)]
    return AuditPart(
        n_labelled=outcome.n_labelled,
        n_unsure=outcome.n_unsure,
        n_wrong=outcome.n_wrong,
        measured=[
            AuditRow(what, rounded(value) if np.isfinite(value) else None, interval(pair))
            for what, value, pair in named
        ],
    )
