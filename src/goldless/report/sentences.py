"""The sentences of the report: what the numbers say to a person who does not read numbers."""

from __future__ import annotations

from typing import Any

METHODS = {
    "combined": "combined labels",
    "Dawid-Skene": "weights without groups",
    "majority vote": "majority vote",
    "best single voter": "best single voter",
    "panel": "panel",
}
_AS_GOOD_AS_ALL = 0.95
_FEW = 5  # voters, below which dependence cannot be seen
_FEW_ITEMS = 50
_MUCH = 0.05
_UNEXPLAINED = 0.02  # share of the covariance; below it what is left over is small


def headline(summary: dict[str, Any]) -> str:
    """Return the answer in one sentence."""
    n_voters, answer = summary["votes"]["n_voters"], summary["answer"]
    if n_voters < _FEW and not summary["groups"]:
        return f"{_voters(n_voters)} too few to see who echoes whom."
    worth = answer["effective_votes"]
    if worth > _AS_GOOD_AS_ALL * n_voters:
        return f"The {n_voters} voters look independent of each other."
    shown = f"{worth:.1f}" if worth < 9.95 else f"{worth:.0f}"
    low, high = answer["effective_votes_interval"] or (worth, worth)
    between = f" ({low:.1f} to {high:.1f})" if high < 9.95 else f" ({low:.0f} to {high:.0f})"
    between = "" if low >= high or between.count(shown) == 2 else between
    shown = "one independent voter" if shown == "1.0" else f"{shown} independent ones"
    return f"{n_voters} voters are worth about {shown}{between}."


def what_to_do(summary: dict[str, Any]) -> list[str]:
    """Return what to do with the votes, most important first."""
    answer, n_items = summary["answer"], summary["votes"]["n_items"]
    combined = next(row for row in answer["expected"] if row["method"] == "combined")["balanced_accuracy"]
    differs = answer["differs_from_majority"]
    advice = [
        f"{summary['diagnosis']['advice']}{_remedy(summary)} The combined labels differ from the majority on "
        f"{differs:,} of {n_items:,} items."
    ]
    groups = summary["groups"]
    if groups:
        first = groups[0]
        size = len(first["voters"])
        advice.append(
            f"{len(groups)} groups of voters echo a common source each. Treat a group as one opinion, however many "
            f"voters it has: the largest, {first['name']}, has {size}."
            if len(groups) > 1
            else f"One group of {size} voters echoes a common source. Treat it as one opinion."
        )
    panel = summary["panel"]
    if len(panel["voters"]) < summary["votes"]["n_voters"]:
        accuracy, size = panel["balanced_accuracy"], len(panel["voters"])
        kept = "keeps" if accuracy > combined - _MUCH else "gets only"
        advice.append(f"A panel of {size} {kept} {_percent(accuracy)}: {_listed(panel['names'])}.")
    return advice


def _remedy(summary: dict[str, Any]) -> str:
    """Return what would help where the votes cannot tell."""
    if not summary["diagnosis"]["cannot_tell"]:
        return ""
    if summary["answer"]["ambiguous"]:
        return " Label a few items first: goldless ask names the most telling ones, and --anchors takes their labels."
    if summary["votes"]["n_items"] < _FEW_ITEMS:
        return " Collect votes on more items."
    if summary["votes"]["n_voters"] < _FEW:
        return " Ask more voters, until there are five, or check some fifty items by hand."
    return " Check some fifty items by hand."


def what_to_watch(summary: dict[str, Any], model: Any) -> list[str]:
    """Return what should make the reader careful."""
    votes, groups, voters = summary["votes"], summary["groups"], summary["voters"]
    n_voters, n_items = votes["n_voters"], votes["n_items"]
    found = []
    duplicates = [" and ".join(pair["names"]) for pair in summary["diagnosis"]["near_duplicates"]]
    if duplicates:
        found.append(f"Nearly one voter in all but name: {_listed(duplicates, 3)}.")
    weak = [" and ".join([", ".join(names[:-1]), names[-1]]) for names in summary["diagnosis"]["weak_groups"]]
    if weak:
        found.append(f"Weak echoes, in the intervals and not in the labels: {_listed(weak, 3)}.")
    if n_voters < _FEW:
        found.append(f"{_voters(n_voters)} too few to see dependence: groups need at least five voters.")
    elif n_voters < 10:
        found.append(f"With {n_voters} voters groups are hints, not findings.")
    if n_items < 5 * n_voters:
        found.append(f"{n_items:,} items are few for {n_voters} voters: covariances are mostly noise.")
    if votes["votes_per_item"] < 3:
        found.append(f"An item has {votes['votes_per_item']:.1f} votes on average: its label rests on very little.")
    unexplained = summary["answer"]["unexplained"]
    if unexplained > _UNEXPLAINED:
        found.append(
            f"The groups leave {_percent(unexplained)} of the covariance of the votes unexplained: voters share more "
            "than was found, so accuracies and effective votes come out too high."
        )
    if groups and n_voters > len(groups[0]["voters"]) >= n_voters / 2:
        found.append(
            f"Group {groups[0]['name']} holds {len(groups[0]['voters'])} of {n_voters} voters. Whether its common "
            "source is the truth or a shared mistake cannot be told from votes: label a few items on which it "
            "disagrees with the others (goldless ask names the most useful)."
        )
    poor = [voter["name"] for voter in voters if voter["informative"] and voter["balanced_accuracy"] < 0.5]
    if poor:
        found.append(f"Expected to be worse than a coin: {_listed(poor)}.")
    near = sum(voter["informative"] and voter["balanced_accuracy"] < 0.55 for voter in voters)
    if 2 * near > n_voters:
        found.append(
            f"{near} of {n_voters} voters are close to a coin. If fewer than half beat one, all labels come out "
            "swapped."
        )
    if not 0.03 <= votes["class_balance"] <= 0.97:
        found.append(
            f"One class is rare (estimated share of {votes['classes'][1]!r}: {_percent(votes['class_balance'])}): "
            "its rates rest on few items."
        )
    if getattr(model, "converged_", True) is False:
        found.append("The fit was stopped before it settled; figures may still move.")
    return found


def unknowable(summary: dict[str, Any]) -> list[str]:
    """Return what no method can find out from votes alone."""
    return [
        "An error that all voters share is invisible: if everybody is wrong on the same items, the votes look as if "
        "everybody were right.",
        "Accuracies, effective votes and probabilities are estimates of a model fitted to these votes, without any "
        "label. Checking fifty items by hand tells how far to trust them.",
        "Which class is which: that most voters beat a coin is taken for granted, and that "
        f"{summary['votes']['classes'][1]!r} means the same to all of them.",
        "Which hidden source is the truth: a large group that echoes one opinion can be mistaken for the answer, and "
        "the answer for an echo.",
    ]


def _voters(number: int) -> str:
    return "One voter is" if number == 1 else f"{number} voters are"


def _percent(share: float) -> str:
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def _listed(names: list[str], most: int = 6) -> str:
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
