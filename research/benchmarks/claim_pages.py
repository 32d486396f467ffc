"""Write what records say into pages of docs/ that people write: audit, comparison, what to expect, diagnosis.

python -m research.benchmarks.claim_pages

A block stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``, as those of :mod:`.cost_page`. Nobody types
what was measured: each block is a function of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from research.benchmarks.audit import altered_table, held_table
from research.benchmarks.cost_page import DOCS, filled, table
from research.experiments.framework import Summary
from research.experiments.render import read_record, summary_of

Block = Callable[[Any], str]


@cache
def results(name: str) -> Summary:
    """Return the summary of a record of results."""
    return summary_of(read_record(DOCS / "results" / "records" / f"{name}.json"))


def shown(experiment: str, name: str, record: Any = None) -> str:
    """Return a table of a page of results, with its note and a link to the page."""
    found = next(each for each in results(experiment).tables if each.name == name)
    return f"{found.markdown()}\n{found.note} [The record's page](results/{experiment}.md)."


def part_of(experiment: str, columns: list[str], labels: dict[str, str], record: Any = None) -> str:
    """Return some rows and columns of a leaderboard."""
    found = next(each for each in results(experiment).tables if each.name == "leaderboard")
    places = [found.header.index(column) for column in columns]
    rows = {row[0]: row for row in found.rows}
    panels = max(row[found.header.index("panels")] for row in found.rows)
    shown = table(
        ["", *columns], [[label, *(f"{rows[name][at]:.1f}" for at in places)] for name, label in labels.items()]
    )
    return (
        f"{shown}\n\nMeans of {panels} real panels; [their page](results/{experiment}.md) has all methods and panels."
    )


# -- what to expect of labels, from expect.json ---------------------------------------------------------------

_PARTS = {"two classes": "two classes", "more classes": "more classes", "numbers": "grades, scores"}
_CLAIMS = {
    "combined": "the combined labels",
    "Dawid-Skene": "Dawid-Skene",
    "majority vote": "the majority vote",
    "voter thought best": "the voter with the highest estimated accuracy",
    "panel": "a panel of five chosen voters",
    "voter": "a voter, in the mean over panels",
    "class share": "the class balance",
}


def held(record: Any) -> str:
    """Return how often 90 % intervals held, each family judged by a table made without it."""
    header = ["90 % interval of", *(f"{name}: held, width" for name in _PARTS.values())]
    rows = [
        [label, *(_held(record["coverage"][part].get(claim)) for part in _PARTS)] for claim, label in _CLAIMS.items()
    ]
    panels = [record["coverage"][part]["combined"]["panels"] for part in _PARTS]
    return (
        f"{table(header, rows)}\n\nShare of the panels whose truth lay inside, and median width in points. Panels: "
        "{} of two classes, {} of more, {} of grades and scores; {}".format(*panels, _made(record))
    )


def _held(claim: dict[str, Any] | None) -> str:
    return f"{100 * claim['covered']:.1f} %, {100 * claim['width']:.1f}" if claim else ""


def _made(record: Any) -> str:
    return f"[the record](expect.json) is of {record['date']}, `python -m research.reference_class.record`."


def held_by_family(record: Any) -> str:
    """Return the same for each family of panels: labels and voters."""
    rows = []
    for part, name in _PARTS.items():
        labels, voters = (record["coverage"][part][claim]["families"] for claim in ("combined", "voter"))
        for family, (share, panels) in labels.items():
            of_voters = f"{100 * voters[family][0]:.0f} %" if family in voters else ""
            rows.append((name, family, panels, f"{share * panels:.0f} of {panels}", of_voters))
    return table(("votes", "family left out", "panels", "labels held", "voters held"), rows)


def model_alone(record: Any) -> str:
    """Return what the model's own interval is worth on real panels."""
    held, panels = record["model"]["held"], record["model"]["panels"]
    return (
        f'The model\'s own "95 %" interval of the combined labels held the truth on {held} of {panels} real panels, '
        f"and the labels were {100 * record['model']['too_high_by']:.1f} points less accurate than expected in the "
        "mean ([record](expect.json))."
    )


def better_than_majority(record: Any) -> str:
    """Return how often the combined labels are said to be better, and are."""
    said, true = (100 * record["better_than_majority"][name] for name in ("said", "true"))
    combined, majority = (100 * record["true"][way] for way in ("combined", "majority vote"))
    return (
        f"The combined labels were better than the majority vote on {true:.1f} of 100 panels of two classes (as good "
        f"counts half). Said by the panels of all other families it is {said:.1f}. In the mean over the "
        f"{record['model']['panels']} panels they have {combined:.1f} %, the majority vote {majority:.1f} % "
        "([record](expect.json))."
    )


def no_advice(record: Any) -> str:
    """Return how often the model expects more of another way to label, and was right."""
    majority, voter = (record["advice"][way] for way in ("majority vote", "voter thought best"))
    return (
        f"Of {record['model']['panels']} real panels there were {majority['expected']} where it expected more of the "
        f"majority vote than of its own labels; the majority vote was better by more than half a point on "
        f"{majority['better']} of them and worse on {majority['worse']}. There were {voter['expected']} where it "
        f"expected more of one voter alone, by a point or more; that voter was better on {voter['better']} and worse "
        f"on {voter['worse']} ([record](expect.json))."
    )


def disasters(record: Any) -> str:
    """Return how many disasters are announced."""
    names = {"panels": "real panels", "made of panels": "panels made of real ones"}
    rows = []
    for kind, counts in record["risk"].items():
        (caught, bad), (alarms, good) = counts["disasters"], counts["others"]
        rows.append((f"{bad + good} {names[kind]}", f"{caught} of {bad}", f"{alarms} of {good}"))
    made = "Made of real ones: parts of their voters and items, one class against the rest, numbers cut at the median"
    return table(("", "disasters announced", "other panels announced"), rows) + f"\n\n{made} ([record](expect.json))."


PAGES: dict[str, tuple[str | None, dict[str, Block]]] = {
    "comparison": (
        None,
        {name: partial(shown, "today", name) for name in ("judges", "crowd", "rules", "callers", "scores")},
    ),
    "classes": (
        None,
        {
            "classes": partial(
                part_of,
                "classes",
                ["macro recall %", "accuracy %"],
                {
                    "MajorityVote": "plurality",
                    "crowd-kit DawidSkene": "crowd-kit DawidSkene",
                    "cleanlab CROWDLAB": "cleanlab CROWDLAB",
                    "DawidSkene()": "goldless `DawidSkene`",
                    "LatentSML()": "goldless `LatentSML`",
                },
            )
        },
    ),
    "numbers": (
        None,
        {
            "cutting": partial(
                part_of,
                "scores",
                ["AUC %", "macro recall %"],
                {
                    "MajorityVote, votes cut": "majority of votes that were cut",
                    "LatentSML(), votes cut": "`LatentSML` on votes that were cut",
                    "mean": "mean, cut where votes are",
                    'MajorityVote(kind="scores"), mean rank': "mean rank, `MajorityVote`",
                    "LatentSML()": "`LatentSML` on the numbers",
                },
            )
        },
    ),
    "audit": ("audit.json", {"audits": held_table, "altered": altered_table}),
    "diagnosis": (
        None,
        {name: partial(shown, "promises", name) for name in ("alarms", "power", "coverage", "facts")},
    ),
    "what-to-expect": (
        "expect.json",
        {
            "model": model_alone,
            "held": held,
            "families": held_by_family,
            "majority": better_than_majority,
            "advice": no_advice,
            "disasters": disasters,
        },
    ),
}


def written(name: str) -> str:
    """Return a page with its blocks made from the records."""
    source, blocks = PAGES[name]
    record = json.loads((DOCS / source).read_text(encoding="utf-8")) if source else {}
    return filled((DOCS / f"{name}.md").read_text(encoding="utf-8"), record, blocks)


def main() -> None:
    """Write the pages."""
    for name in PAGES:
        (DOCS / f"{name}.md").write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
