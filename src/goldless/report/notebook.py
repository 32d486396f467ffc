"""What notebooks show of fitted models, diagnoses and the rest: verdict, warnings and a small picture.

Each kind of value is turned into a few plain parts, and one template, with the macros of the page, makes HTML:
every name is escaped, and there is no script.
"""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any

import numpy as np

from goldless.diagnosis import AuditOutcome, AuditPlan, Comparison, Diagnosis
from goldless.diagnosis.advice import unanswered
from goldless.estimators.base import VoteEstimator
from goldless.fitting.ask import Questions
from goldless.fitting.explain import Explanation
from goldless.fitting.panels import Panels
from goldless.maths.panels import Panel
from goldless.maths.structure.partitions import groups_of_two_or_more
from goldless.report import drawing
from goldless.report.against import audit_part
from goldless.report.html import environment, source
from goldless.report.items import together
from goldless.report.sentences import METHODS
from goldless.report.voters import letters, numbers_part, order_of_voters
from goldless.words import class_names, p_value

_MOST = 20


@singledispatch
def html_of(value: Any) -> str:
    """Return a value as a few lines of HTML."""
    raise TypeError(f"there is no picture of a {type(value).__name__}")


def _small(**parts: Any) -> str:
    """Fill the template; parts that are not given are left out."""
    empty: dict[str, Any] = {
        "title": "",
        "lines": [],
        "limits": [],
        "warnings": [],
        "tree": None,
        "bars": [],
        "head": [],
        "numbers": [],
        "positive": "",
    }
    shown = {**empty, "rows": [], "more": "", "bar_head": "real panels", "chance": 0.5, "said": [], **parts}
    above = partial(drawing.above_chance, {"answer": {"chance": shown["chance"]}})
    template = environment().get_template("notebook.html.j2")
    return template.render(**shown, above_chance=above, style=_style(), called=METHODS, s=None, strip=None, bands=[])


def _style() -> Any:
    from markupsafe import Markup

    return Markup(source("notebook.css"))  # our own file


def _percent(share: float | None) -> str:
    return drawing.percent(None if share is None or not np.isfinite(share) else float(share))


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def _bar(name: str, value: float, real: Any, own: Any = None) -> dict[str, Any]:
    """Return a bar: a value, what was true of real panels, and the interval if the model holds."""
    return {"name": name, "value": value, "real": real, "own": own}


def _more(shown: int, n: int, what: str) -> str:
    return f"and {n - shown:,} more {what}" if n > shown else ""


# -- models -------------------------------------------------------------------------------------------------


@html_of.register
def _of_estimator(model: VoteEstimator) -> str:
    fitted = model.fitted_
    tree, recall = fitted.model, fitted.recalls
    accuracy = recall.mean(axis=1)
    names = [str(name) for name in fitted.names_of(np.arange(tree.n_voters))]
    groups, right = groups_of_two_or_more(tree.groups), np.diagonal(tree.latents, axis1=1, axis2=2).mean(axis=1)
    picture = _tree_of(names, groups, accuracy, [right[tree.groups[members[0]]] for members in groups])
    shared = len(picture["groups"])
    found = f"counted in {shared} group{'s' * (shared != 1)}" if shared else "counted one by one"
    classes = class_names(fitted.classes.tolist(), fitted.bins is not None)
    numbers = numbers_part(fitted)
    shares = [f"{label} {_percent(share)}" for label, share in zip(classes, tree.class_prior, strict=True)]
    share = f"estimated share of {shares[1]}" if len(classes) == 2 else f"estimated shares: {', '.join(shares)}"
    two = len(classes) == 2
    titles = ["sensitivity", "specificity"] if two else [f"right on {label}" for label in classes]
    columns = recall[:, ::-1] if two else recall
    grouping = fitted.grouping
    order = picture["order"]
    return _small(
        title=f"{type(model).__name__}: {tree.n_voters} voters, {found}; {share}.",
        lines=[grouping.verdict] if grouping is not None and grouping.verdict else [],
        limits=[fitted.at_risk] if fitted.at_risk is not None else [],
        tree=drawing.tree(picture),
        chance=1 / len(classes),
        head=["voter", "group", *titles, "balanced accuracy"],
        rows=[
            [names[i], picture["voters"][i]["group"] or "alone", *map(_percent, columns[i]), _percent(accuracy[i])]
            for i in order[:_MOST]
        ],
        numbers=[] if numbers is None else [(names[i], numbers.voters[i]) for i in order[:_MOST]],
        positive=classes[1],
        more=_more(_MOST, len(order), "voters"),
        said=["Estimated without labels. gl.report(votes) has the rest."],
    )


def _tree_of(
    names: Any, groups: tuple[tuple[int, ...], ...], accuracy: Any, group_accuracy: list[float]
) -> dict[str, Any]:
    """Return what the drawing of a tree needs, as in a summary."""
    parts: list[dict[str, Any]] = [
        {"name": letters(place), "voters": list(members), "balanced_accuracy": float(of_group)}
        for place, (members, of_group) in enumerate(zip(groups, group_accuracy, strict=True))
    ]
    group_of = {voter: part["name"] for part in parts for voter in part["voters"]}
    voters = [
        {"name": name, "group": group_of.get(number), "balanced_accuracy": float(accuracy[number])}
        for number, name in enumerate(names)
    ]
    order = order_of_voters(np.asarray(accuracy), [part["voters"] for part in parts])
    return {"voters": voters, "groups": parts, "order": order, "answer": {"chance": 0.5}}


# -- what can be trusted ------------------------------------------------------------------------------------


@html_of.register
def _of_diagnosis(diagnosis: Diagnosis) -> str:
    low, high = diagnosis.effective_votes_interval
    between = f" ({low:.1f} to {high:.1f})" if np.isfinite(low) else ""
    of_groups = [float(diagnosis.balanced_accuracy.max())] * len(diagnosis.groups)
    picture = _tree_of(diagnosis.voters, diagnosis.groups, diagnosis.balanced_accuracy, of_groups)
    return _small(
        title=f"{len(diagnosis.voters)} voters on {diagnosis.n_items:,} items: {diagnosis.effective_votes:.1f} "
        f"effective votes{between}.",
        lines=[diagnosis.verdict],
        limits=[unanswered(why) for why in diagnosis.cannot_tell[:1]],
        warnings=[diagnosis.at_risk] if diagnosis.at_risk is not None else [],
        tree=drawing.tree(picture),
        chance=1 / len(diagnosis.classes),
        bars=[
            _bar(row.method, row.balanced_accuracy, row.interval, row.model_interval) for row in diagnosis.expected
        ],
        said=[
            f"Independence: {p_value(diagnosis.independence_pvalue)}; fit of the groups: "
            f"{p_value(diagnosis.fit_pvalue)}."
        ],
    )


def report_html(summary: dict[str, Any]) -> str:
    """Return the answer of a report."""
    answer = summary["answer"]
    return _small(
        title=answer["headline"],
        lines=answer["advice"],
        limits=answer["limits"],
        warnings=summary["warnings"],
        tree=drawing.tree(summary),
        chance=answer["chance"],
        bars=[
            _bar(row["method"], row["balanced_accuracy"], row["interval"], row["model_interval"])
            for row in answer["expected"]
        ],
        said=["report.save(path) writes the page."],
    )


@html_of.register
def _of_comparison(comparison: Comparison) -> str:
    return _small(
        title=f"{len(comparison.voters)} voters in two batches",
        lines=[comparison.verdict],
        head=["what", "voters", "before", "after", "p"],
        rows=[
            [one.what, " and ".join(one.voters), f"{one.before:.3f}", f"{one.after:.3f}", f"{one.pvalue:.2g}"]
            for one in comparison.changes[:_MOST]
        ],
        more=_more(_MOST, len(comparison.changes), "changes"),
    )


@html_of.register
def _of_plan(plan: AuditPlan) -> str:
    return _small(
        title=f"Audit of {len(plan.rows)} of {plan.n_items:,} items in {len(plan.size)} strata.",
        lines=[
            "Label these rows by hand, in this order; plan.estimate({row: label}) then says how good the labels are."
        ],
        head=["row", "label under audit", "stratum"],
        rows=[
            [str(row), str(plan.classes[code]), str(stratum)]
            for row, code, stratum in zip(plan.rows[:_MOST], plan.predicted, plan.stratum, strict=False)
        ],
        more=_more(_MOST, len(plan.rows), "rows"),
    )


@html_of.register
def _of_outcome(outcome: AuditOutcome) -> str:
    part = audit_part(outcome)
    return _small(
        title=f"Audit: {part.n_wrong} of {part.n_labelled} labels were wrong"
        + (f", {part.n_unsure} items nobody could tell." if part.n_unsure else "."),
        chance=1 / len(outcome.classes),
        bar_head="95 % interval",
        bars=[
            _bar(row.what, row.value, row.interval)
            for row in part.measured
            if row.value is not None and "accuracy" in row.what
        ],
        head=["measured", "value", "95 % interval"],
        rows=[[row.what, _percent(row.value), _between(row.interval)] for row in part.measured[2:]],
        said=["Measured on items drawn at random: no model has to be right."],
    )


# -- items and panels ---------------------------------------------------------------------------------------


@html_of.register
def _of_explanation(why: Explanation) -> str:
    voters = why.voter_names
    items = why.item_names
    sources = [together(voters, members) for members in why.groups]
    rows = why.neediest(_MOST)
    most = np.argsort(-np.abs(why.by_group[rows]), axis=1, kind="stable")[:, :3]
    return _small(
        title=f"Why {len(why.probability):,} items get their labels; neediest first.",
        head=["item", "probability", "log-odds", "because (log-odds)", "next voter", "expected gain, bits"],
        rows=[
            [
                str(items[row]),
                _percent(why.probability[row]),
                f"{why.log_odds[row]:+.2f}",
                ", ".join(f"{drawing.short(sources[g], 24)} {why.by_group[row, g]:+.1f}" for g in best),
                voters[why.next_voter[row]] if why.next_voter[row] >= 0 else "a new voter",
                f"{why.next_gain[row]:.2f}",
            ]
            for row, best in zip(rows, most, strict=True)
        ],
        more=_more(_MOST, len(why.probability), "items"),
        said=["why.to_frame() has all of it, by item."],
    )


@html_of.register
def _of_questions(questions: Questions) -> str:
    return _small(
        title=f"{len(questions.rows)} items worth a label.",
        lines=[questions.sentence],
        head=["item", "doubt", "groupings differ"],
        rows=[
            [str(item), _percent(doubt), "yes" if divided else "no"]
            for item, doubt, divided in zip(
                questions.item_names[:_MOST], questions.doubt, questions.divided, strict=False
            )
        ],
        more=_more(_MOST, len(questions.rows), "items"),
    )


@html_of.register
def _of_panel(panel: Panel) -> str:
    return html_of(Panels([panel]))


@html_of.register
def _of_panels(panels: Panels) -> str:
    return _small(
        title="Panels worth their cost" if len(panels) > 1 else "A panel",
        head=["size", "cost", "weighted votes", "counted votes", "effective votes", "voters"],
        rows=[
            [
                str(len(panel.voters)),
                f"{panel.cost:g}",
                _percent(panel.balanced_accuracy),
                _percent(panel.vote_accuracy),
                f"{panel.effective_votes:.1f}",
                ", ".join(drawing.short(str(name), 24) for name in panel.voters),
            ]
            for panel in panels
        ],
        said=["Expected balanced accuracies, estimated without labels: use them to compare panels."],
    )
