"""The summary is plain and says the truth; the page shows it and obeys nobody's names."""

import base64
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless.cli import main
from goldless.fitting.fitted import Alternative
from goldless.fitting.panels import judge_panels
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.report import drawing, render_html, summarize
from goldless.report.items import because
from goldless.report.summary import Because
from goldless.report.table import packed_votes, vote_bits

HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A1",
    "</script><img src=x onerror=alert(1)>",
    "{{ 7*7 }}",
    "\"'&<b>",
]


@pytest.fixture(scope="module")
def simulated():
    X, y = gl.simulate_votes(5000, groups=[5] + [1] * 15, random_state=0)
    return X, y, gl.LatentSML(structure=[0] * 5 + list(range(1, 16))).fit(X)


@pytest.fixture(scope="module")
def summary(simulated):
    X, y, model = simulated
    return summarize(model, X, truth=(y == 1).astype(int), title="test", source="simulated")


# -- the summary --------------------------------------------------------------------------------------------


def test_the_summary_is_plain_and_survives_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_summary_says_what_the_model_says(simulated, summary):
    _, _, model = simulated
    assert summary["groups"][0]["voters"] == [0, 1, 2, 3, 4]
    assert [voter["group"] for voter in summary["voters"]] == ["A"] * 5 + [None] * 15
    np.testing.assert_allclose(
        [voter["balanced_accuracy"] for voter in summary["voters"]], model.balanced_accuracy_, atol=1e-4
    )
    assert sorted(summary["order"]) == list(range(20))
    assert summary["panel"]["voters"] == model.select(5).tolist()
    score = np.array(summary["matrices"]["score"])
    np.testing.assert_allclose(score, model.score_matrix_ * (1 - np.eye(20)), rtol=0, atol=0.02 * score.max())


def test_a_panel_of_all_voters_is_expected_to_do_what_the_combined_labels_do():
    X, _ = gl.simulate_votes(400, [1] * 8, random_state=5)
    model = gl.LatentSML(subtypes=False).fit(X)
    answer = summarize(model, X, panel=list(range(8)))["answer"]
    expected = {row["method"]: row["balanced_accuracy"] for row in answer["expected"]}
    assert expected["panel"] == pytest.approx(expected["combined"], abs=1e-4)


def test_panels_are_on_the_scale_of_the_combined_labels(simulated, tmp_path, capsys):
    X, _ = gl.simulate_votes(300, [4, 1, 1, 1, 1], random_state=2, group_accuracy=(0.6, 0.7))
    model = gl.LatentSML(structure="independent", subtypes=False).fit(X)
    found = summarize(model, X)
    expected = {row["method"]: row["balanced_accuracy"] for row in found["answer"]["expected"]}
    raw = {len(panel.voters): panel.balanced_accuracy for panel in model.panels()}
    shown = {len(choice["voters"]): choice["balanced_accuracy"] for choice in found["panel"]["choices"]}
    (whole,) = judge_panels(model.fitted_, [range(8)])
    factor = (expected["combined"] - 0.5) / (whole.balanced_accuracy - 0.5)
    assert shown == {size: pytest.approx(0.5 + factor * (raw[size] - 0.5), abs=2e-4) for size in raw}
    assert abs(expected["combined"] - whole.balanced_accuracy) > 0.01  # there is something to correct
    np.savez(tmp_path / "votes.npz", votes=X)
    assert main(["select", str(tmp_path / "votes.npz"), "--structure", "independent", "--json"]) == 0
    panels = json.loads(capsys.readouterr().out)["panels"]  # of a model with subtypes, which change nothing here
    assert [panel["balanced_accuracy"] for panel in panels] == pytest.approx(list(shown.values()), abs=0.02)


def test_scores_against_the_truth(simulated, summary):
    X, y, model = simulated
    scored = {row["method"]: row["balanced_accuracy"] for row in summary["truth"]["methods"]}
    assert scored["combined"] == round(gl.balanced_accuracy(y, model.predict(X)), 4)
    assert scored["majority vote"] == round(gl.balanced_accuracy(y, gl.MajorityVote().fit_predict(X)), 4)
    expected = {row["method"]: row["balanced_accuracy"] for row in summary["answer"]["expected"]}
    assert abs(expected["combined"] - scored["combined"]) < 0.02  # the model is right here
    positive, negative = gl.conditional_covariance(X, y)
    np.testing.assert_allclose(summary["truth"]["conditional"][1], positive * (1 - np.eye(20)), atol=1e-4)
    np.testing.assert_allclose(summary["truth"]["conditional"][0], negative * (1 - np.eye(20)), atol=1e-4)


def test_unknown_truths_are_left_out(simulated):
    X, y, model = simulated
    truth = (y == 1).astype(int)
    truth[100:] = -1
    assert summarize(model, X, truth=truth)["truth"]["n_scored"] == 100
    with pytest.raises(ValueError, match="two items of each class"):
        summarize(model, X, truth=np.zeros(len(y), dtype=int))


def test_patterns_and_items(simulated, summary):
    X, _, model = simulated
    for pattern in summary["patterns"]:
        codes = np.array(pattern["votes"])
        assert ((2 * codes - 1 == X).all(axis=1)).sum() == pattern["count"]
        assert 0 < pattern["vote_counts"][1] < 20
    for item in summary["items"]:
        np.testing.assert_array_equal(2 * np.array(item["votes"]) - 1, X[item["row"]])
        assert item["item"] == str(item["row"] + 1)
        assert abs(model.predict_proba(X[item["row"]][None])[0, 1] - item["probabilities"][1]) < 1e-3
    doubt = [abs(item["probabilities"][1] - 0.5) for item in summary["items"]]
    assert max(doubt) <= np.sort(np.abs(model.predict_proba(X)[:, 1] - 0.5))[200]


@pytest.mark.parametrize("estimator", [gl.DawidSkene(), gl.SpectralMetaLearner()])
def test_other_models_of_the_voters(simulated, estimator):
    X, _, _ = simulated
    assert summarize(estimator.fit(X), X)["groups"] == []
    with pytest.raises(TypeError, match="MajorityVote"):
        summarize(gl.MajorityVote().fit(X), X)


def test_other_readings_of_the_votes_are_told(simulated):
    X, _, _ = simulated
    part = gl.LatentSML(structure="independent").fit(X)
    others = (Alternative(np.zeros(20, dtype=int), 0.5, 0.25),)
    tell(part, verdict="Two groupings explain the votes.", ambiguous=False, alternatives=others)
    found = summarize(part, X)
    assert found["answer"]["verdict"] == part.verdict_
    assert shown(render_html(found)).count(part.verdict_) == 1  # where the groups are explained
    assert found["structure"]["alternatives"] == [{"groups": [0] * 20, "margin": 0.5, "labels_changed": 0.25}]
    assert "20 voters in 1 group<" in render_html(found)
    tell(part, ambiguous=True)
    found = summarize(part, X, warnings=[part.verdict_])
    assert found["warnings"].count(part.verdict_) == 1


def shown(page):
    """Return a page without the figures and the script behind it."""
    return page.partition('<script type="application/json"')[0]


def tell(model, **words):
    """Put other words into what a model learnt of its groups."""
    model.fitted_ = replace(model.fitted_, grouping=replace(model.fitted_.grouping, **words))


def test_the_default_structure_is_reported(simulated):
    X, _, _ = simulated
    model = gl.LatentSML().fit(X)
    found = summarize(model, X)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert len(found["structure"]["alternatives"]) == len(model.alternatives_)
    render_html(found)


def test_small_and_odd_votes(rng):
    X = rng.choice(["no", "yes"], size=(60, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[:10, "a"] = None
    model = gl.LatentSML().fit(frame)
    found = summarize(model, frame)
    assert any("3 voters" in sentence for sentence in found["warnings"])
    assert "3 voters" in render_html(found)
    with pytest.raises(ValueError, match="voters"):
        summarize(model, X[:, :2])


def test_constant_voters_and_copies(simulated):
    X, _, _ = simulated
    X = np.column_stack([X, X[:, 0], np.ones(len(X), dtype=int)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gl.LatentSML(structure="independent").fit(X)
        found = summarize(model, X)
    assert found["voters"][20]["copy_of"] == "voter 0"
    assert found["voters"][20]["uniqueness"] <= 0.5
    assert found["voters"][21]["uniqueness"] == 0
    page = render_html(found)
    assert "copy of voter 0" in page
    assert "says nothing" in page


# -- worth --------------------------------------------------------------------------------------------------


def test_what_may_be_chance_counts_as_nothing(simulated):
    X, _, _ = simulated
    model = gl.LatentSML(structure="independent").fit(X[:, 5:])
    assert summarize(model, X[:, 5:])["answer"]["effective_votes"] > 13


def test_expected_accuracy_of_certain_labels_is_one():
    assert expected_balanced_accuracy(np.array([0, 1]), np.eye(2), np.array([3, 5])) == 1
    assert expected_balanced_accuracy(np.array([0, 1]), np.full((2, 2), 0.5), np.array([5, 5])) == 0.5


# -- the page -----------------------------------------------------------------------------------------------


def test_the_page_holds_everything_and_asks_for_nothing(summary):
    page = render_html(summary)
    for anchor in ("answer", "truth", "pairs", "tree", "voters", "items", "structure", "limits", "share"):
        assert f'id="{anchor}"' in page
    kinds = re.findall(r'<option value="(\w+)">', page.partition('id="map-kind"')[2].partition("</select>")[0])
    assert kinds == [
        "echo",
        "score",
        "covariance",
        "fitted",
        "left_over",
        "conditional_positive",
        "conditional_negative",
    ]
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*"?([^"\s>)]*)', page)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "http" not in page.replace("http-equiv", "")


def test_large_groups_are_folded_in_the_tree(summary):
    (whole,) = drawing.trees(summary)
    assert len(whole["leaves"]) == 20
    many = {**summary, "voters": [{**voter, "group": "A"} for voter in summary["voters"]]}
    folded, unfolded = drawing.trees(many)
    assert [leaf["text"] for leaf in folded["leaves"]] == ["20 voters"]
    assert len(unfolded["leaves"]) == 20


def test_what_limits_the_answer_stands_beside_it(simulated):
    X, _, _ = simulated
    few = X[:60, :5]
    found = summarize(gl.LatentSML().fit(few), few, resamples=0)
    reasons = found["diagnosis"]["cannot_tell"]
    assert bool(reasons) == any(
        sentence.startswith("The votes cannot tell") for sentence in found["answer"]["limits"]
    )
    page = shown(render_html(found))
    for sentence in found["answer"]["limits"]:
        assert drawing.keep(sentence) in page.partition('id="watch"')[0]


def test_all_items_are_in_the_table(simulated, summary):
    X, y, model = simulated
    table = summary["table"]
    assert (table["n_rows"], table["sampled"], table["rows"], table["names"]) == (5000, False, None, None)
    numbers = {
        name: np.frombuffer(base64.b64decode(table[name]), dtype=kind)
        for name, kind in {"patterns": "<u4", "labels": "u1", "probability": "<u2", "truth": "i1"}.items()
    }
    labels = model.classes_[numbers["labels"][numbers["patterns"]]]
    np.testing.assert_array_equal(labels, model.predict(X))
    proba = model.predict_proba(X)[np.arange(5000), (labels == 1).astype(int)]
    np.testing.assert_allclose(numbers["probability"][numbers["patterns"]] / 65535, proba, atol=1e-4)
    np.testing.assert_array_equal(numbers["truth"], (y == 1).astype(int))
    assert summarize(model, X, resamples=0, items=0)["table"] is None


@pytest.mark.parametrize(("n_classes", "bits"), [(2, 2), (3, 2), (4, 4), (15, 4), (16, 8), (100, 8)])
def test_votes_are_packed_without_loss(rng, n_classes, bits):
    assert vote_bits(n_classes) == bits
    codes = rng.integers(-1, n_classes, size=(30, 13)).astype(np.int8)
    packed = packed_votes(codes, bits)
    in_byte = 8 // bits
    places = (packed[:, :, None] >> (bits * np.arange(in_byte))) & (2**bits - 1)
    np.testing.assert_array_equal(places.reshape(30, -1)[:, :13].astype(int) - 1, codes)


def test_hostile_names_stay_text(simulated):
    X, y, _ = simulated
    frame = pd.DataFrame(np.where(X[:, :5] == 1, HOSTILE[0], HOSTILE[1]), columns=HOSTILE)
    frame.index = [f"<i>{i}</i>" for i in range(len(frame))]
    model = gl.LatentSML().fit(frame)
    found = summarize(
        model, frame, truth=(y == 1).astype(int), title=HOSTILE[2], source=HOSTILE[0], warnings=[HOSTILE[2]]
    )
    page = render_html(found)
    assert "<script>alert" not in page
    assert "onerror=alert(1)>" not in page
    assert "<i>" not in re.sub(r"<i( [^>]*)?></i>|<i style[^>]*>", "", shown(page))
    assert "{{ 7*7 }}" in page
    assert len(re.findall(r"<script", page)) == 2
    assert "'unsafe-inline'" not in page.partition("script-src")[2].partition(";")[0]
    assert "<script>" not in model._repr_html_().replace("&lt;script&gt;", "")


def test_the_residual_path_is_there_however_the_groups_were_found(simulated, summary):
    X, _, model = simulated
    structure = summary["structure"]
    path = dict(map(tuple, structure["residual_path"]))
    assert list(path) == list(range(1, 21))
    assert structure["n_groups_on_path"] == 16
    assert structure["residual"] == pytest.approx(model.residual_, rel=1e-4)
    paper = gl.assign_groups(model.covariance_)
    assert path[5] == pytest.approx(paper.residual_path[5], rel=1e-4)
    copied = np.hstack([X, X[:, :1], np.ones((len(X), 1))])
    with pytest.warns(gl.VotesWarning):
        again = gl.LatentSML(structure=[0] * 5 + list(range(1, 16)) + [0, 16]).fit(copied)
    same = summarize(again, copied)["structure"]  # a copy, and a voter that always says the same, are left out
    assert same["residual_path"] == structure["residual_path"]
    assert same["residual"] == pytest.approx(structure["residual"], rel=1e-4)
    page = render_html(summary)
    assert "used here: 16 groups" in page


def test_both_sides_of_a_doubtful_item_are_heard(summary):
    found = because(np.array([3.0, -0.5, 2.0, 2.5, -1.0, 0.01]), list("abcdef"))
    assert found == [Because("a", 3.0), Because("d", 2.5), Because("e", -1.0)]
    found = because(np.array([1.0, -3.0, 2.0]), list("abc"))
    assert found == [Because("b", -3.0), Because("c", 2.0), Because("a", 1.0)]
    assert because(np.array([1.0, 0.0]), list("ab")) == [Because("a", 1.0)]
    assert because(np.zeros(2), list("ab")) == []
    for item in summary["items"]:
        assert len({part["log_odds"] > 0 for part in item["because"]}) == 2


def test_the_advice_is_in_plain_words(simulated, summary):
    advice = summary["answer"]["advice"]
    assert advice[0].startswith("Use the combined labels: 5 of 20 voters echo others")
    assert advice[1] == "One group of 5 voters echoes a common source. Treat it as one opinion."
    said = " ".join(advice)
    assert not re.search(r"p <|p =|L-SML|Dawid|independence", said)
    X, _, _ = simulated
    three = summarize(gl.LatentSML().fit(X[:, [0, 8, 10]]), X[:, [0, 8, 10]])["answer"]["advice"]
    assert "Ask more voters, until there are five" in three[0]


def test_the_page_of_124_voters_is_small(rng):
    X, y = gl.simulate_votes(3000, groups=[22, 16, 10] + [2] * 20 + [1] * 36, random_state=0)
    groups = np.repeat(np.arange(59), [22, 16, 10] + [2] * 20 + [1] * 36)
    model = gl.LatentSML(structure=groups, max_iter=5, tol=1).fit(X)
    page = render_html(summarize(model, X, truth=(y == 1).astype(int)))
    assert len(page.encode()) < 2_500_000


def test_the_page_needs_no_matplotlib(summary, monkeypatch):
    before = render_html(summary)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert render_html(summary) == before


def test_json_of_the_command_is_the_summary(tmp_path, capsys):
    path = str(tmp_path / "votes.csv")
    assert main(["simulate", "--items", "500", "-q", "-o", path]) == 0
    assert main(["report", path, "--truth", "truth", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= {"schema_version", "answer", "voters", "truth"}
    assert not (tmp_path / "report.html").exists()


def test_drawings():
    assert drawing.percent(0.99996) == "> 99.9\u00a0%"
    assert drawing.percent(None) == "unknown"
    assert drawing.strip([1, 1, 0, -1, 1]) == [
        {"x": 0, "length": 2, "code": 1},
        {"x": 2, "length": 1, "code": 0},
        {"x": 4, "length": 1, "code": 1},
    ]
    assert drawing.short("ChatGPT-0301/Vanilla_2shot", 20) == "ChatGPT-03…lla_2shot"
    assert len(drawing.short("x" * 100, 21)) == 21
    axes = drawing.Axes((0, 1), (0, 0))
    assert axes.x(0) == axes.left
    assert all(text != "-0" for side in axes.ticks().values() for _, text in side)


# -- notebooks and plots ------------------------------------------------------------------------------------


def test_the_small_version_for_notebooks(simulated):
    _, _, model = simulated
    html = model._repr_html_()
    assert "20 voters, counted in 1 group" in html
    assert model._repr_mimebundle_()["text/html"] == html
    assert "LatentSML" in gl.LatentSML()._repr_html_()
    assert "text/html" in gl.LatentSML()._repr_mimebundle_()


def test_importing_goldless_imports_no_plots_and_no_templates():
    code = "import sys, goldless; print([m for m in ('jinja2', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_plot_draws_on_given_axes(simulated):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    from goldless import plots

    X, y, _ = simulated
    model = gl.LatentSML().fit(pd.DataFrame(X, columns=[f"$voter_{i}" for i in range(20)]))
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    figure, axes = pyplot.subplots(2, 4, figsize=(20, 10), layout="constrained")
    drawn = [
        plots.score(model, ax=axes[0, 0]),
        plots.covariance(model, ax=axes[0, 1]),
        plots.covariance(model, "fitted", ax=axes[0, 2]),
        plots.covariance(model, "left over", ax=axes[0, 3]),
        plots.tree(model, ax=axes[1, 0]),
        plots.residual_path(model, ax=axes[1, 1]),
        plots.accuracy(model, ax=axes[1, 2]),
        plots.score_against_conditional_covariance(model, frame, y, ax=axes[1, 3]),
    ]
    assert drawn == list(axes.flat)
    figure.canvas.draw()
    assert plots.accuracy(model, model.balanced_accuracy_).get_xlabel() == "true balanced accuracy"
    with pytest.raises(ValueError, match="kind must be"):
        plots.covariance(model, "other")
    pyplot.close("all")


def test_advice_does_not_repeat_what_limits_the_answer():
    limits = ["The votes cannot tell how good the labels are: few items."]
    assert drawing.besides(f"{limits[0]} Collect more.", limits) == "Collect more."
    assert drawing.besides(limits[0], limits) == ""
    assert drawing.besides("Use them.", limits) == "Use them."
    assert drawing.besides("One. Two. Do it.", ["One.", "Two."]) == "Do it."


def test_a_voter_that_votes_on_few_items_is_said_to(capsys, tmp_path):
    """Alone it labels all items, so its figure is far below its accuracy where it votes."""
    X, _ = gl.simulate_votes(400, groups=[1] * 6, missing_rate=0.6, random_state=0)
    made = gl.report(pd.DataFrame(X, columns=list("abcdef")).replace(0, None), resamples=0)
    row = next(row for row in made.summary["answer"]["expected"] if row["coverage"] is not None)
    voter = next(voter for voter in made.summary["voters"] if voter["name"] == row["detail"])
    assert row["coverage"] == voter["coverage"] < 0.5
    assert f"votes on {100 * row['coverage']:.0f} % of items; the others count as guesses" in made.html.replace(
        "\u00a0", " "
    )
    file = tmp_path / "votes.csv"
    pd.DataFrame(X, columns=list("abcdef")).replace(0, None).to_csv(file, index=False)
    main(["inspect", str(file)])
    assert f"{row['detail']} votes on {100 * row['coverage']:.0f} % of items" in capsys.readouterr().out
