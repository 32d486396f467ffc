"""The sentences of the report: what the numbers say to a person who does not read numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldless.diagnosis.advice import SAME_LABELS, unanswered
from goldless.diagnosis.reference_class import ReferenceClass
from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES
from goldless.families import all_of_one
from goldless.report.summary import DiagnosisPart, Expected, Group, Interval, PanelPart, Voter, VotesPart
from goldless.words import listed, percent, shortened

METHODS = {
    "combined": "combined labels",
    "Dawid-Skene": "Dawid-Skene",
    "majority vote": "majority vote",
    "voter thought best": "voter with the highest estimate",
    "panel": "panel",
}
# share of the items: of a voter with votes on fewer it is said, for on all items it is then not as good as on its own
HAS_GAPS = 0.995
_FEW_PANELS = 30  # from so many on "of 100" is said of how often something held
_AS_GOOD_AS_ALL = 0.95
_REJECTED = 0.05
_FEW = 5  # voters, below which dependence cannot be seen
_FEW_ITEMS = 50
_UNEXPLAINED = 0.02  # share of the covariance; below it what is left over is small
_RARE = 0.06  # of an even share: 3 % of two classes
_NEAR_CHANCE = 0.1  # of the way from a guess to certainty: 55 % of two classes


@dataclass(frozen=True)
class Facts:
    """What the sentences are made of."""

    votes: VotesPart
    groups: list[Group]
    voters: list[Voter]
    diagnosis: DiagnosisPart
    panel: PanelPart
    combined: float
    effective_votes: float
    effective_votes_interval: Interval | None
    unexplained: float
    differs_from_majority: int
    ambiguous: bool
    converged: bool
    at_risk: str | None

    @property
    def chance(self) -> float:
        """Balanced accuracy of a guess."""
        return 1 / len(self.votes.classes)


def headline(facts: Facts) -> str:
    """Return the answer in one sentence."""
    n_voters, worth = facts.votes.n_voters, facts.effective_votes
    tested = facts.diagnosis.independence_pvalue
    if not facts.groups and (n_voters < _FEW or worth > _AS_GOOD_AS_ALL * n_voters or (tested or 0.0) >= _REJECTED):
        return facts.diagnosis.dependence
    shown = f"{worth:.1f}" if worth < 9.95 else f"{worth:.0f}"
    low, high = facts.effective_votes_interval or (worth, worth)
    between = f" ({low:.1f} to {high:.1f})" if high < 9.95 else f" ({low:.0f} to {high:.0f})"
    between = "" if low >= high or between.count(shown) == 2 else between
    shown = "one independent voter" if shown == "1.0" else f"{shown} independent ones"
    return f"{n_voters} voters are worth about {shown}{between}."


def in_short(facts: Facts) -> str:
    """Return the answer in a few words, to send on."""
    n_voters, worth = facts.votes.n_voters, facts.effective_votes
    if n_voters < FEWEST_TO_SEE_ECHOES and not facts.groups:
        return f"{n_voters} voter{'s' * (n_voters != 1)}: too few to see who echoes whom"
    if not facts.groups and worth > _AS_GOOD_AS_ALL * n_voters:
        tested = facts.diagnosis.independence_pvalue
        rejected = tested is not None and tested < _REJECTED
        return (
            f"{n_voters} voters share errors: whose, cannot be told"
            if rejected
            else f"{n_voters} voters, no echo found"
        )
    return f"{n_voters} voters are worth {worth:.1f} votes"


def limits(facts: Facts) -> list[str]:
    """Return what limits the answer: why the votes cannot tell how good the labels are, and what is at risk."""
    told = [unanswered(reason) for reason in facts.diagnosis.cannot_tell[:1]]
    return [*told, *([] if facts.at_risk is None else [facts.at_risk])]


def what_to_do(facts: Facts) -> list[str]:
    """Return what to do with the votes, most important first."""
    advice = [
        f"{facts.diagnosis.advice}{_remedy(facts)} The combined labels differ from the majority on "
        f"{facts.differs_from_majority:,} of {facts.votes.n_items:,} items."
    ]
    groups, panel, n_voters = facts.groups, facts.panel, facts.votes.n_voters
    if groups:
        size = len(groups[0].voters)
        shared = f" ({groups[0].shared})" if groups[0].shared else ""
        advice.append(
            f"{len(groups)} groups of voters echo a common source each. Treat a group as one opinion, however many "
            f"voters it has: the largest, {groups[0].name}{shared}, has {size}."
            if len(groups) > 1
            else f"One group of {size} voters{shared} echoes a common source. Treat it as one opinion."
        )
    if len(panel.voters) < n_voters:
        size = len(panel.voters)
        advice.append(
            f"Panel of {size}: {listed(panel.names)}. Expected balanced accuracy with these {size}: "
            f"{percent(panel.balanced_accuracy)} (all {n_voters}: {percent(facts.combined)})."
        )
    named = all_of_one(facts.diagnosis.families, panel.voters)
    if named:
        advice.append(named)
    return advice


def on_real_panels(combined: Expected, known: ReferenceClass, differ: float) -> str:
    """Return what the model expects of the combined labels, and what was true of real panels like this one.

    How often they were better than majority is not said where both are the same labels (``differ`` is on what share
    of the items they are not), and counted where it rests on few panels.
    """
    if combined.interval is None:
        return (
            "How good the labels are is not said: there are no real panels like this one whose truth is known. Label "
            "some items by hand to find out."
        )
    low, high = (f"{100 * end:.0f}" for end in combined.interval)
    n_panels = len(known.panels)
    few = n_panels < _FEW_PANELS
    better = ""
    if combined.held is not None and differ >= SAME_LABELS:
        times, of = (int(combined.held * n_panels), n_panels) if few else (round(100 * combined.held), 100)
        better = f", and higher than that of the majority vote on {times} of {of}"
    alike = "of more than two classes" if few else "that looked like this"
    return (
        f"The model expects a balanced accuracy of {percent(combined.balanced_accuracy)}; on {n_panels} real panels "
        f"{alike} it was {low} to {high} %{better}."
    )


def _remedy(facts: Facts) -> str:
    """Return what would help where the votes cannot tell."""
    if facts.diagnosis.use != "unknown":
        return ""
    if facts.ambiguous:
        return " Label such items first, and fit again with these labels as anchors."
    if facts.votes.n_items < _FEW_ITEMS:
        return " Collect votes on more items."
    if facts.votes.n_voters < _FEW:
        return " Ask more voters, until there are five, or check some fifty items by hand."
    return " Check some fifty items by hand."


def what_to_watch(facts: Facts) -> list[str]:
    """Return what should make the reader careful."""
    votes, groups, voters = facts.votes, facts.groups, facts.voters
    n_voters, n_items = votes.n_voters, votes.n_items
    found = []
    duplicates = [_all_of(pair.names) for pair in facts.diagnosis.near_duplicates]
    if duplicates:
        found.append(f"Near-duplicates: {listed(duplicates, 3, str)}.")
    weak = [_all_of(names) for names in facts.diagnosis.weak_groups]
    if weak:
        found.append(f"Counted together in labels or intervals, though it may be chance: {listed(weak, 3, str)}.")
    if n_voters < 10 and groups:
        found.append(f"{n_voters} voters: treat groups as tentative.")
    if n_items < 5 * n_voters:
        found.append(f"{n_items:,} items are few for {n_voters} voters: covariances are mostly noise.")
    if votes.votes_per_item < 3:
        found.append(f"Labels rest on {votes.votes_per_item:.1f} votes per item.")
    rejected = facts.diagnosis.fit_pvalue is not None and facts.diagnosis.fit_pvalue < _REJECTED
    if facts.unexplained > _UNEXPLAINED and rejected:
        found.append(
            f"{percent(facts.unexplained)} of the covariance of the votes is left unexplained: voters share more "
            "than was found, so accuracies and effective votes come out too high."
        )
    if groups and n_voters > len(groups[0].voters) >= n_voters / 2:
        found.append(
            f"Group {groups[0].name} holds {len(groups[0].voters)} of {n_voters} voters. Whether its common source "
            "is the truth or a shared mistake cannot be told from votes: label a few items on which it disagrees "
            "with the others."
        )
    return [*found, *_about_rates(facts, [voter for voter in voters if voter.informative])]


def _about_rates(facts: Facts, voters: list[Voter]) -> list[str]:
    """Return what accuracies and class shares give to watch."""
    chance, n_classes, n_voters = facts.chance, len(facts.votes.classes), facts.votes.n_voters
    found = []
    poor = [voter.name for voter in voters if voter.balanced_accuracy < chance]
    if poor:
        found.append(f"Expected to be worse than chance: {listed(poor)}.")
    near = sum(voter.balanced_accuracy < chance + _NEAR_CHANCE * (1 - chance) for voter in voters)
    if 2 * near > n_voters:
        wrong = "swapped" if n_classes == 2 else "wrong"
        found.append(
            f"{near} of {n_voters} voters are close to chance. If fewer than half do better, all labels come out "
            f"{wrong}."
        )
    rare = [
        f"{name!r} {percent(share)}"
        for name, share in zip(facts.votes.classes, facts.votes.class_shares, strict=True)
        if share < _RARE * chance
    ]
    if rare and n_classes == 2:
        name, share = facts.votes.classes[1], percent(facts.votes.class_shares[1])
        found.append(f"One class is rare (estimated share of {name!r}: {share}): its rates rest on few items.")
    elif rare:
        found.append(f"Rare classes, whose rates rest on few items (estimated share): {listed(rare)}.")
    if not facts.converged:
        found.append("EM did not converge: figures may still move.")
    return found


def unknowable(votes: VotesPart) -> list[str]:
    """Return what no method can find out from votes alone."""
    two = len(votes.classes) == 2
    meaning = f"{votes.classes[1]!r} means" if two else "each class means"
    return [
        "An error that all voters share is invisible: if everybody is wrong on the same items, the votes look as if "
        "everybody were right.",
        "Accuracies, effective votes and probabilities are estimates of a model fitted to these votes, without any "
        "label. Checking fifty items by hand tells how far to trust them.",
        f"Which class is which: that most voters do better than chance is taken for granted, and that "
        f"{meaning} the same to all of them.",
        "Which hidden source is the truth: a large group that echoes one opinion can be mistaken for the answer, and "
        "the answer for an echo.",
    ]


def _all_of(names: Sequence[str]) -> str:
    """Return all names, each of them short enough to be read."""
    *first, last = map(shortened, names)
    return f"{', '.join(first)} and {last}"
