"""Save and load: the same answers, versioned, never half a file."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import goldless as gl
from goldless import (
    DawidSkene,
    LatentSML,
    MajorityVote,
    OracleCI,
    OracleLatent,
    PaperOptions,
    SpectralMetaLearner,
    VotesWarning,
)
from goldless.estimators import latent

X, Y, TRUE_MODEL = gl.simulate_votes(
    300, groups=[3, 1, 1, 1], random_state=0, voter_accuracy=(0.8, 0.95), return_model=True
)
ESTIMATORS = [
    MajorityVote(),
    DawidSkene(decision="ml", prior=(0.1, 0.2)),
    SpectralMetaLearner(imbalance=0.1),
    SpectralMetaLearner(em=False),
    LatentSML(structure="paper"),
    LatentSML(structure=[0, 0, 0, 1, 2, 3], paper=PaperOptions(em=False)),
    LatentSML(structure=np.array([0, 0, 0, 1, 2, 3]), paper=PaperOptions(n_groups=[2, 3])),
    OracleCI(decision="map"),
    OracleLatent(TRUE_MODEL),
]
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
CLASSES = {
    "str": np.array(["ham", "späm"]),
    "int": np.array([-1, 1], dtype=np.int8),
    "bool": np.array([False, True]),
    "float": np.array([0.1, np.nextafter(0.1, 1)]),
}


def assert_equal(one, other):
    """Equal and of the same type, through dictionaries, tuples and models."""
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_equal(first, second)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@by_estimator
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES.keys())
def test_a_loaded_model_is_the_saved_one(estimator, classes, tmp_path):
    votes, truth = classes[(X > 0).astype(int)], classes[(Y > 0).astype(int)]
    model = clone(estimator).fit(votes, truth)
    model.save(tmp_path / "model.json")
    loaded = gl.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert_equal(vars(loaded), vars(model))
    for method in ("predict", "predict_proba", "decision_function"):
        assert_equal(getattr(loaded, method)(votes), getattr(model, method)(votes))
    assert loaded.predict(votes).dtype == classes.dtype


@by_estimator
def test_a_pickled_model_is_the_same(estimator):
    model = clone(estimator).fit(X, Y)
    assert_equal(vars(pickle.loads(pickle.dumps(model))), vars(model))


def test_frames_keep_their_names(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LatentSML(structure="paper").fit(frame)
    model.save(str(tmp_path / "model.json"))
    loaded = gl.load(str(tmp_path / "model.json"))
    assert_equal(loaded.feature_names_in_, model.feature_names_in_)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.predict(frame[list("fedcba")]), model.predict(frame))


def test_voters_without_information_are_kept(tmp_path):
    with pytest.warns(VotesWarning):
        model = DawidSkene().fit(np.column_stack([X, np.ones(300)]))
    model.save(tmp_path / "model.json")
    assert_equal(vars(gl.load(tmp_path / "model.json")), vars(model))


def test_missing_and_not_finite_parameters_are_kept(tmp_path):
    for missing in (0, "skip", float("inf"), None):
        MajorityVote(missing=missing).fit(X).save(tmp_path / "model.json")
        assert_equal(gl.load(tmp_path / "model.json").missing, missing)


def test_the_file_is_plain_json_with_a_version(tmp_path):
    DawidSkene().fit(X).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (document["format"], document["version"], document["estimator"]) == ("goldless-model", 2, "DawidSkene")


# -- what cannot be loaded ----------------------------------------------------------------------------------


@pytest.fixture
def document(tmp_path):
    DawidSkene().fit(X).save(tmp_path / "good.json")
    return json.loads((tmp_path / "good.json").read_text())


def refused(tmp_path, text, sentence):
    path = tmp_path / "bad.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=sentence) as raised:
        gl.load(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "not json", b"\xff\xfe\x00", b"PK\x03\x04", "[" * 100_000])
def test_broken_json_is_refused(tmp_path, text):
    refused(tmp_path, text, "is not a goldless model: it is not JSON")


@pytest.mark.parametrize("text", ["{}", "[]", "3", "null", '"goldless-model"', '{"format": "other", "version": 1}'])
def test_other_json_is_refused(tmp_path, text):
    refused(tmp_path, text, "does not say format 'goldless-model'")


@pytest.mark.parametrize("version", [0, 3, "1", None])
def test_unknown_versions_are_refused(tmp_path, document, version):
    sentence = rf"has model version {version!r}, this goldless reads versions 1 and 2; save it again"
    refused(tmp_path, json.dumps(document | {"version": version}), sentence)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated_files_are_refused(tmp_path, document, share):
    text = json.dumps(document)
    refused(tmp_path, text[: int(len(text) * share)], "it is not JSON")


def damage(document, what):
    fitted = document["fitted"]["of"]
    match what:
        case "no estimator":
            del document["estimator"]
        case "unknown estimator":
            document["estimator"] = "Path"
        case "unknown parameter":
            document["parameters"]["shell"] = "rm"
        case "a method for an attribute":
            fitted["subset"] = 1
        case "nothing fitted":
            document["fitted"]["of"] = {}
        case "fitted is a list":
            document["fitted"] = []
        case "no classes":
            del fitted["classes"]
        case "three classes":
            fitted["classes"] |= {"array": [1, 2, 3], "shape": [3]}
        case "no model":
            del fitted["model"]
        case "a rate above one":
            fitted["model"]["of"]["votes"]["array"][0][0][0] = 1.5
        case "a voter lost":
            fitted["model"]["of"]["groups"] |= {"array": [0, 1, 2, 3, 4], "shape": [5]}
        case "no tie rule":
            del fitted["tie_order"]
        case "strange type":
            fitted["classes"]["dtype"] = "no such type"
        case "strange value":
            fitted["classes"] = {"what": 1}
        case "strange kind":
            fitted["model"]["kind"] = "Path"
        case "a type of a gigabyte":
            fitted["classes"]["dtype"] = "S1000000000"
        case "a number too large":
            fitted["tie_order"]["array"][0] = 10**40
        case "not a number":
            fitted["model"]["of"]["prior"]["array"][0] = {"float": "nan"}
        case "a shape of a terabyte":
            fitted["classes"]["shape"] = [10**6, 10**6]
        case "rates that do not sum to one":
            fitted["model"]["of"]["votes"]["array"][0][0] = [0.5, 0.1]
        case "a sum of classes":
            fitted["model"]["of"]["prior"]["array"] = [0.1, 0.1]
        case "a negative rate":
            fitted["model"]["of"]["votes"]["array"][0][0] = [-0.5, 1.5]
        case "a label that is a list":
            fitted["classes"] |= {"array": [[], [1]], "dtype": "object", "shape": [2]}
        case "a long name":
            fitted["voters"] = {"array": ["x" * 100_000] + ["y"] * 5000, "dtype": "<U9", "shape": [5001]}
        case "voters unlike the model":
            fitted["informative"] |= {"array": [True], "shape": [1]}
        case "deep":
            for _ in range(600):
                fitted["tie_order"] = [fitted["tie_order"]]
    return document


@pytest.mark.parametrize(
    "what",
    ["no estimator", "unknown estimator", "unknown parameter", "a method for an attribute", "nothing fitted",
     "fitted is a list", "no classes", "three classes", "no model", "a rate above one", "a voter lost", "no tie rule",
     "strange type", "strange value", "strange kind", "a type of a gigabyte", "a number too large", "not a number",
     "a shape of a terabyte", "rates that do not sum to one", "a sum of classes", "a negative rate",
     "a label that is a list", "a long name", "voters unlike the model", "deep"],
)  # fmt: skip
def test_damaged_models_are_refused(tmp_path, document, what):
    refused(tmp_path, json.dumps(damage(document, what)), "is a damaged goldless model")


def test_a_model_of_numbers_without_their_shares_is_refused(tmp_path):
    """It was loaded, and failed when it was asked for probabilities."""
    scores = Y[:, None] * 0.8 + np.random.default_rng(2).normal(size=(300, 6))
    MajorityVote().fit(scores).save(tmp_path / "good.json")
    document = json.loads((tmp_path / "good.json").read_text())
    document["fitted"]["of"]["symbol_share"] = None
    refused(tmp_path, json.dumps(document), "is a damaged goldless model")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        gl.load(tmp_path / "none.json")


# -- what cannot be saved -----------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder '.*none' to write 'model.json' in"):
        MajorityVote().fit(X).save(tmp_path / "none" / "model.json")


def test_what_json_cannot_hold_is_named_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    MajorityVote().fit(X).save(path)
    before = path.read_bytes()
    strange = MajorityVote().fit(np.array([b"no", b"yes"])[(X > 0).astype(int)])
    with pytest.raises(TypeError, match="classes cannot be saved: JSON has no bytes"):
        strange.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    MajorityVote().fit(X).save(path)
    before = path.read_bytes()

    def full(self, *args, **kwargs):
        self.touch()
        raise OSError("no space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match="no space left"):
        DawidSkene().fit(X).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_the_file_has_the_usual_permissions(tmp_path):
    MajorityVote().fit(X).save(tmp_path / "model.json")
    (tmp_path / "plain").touch()
    assert (tmp_path / "model.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_again_replaces(tmp_path):
    MajorityVote().fit(X).save(tmp_path / "model.json")
    DawidSkene().fit(X).save(tmp_path / "model.json")
    assert isinstance(gl.load(tmp_path / "model.json"), DawidSkene)


# -- files of the first edition -----------------------------------------------------------------------------

FIRST_EDITION = Path(__file__).parent / "data" / "version1"


@pytest.mark.parametrize("path", sorted(FIRST_EDITION.glob("[!a]*.json")), ids=lambda path: path.stem)
def test_models_of_version_1_answer_as_they_did(path, tmp_path):
    recorded = json.loads((FIRST_EDITION / "answers.json").read_text())
    model, answers = gl.load(path), recorded["answers"][path.stem]
    votes = np.array(recorded["votes"], dtype=float)
    if path.stem == "dawid_skene":
        words = np.where(np.isnan(votes), None, np.where(votes > 0, "yes", "no"))
        votes = pd.DataFrame(words, columns=list("abcdefghi"))
    for loaded in (model, saved_again(model, tmp_path)):
        assert loaded.predict(votes).tolist() == answers["labels"]
        np.testing.assert_allclose(loaded.predict_proba(votes)[:, 1], answers["probability"], atol=1e-12)
        np.testing.assert_allclose(loaded.sensitivity_, answers["sensitivity"], atol=1e-12)


def saved_again(model, folder):
    model.save(folder / "again.json")
    return gl.load(folder / "again.json")


def test_panels_and_questions_of_a_model_of_version_1():
    recorded = json.loads((FIRST_EDITION / "answers.json").read_text())
    votes = np.array(recorded["votes"], dtype=float)
    model = gl.load(FIRST_EDITION / "groups.json")
    assert len(model.select(3)) == 3
    assert len(model.next_to_label(votes, 5).rows) == 5


def test_votes_in_parts_are_not_forgotten_by_saving(tmp_path):
    """A model that is saved, loaded and given more votes is that of all votes."""
    whole = DawidSkene().partial_fit(X)
    half = DawidSkene().partial_fit(X[:100])
    grown = saved_again(half, tmp_path).partial_fit(X[100:])
    np.testing.assert_array_equal(grown.sensitivity_, whole.sensitivity_)
    np.testing.assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))


@pytest.mark.filterwarnings("ignore::goldless.AmbiguousGroupingWarning")
@pytest.mark.parametrize("estimator", [MajorityVote(), DawidSkene(), LatentSML()], ids=lambda e: type(e).__name__)
def test_models_of_several_classes_are_kept(estimator, tmp_path):
    votes, _ = gl.simulate_votes(300, groups=[3, 1, 1, 1], n_classes=4, missing_rate=0.2, random_state=1)
    model = estimator.fit(votes)
    loaded = saved_again(model, tmp_path)
    assert_equal(vars(loaded), vars(model))
    np.testing.assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))


def test_estimators_of_the_command_line_are_saved_too(tmp_path):
    """They know nothing of scikit-learn, which asks public ones for their parameters."""
    X, _ = gl.simulate_votes(300, [3] + [1] * 5, random_state=1)
    plain, public = latent.LatentSML(tol=1e-6).fit(X), gl.LatentSML(tol=1e-6).fit(X)
    plain.save(tmp_path / "plain.json")
    public.save(tmp_path / "public.json")
    assert (tmp_path / "plain.json").read_text() == (tmp_path / "public.json").read_text()
    assert gl.load(tmp_path / "plain.json").get_params() == public.get_params()
