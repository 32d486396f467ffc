"""Claims: what the results say first, what people do today, and a source for every figure on a page."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import goldless as gl
from research.benchmarks import claim_pages
from research.experiments import today
from research.experiments.framework import Settings, Summary, Unit
from research.experiments.headlines import headlines
from research.experiments.leniency import leniency_labels
from research.experiments.tables import Table

ROOT = Path(__file__).parent.parent

# -- what the index says first ------------------------------------------------------------------------------


def judged(theirs, ours, files=(3, 3)):
    """A page of what people do today: one other way, and ours."""
    header = ["", "`votes.csv` %", "real votes %", "goldless there %", "files", "goldless ahead", "behind"]
    rows = [
        ["majority", 80.0, theirs, ours - 1 if files[0] < files[1] else ours, files[0], 1, 0],
        ["goldless", 90.0, ours, None, files[1], None, None],
    ]
    return {"today": Summary([], [Table("judges", "Judges", header, rows, ["", *[".1f"] * 3, *["d"] * 3])], [])}


def test_the_index_says_better_only_what_is_better():
    better, not_better = headlines(judged(70.2, 75.4))
    assert not_better == []
    assert better == [
        "**Judges**: 75.4 % on 3 files of real votes. Of 1 ways people use today the nearest, majority, has 70.2 %. "
        "([page](today.md))"
    ]
    better, not_better = headlines(judged(75.4, 70.2))
    assert better == []
    assert "75.4" in not_better[0]


def test_ways_are_compared_on_the_files_that_both_label():
    """74.9 on two files is less than ours on three, and more than ours on the same two."""
    better, not_better = headlines(judged(74.9, 75.4, files=(2, 3)))
    assert better == []
    assert "74.9 % on 2 of them, where ours have 74.4 %" in not_better[0]


# -- what people do today -----------------------------------------------------------------------------------


def test_ties_go_where_the_tools_let_them_go():
    votes = np.array([[1, 0, -1], [0, 1, -1], [1, 1, 0], [-1, -1, -1]], dtype=np.int8)
    assert today.pandas_mode(votes).tolist() == [0, 0, 1, 0]  # the smaller label
    assert today.inspect_mode(votes).tolist() == [1, 0, 1, 0]  # the one that came first
    assert today.inspect_mean(votes).tolist() == [1, 1, 1, 0]  # one half passes
    assert today.at_least(2)(votes).tolist() == [0, 0, 1, 0]


def test_scores_are_cut_where_people_cut_them():
    scores = np.array([[0.0, 1.0], [10.0, 7.0], [4.0, np.nan]])
    assert today.mean_score(scores)[1].tolist() == [0, 1, 0]
    order, labels = today.mean_standard_score(scores)
    assert np.argsort(order).tolist() == [0, 2, 1]
    assert labels.tolist() == [0, 1, 0]


def test_sites_are_named_without_bases_that_both_alleles_share():
    assert today._named("1", 8450, "T", "G") == "1:8450:T:G"
    assert today._named("1", 10, "CAGG", "CG") == "1:10:CAG:C"
    assert today._named("1", 10, "ACG", "ATG") == "1:11:C:T"


@pytest.mark.parametrize("scene", ["judges", "crowd", "rules", "callers"])
def test_examples_are_labelled_in_every_way(scene):
    """The files that every reader has: goldless is ahead of every plain way, as the page shows."""
    name = today._SCENES[scene][2]
    found = today.run(Unit(name, {"scene": scene, "data": name}), Settings(quick=True), 0)
    assert set(found) == {way for way in today._SCENES[scene][1] if way in today._PLAIN} | {"goldless"}
    assert found["goldless"] == max(found.values())


# -- one leniency for all voters ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lenient():
    """Voters that all share one leniency for an item, some of them bad ones."""
    rng = np.random.default_rng(5)
    truth = np.where(rng.random(4_000) < 0.5, 1, -1)
    skill = np.array([1.6, 1.4, 1.5, 1.2, 1.0, 0.3, 0.2, 0.1, 0.4, 0.2])
    log_odds = truth[:, None] * skill + 1.8 * rng.normal(size=(4_000, 1))
    votes = np.where(rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds)), 1, -1).astype(np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return votes, truth, gl.LatentSML().fit_predict(votes)


def test_a_leniency_that_all_share_is_told_from_the_class(lenient):
    votes, truth, start = lenient
    labels, _ = leniency_labels(votes, start)
    assert gl.balanced_accuracy(truth, labels) > gl.balanced_accuracy(truth, start) + 0.05


def test_leniency_does_not_depend_on_the_order_of_voters_or_items(lenient):
    votes, _, start = lenient
    labels, likelihood = leniency_labels(votes, start)
    items, voters = np.random.default_rng(0).permutation(len(votes)), np.arange(votes.shape[1])[::-1]
    again, same = leniency_labels(votes[items][:, voters], start[items])
    assert np.mean(again == labels[items]) > 0.999
    assert same == pytest.approx(likelihood, rel=1e-6)


@pytest.mark.parametrize("name", claim_pages.PAGES)
def test_pages_show_what_their_records_say(name):
    """After a run: python -m research.benchmarks.claim_pages."""
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert claim_pages.written(name) == page
    assert page.count("<!-- measured: ") == page.count("<!-- end -->") == len(claim_pages.PAGES[name][1])
