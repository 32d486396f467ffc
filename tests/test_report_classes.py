"""Reports of more than two classes: the summary, the page, the plots; and votes that are read once."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import goldless as gl
import goldless.io.encode as encode
import goldless.report
import goldless.votes.rows as rows
from goldless.maths.tree import TreeModel
from goldless.report import drawing, render_html, summarize


def panel_of(classes, sizes, n_items, seed, missing=0.1, prior=None):
    """Draw votes of voters in groups; names of classes are those that were given."""
    rng = np.random.default_rng(seed)
    n_classes, groups = len(classes), np.repeat(np.arange(len(sizes)), sizes)

    def table(right):
        wrong = rng.dirichlet(np.ones(n_classes - 1), size=n_classes) * (1 - right)
        return np.array([np.insert(row, label, right) for label, row in enumerate(wrong)])

    latents = np.stack([np.eye(n_classes) if size == 1 else table(0.75).T for size in sizes])
    votes = np.stack([table(0.85 if sizes[group] > 1 else rng.uniform(0.55, 0.8)) for group in groups])
    prior = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior)
    codes, truth, _ = TreeModel(groups, prior, latents, votes).sample(n_items, seed)
    codes[rng.random(codes.shape) < missing] = -1
    labels = np.array([*classes, None], dtype=object)[codes]
    frame = pd.DataFrame(labels, columns=[f"voter {i}" for i in range(len(groups))])
    return frame, truth.astype(int)


@pytest.fixture(scope="module")
def three():
    frame, truth = panel_of(["cat", "dog", "fish"], [4] + [1] * 12, 2000, seed=1, prior=[0.5, 0.3, 0.2])
    model = gl.LatentSML().fit(frame)
    return frame, truth, model, summarize(model, frame, truth=truth, resamples=3)


@pytest.fixture(scope="module")
def ten():
    frame, truth = panel_of([f"digit {i}" for i in range(10)], [1] * 8, 1500, seed=2)
    model = gl.LatentSML().fit(frame)
    return frame, truth, model, summarize(model, frame, truth=truth, resamples=0)


def test_the_summary_says_what_the_model_says(three):
    frame, _, model, summary = three
    assert summary["votes"]["classes"] == ["cat", "dog", "fish"]
    np.testing.assert_allclose(summary["votes"]["class_shares"], model.class_balance_, atol=1e-4)
    assert sum(summary["votes"]["vote_shares"]) == pytest.approx(1, abs=1e-3)
    assert summary["answer"]["chance"] == pytest.approx(1 / 3, abs=1e-4)
    assert summary["groups"][0]["voters"] == [0, 1, 2, 3]
    for voter, of_voter in enumerate(summary["voters"]):
        np.testing.assert_allclose(of_voter["recall"], model.recall_[voter], atol=1e-4)
        np.testing.assert_allclose(of_voter["confusion"], model.confusion_[voter], atol=1e-4)
        assert of_voter["balanced_accuracy"] == pytest.approx(np.mean(of_voter["recall"]), abs=1e-3)
        said = frame.iloc[:, voter].value_counts(normalize=True).reindex(["cat", "dog", "fish"])
        np.testing.assert_allclose(of_voter["vote_shares"], said, atol=1e-4)
    assert summary["structure"]["guard"]["kept"]
    alike = {tuple(pair["voters"]) for pair in summary["diagnosis"]["same_wrong_answer"]}
    assert {(i, j) for j in range(4) for i in range(j)} <= alike


def test_scores_against_the_truth(three):
    frame, truth, model, summary = three
    labels = model.predict(frame)
    true_labels = model.classes_[truth]
    scored = {row["method"]: row for row in summary["truth"]["methods"]}
    assert scored["combined"]["balanced_accuracy"] == round(gl.balanced_accuracy(true_labels, labels), 4)
    assert scored["combined"]["accuracy"] == round((labels == true_labels).mean(), 4)
    majority = gl.MajorityVote().fit_predict(frame)
    assert scored["majority vote"]["balanced_accuracy"] == round(gl.balanced_accuracy(true_labels, majority), 4)
    np.testing.assert_array_equal(
        summary["truth"]["confusion"], pd.crosstab(true_labels, labels).reindex(columns=model.classes_).to_numpy()
    )
    assert np.array(summary["truth"]["conditional"]).shape == (3, 16, 16)


def test_a_class_that_the_truth_lacks_is_left_out(three):
    frame, truth, model, _ = three
    some = np.where(truth == 2, -1, truth)
    found = summarize(model, frame, truth=some, resamples=0)["truth"]
    known = some >= 0
    expected = gl.balanced_accuracy(model.classes_[some[known]], model.predict(frame)[known])
    assert found["methods"][0]["balanced_accuracy"] == round(expected, 4)
    assert found["voters"][0]["recall"][2] is None
    with pytest.raises(ValueError, match="two items of each of two classes"):
        summarize(model, frame, truth=np.where(truth == 0, 0, -1), resamples=0)


def test_items_compare_the_label_with_the_next(three):
    frame, _, model, summary = three
    why = model.explain(frame)
    proba = model.predict_proba(frame)
    for item in summary["items"]:
        row = item["row"]
        assert item["compared"] == [why.label[row], why.runner_up[row]]
        np.testing.assert_allclose(item["probabilities"], proba[row], atol=1e-4)
        assert sum(item["vote_counts"]) == frame.iloc[row].notna().sum()
    doubts = [(np.diff(np.sort(proba[item["row"]])[-2:])[0] / 2).round(4) for item in summary["items"]]
    assert doubts == sorted(doubts)


@pytest.mark.parametrize("which", ["three", "ten"])
def test_the_page_names_every_class(which, request):
    _, _, _, summary = request.getfixturevalue(which)
    page = render_html(summary)
    classes = summary["votes"]["classes"]
    assert 'aria-label="Estimated share of the items' in page
    assert page.count('class="recalls"') == summary["votes"]["n_voters"]
    assert "Combined labels, class by class" in page
    for name in classes:
        assert page.count(name) > summary["votes"]["n_voters"]
    used = {f"k{code}" for code in range(len(classes))}
    assert used <= set(re.findall(r'class="(k\d)"', page))
    assert not re.search(r"[Ss]ensitivity|[Ss]pecificity|a coin", page)
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_tells_who_gives_the_same_wrong_answer_and_whether_groups_were_believed(three):
    page = render_html(three[3])
    assert "Who gives the same wrong answer" in page
    assert "The groups explain the votes better than easy and hard items do" in page
    kinds = re.findall(r'<option value="(\w+)">', page.partition('id="map-kind"')[2].partition("</select>")[0])
    assert set(kinds) == {*three[3]["matrices"], "conditional"}


def test_the_page_says_why_groups_were_not_believed(three):
    """Strong voters agree because easy items are easy for all: that is skill, not echo."""
    frame, _, model, _ = three
    fitted = gl.LatentSML(structure="independent").fit(frame)
    guard = replace(model.fitted_.grouping.guard, kept=False)
    fitted.fitted_ = replace(fitted.fitted_, grouping=replace(fitted.fitted_.grouping, guard=guard))
    summary = summarize(fitted, frame, resamples=0)
    assert summary["structure"]["guard"]["kept"] is False
    assert "taken for skill, not echo" in render_html(summary)


def test_hostile_classes_stay_text():
    hostile = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{ 7*7 }}"]
    frame, truth = panel_of(hostile, [1] * 6, 300, seed=3)
    model = gl.LatentSML().fit(frame)
    page = render_html(summarize(model, frame, truth=truth, resamples=0))
    assert "<script>alert" not in page
    assert "onerror=alert(1)>" not in page
    assert len(re.findall(r"<script", page)) == 2
    assert "<script>" not in model._repr_html_()


def test_colours_repeat_after_ten():
    assert drawing.class_colour(2, 1) == "v1"
    assert [drawing.class_colour(12, code) for code in (0, 9, 10)] == ["k0", "k9", "k0"]


def test_every_plot_draws(three):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    from goldless import plots

    _, _, model, _ = three
    for draw in (plots.score, plots.covariance, plots.tree, plots.accuracy):
        assert draw(model).figure is not None
    with pytest.raises(ValueError, match="for two classes, and there are 3"):
        plots.residual_path(model)
    pyplot.close("all")


# -- votes are read once ------------------------------------------------------------------------------------


def test_a_report_reads_and_collapses_the_votes_once(monkeypatch):
    frame, truth = panel_of(["a", "b", "c"], [1] * 4, 4000, seed=5, missing=0.0)
    model = gl.LatentSML().fit(frame)
    encoded, packed = [], []

    def counting(function, calls, size):
        def counted(first, *others, **named):
            calls.append(size(first))
            return function(first, *others, **named)

        return counted

    monkeypatch.setattr(encode, "table_of", counting(encode.table_of, encoded, len))
    monkeypatch.setattr(rows, "pack_bits", counting(rows.pack_bits, packed, len))
    summary = summarize(model, frame, truth=truth, resamples=2)
    assert encoded == [4000]
    assert packed.count(4000) == 1
    assert summary["votes"]["n_patterns"] <= 3**4 < 4000
    assert json.loads(json.dumps(summary)) == summary


def test_a_summary_of_patterns_is_that_of_a_diagnosis_of_all_rows():
    frame, _ = panel_of(["a", "b", "c"], [1] * 5, 500, seed=6)
    model = gl.LatentSML().fit(frame)
    assert summarize(model, frame, diagnosis=gl.diagnose(model, frame, resamples=3)) == summarize(
        model, frame, resamples=3
    )


# -- whose words --------------------------------------------------------------------------------------------


def test_the_report_does_not_speak_the_language_of_the_command_line():
    folder = Path(goldless.report.__file__).parent
    commands = re.compile(r"[\s\"'`(]--[a-z]+|goldless (ask|inspect|combine|select|simulate)\b")
    for file in [*folder.glob("*.py"), *folder.glob("page/*.j2")]:
        text = re.sub(r"var\(--\w+\)|--[vlr]:|--g\b|--c\b", "", file.read_text())
        assert not commands.search(text), (file.name, commands.search(text))
