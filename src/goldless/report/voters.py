"""The voters, their groups and panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis import Diagnosis
from goldless.diagnosis.panel_scale import on_one_scale
from goldless.estimators.latent import LatentSML
from goldless.families import shared_family
from goldless.fitting.fitted import Fitted
from goldless.fitting.number_facts import auc_of, direction_of, emission_of, severity_of, turning_point_of
from goldless.fitting.panels import judge_panels
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.maths.selection import select_voters
from goldless.maths.tree import TreeModel
from goldless.plain import interval, rounded
from goldless.report.opened import Opened
from goldless.report.summary import Choice, Group, NumbersPart, NumberVoter, PanelPart, Voter

_MOST_CONFUSIONS = 100_000  # numbers, beyond which tables of all voters would make most of the file


def letters(position: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    name = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def group_parts(tree: TreeModel, diagnosis: Diagnosis) -> list[Group]:
    """Return the groups that may be named, with their stability and what one more of their kind would add."""
    return [_group(tree, diagnosis, place, list(members)) for place, members in enumerate(diagnosis.groups)]


def _group(tree: TreeModel, diagnosis: Diagnosis, place: int, members: list[int]) -> Group:
    number = int(tree.groups[members[0]])
    recall = np.diag(tree.latents[number])
    together, size = diagnosis.co_membership, len(members)
    inside = None if together is None else together[np.ix_(members, members)]
    gain, ends = diagnosis.one_more.get(place), diagnosis.one_more_interval.get(place)
    return Group(
        name=letters(place),
        index=number,
        voters=members,
        recall=[rounded(rate) for rate in recall],
        balanced_accuracy=rounded(recall.mean()),
        shared=shared_family(diagnosis.families, members),
        stability=None if inside is None else rounded((inside.sum() - size) / (size * (size - 1)), 3),
        one_more=None if gain is None else rounded(gain, 3),
        one_more_interval=None if ends is None else interval(ends, 3),
    )


def voter_parts(opened: Opened, diagnosis: Diagnosis, panel: list[int], groups: list[Group]) -> list[Voter]:
    """Return the voters in the order of the columns."""
    names, tree, fitted = diagnosis.voters, opened.tree, opened.fitted
    group_of = {voter: group.name for group in groups for voter in group.voters}
    n_votes = opened.cast.sum(axis=0)
    shares = opened.cast / np.maximum(n_votes, 1)
    few = fitted.confusion.size <= _MOST_CONFUSIONS
    return [
        Voter(
            index=voter,
            name=name,
            group=group_of.get(voter),
            recall=[rounded(rate) for rate in fitted.recalls[voter]],
            recall_interval=[interval(ends) for ends in diagnosis.recall_interval[voter]],
            balanced_accuracy=rounded(diagnosis.balanced_accuracy[voter]),
            balanced_accuracy_interval=interval(diagnosis.balanced_accuracy_interval[voter]),
            balanced_accuracy_model_interval=interval(diagnosis.balanced_accuracy_model_interval[voter]),
            confusion=fitted.confusion[voter].round(4).tolist() if few else None,
            coverage=rounded(n_votes[voter] / max(opened.table.n_items, 1)),
            vote_shares=[rounded(share) for share in shares[:, voter]],
            uniqueness=rounded(diagnosis.uniqueness[voter]),
            uniqueness_interval=interval(diagnosis.uniqueness_interval[voter]),
            panel=panel.index(voter) + 1 if voter in panel else None,
            copy_of=names[tree.copy_of[voter]] if tree.copy_of[voter] != voter else None,
            informative=bool(fitted.informative[voter]),
        )
        for voter, name in enumerate(names)
    ]


def order_of_voters(accuracy: NDArray[np.float64], groups: list[list[int]]) -> list[int]:
    """Return the voters group by group, best first within a group, then those alone."""
    by_accuracy = np.argsort(-accuracy, kind="stable").tolist()
    grouped = [voter for members in map(set, groups) for voter in by_accuracy if voter in members]
    alone = set(range(len(accuracy))) - set(grouped)
    return grouped + [voter for voter in by_accuracy if voter in alone]


def suggested_panel(opened: Opened, size: int, families: Sequence[str | None] | None = None) -> list[int]:
    """Return the columns of the suggested panel, of at most all voters."""
    size = min(size, opened.tree.n_voters)
    if isinstance(opened.model, LatentSML):
        return opened.fitted.columns_of(opened.chooser.select(size, families=families)).tolist()
    if opened.n_classes > 2:
        return np.argsort(-opened.fitted.recalls.mean(axis=1), kind="stable")[:size].tolist()
    return select_voters(opened.tree, size).tolist()


def expected_of(opened: Opened, panel: list[int], combined: float) -> float:
    """Return the balanced accuracy expected of a panel, on the scale of that of the combined labels."""
    if opened.chooser.fitted_.sample is not None:
        judged = judge_panels(opened.chooser.fitted_, [panel])
        return on_one_scale(opened.chooser, judged, combined)[0].balanced_accuracy
    ways, counts = (opened.patterns_by_panel(panel), opened.combined), opened.table.counts
    seen, of_all = (expected_balanced_accuracy(labels, opened.posterior, counts) for labels in ways)
    return seen - of_all + combined


def panel_part(opened: Opened, diagnosis: Diagnosis, panel: list[int], accuracy: float) -> PanelPart:
    """Return the panel, and the panels worth their size."""
    return PanelPart(
        voters=panel,
        names=[diagnosis.voters[voter] for voter in panel],
        effective_votes=[rounded(diagnosis.effective_votes_of(panel[:size]), 2) for size in range(1, len(panel) + 1)],
        balanced_accuracy=accuracy,
        choices=_choices(opened, diagnosis),
    )


def _choices(opened: Opened, diagnosis: Diagnosis) -> list[Choice]:
    """Return the panels worth their size, smallest first; none if the estimator lists none."""
    if not isinstance(opened.model, LatentSML):
        return []
    expected = rounded(diagnosis.expectation("combined").balanced_accuracy)
    return [
        Choice(
            voters=[diagnosis.voters[voter] for voter in opened.fitted.columns_of(panel.voters)],
            balanced_accuracy=rounded(panel.balanced_accuracy),
            vote_accuracy=rounded(panel.vote_accuracy),
            effective_votes=rounded(panel.effective_votes, 2),
        )
        for panel in on_one_scale(opened.chooser, opened.chooser.panels(), expected)
    ]


# -- voters that give numbers --------------------------------------------------------------------------------


def numbers_part(fitted: Fitted) -> NumbersPart | None:
    """Return what every voter means by its numbers; None if votes are labels."""
    bins, share = fitted.bins, fitted.symbol_share
    if bins is None or share is None:
        return None
    facts = zip(turning_point_of(fitted), direction_of(fitted), auc_of(fitted), severity_of(fitted), strict=True)
    voters = []
    for voter, (point, direction, auc, severity) in enumerate(facts):
        table = emission_of(fitted)[voter]
        positive = table[1] / np.maximum(table.sum(axis=0), 1e-300)
        voters.append(
            NumberVoter(
                kind=bins.kinds[voter],
                turning_point=None if np.isnan(point) else rounded(point),
                direction=int(direction),
                auc=rounded(auc),
                severity=None if np.isnan(severity) else rounded(severity, 3),
                edges=[rounded(bins.sign[voter] * edge, 6) for edge in bins.edges[voter]],
                answers=[rounded(part) for part in share[voter, : len(positive)]],
                positive=[rounded(part) for part in positive],
            )
        )
    separation = None if fitted.separation is None else rounded(fitted.separation, 3)
    return NumbersPart(separation, bins.positive_from, voters)
