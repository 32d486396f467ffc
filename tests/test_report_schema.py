"""The schema is made of the classes of the summary, every summary obeys it, and the documentation shows it."""

import importlib.util
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import goldless as gl
from goldless.report import SCHEMA_VERSION, json_schema, summarize
from goldless.report.schema import descriptions_of, parts_of
from goldless.report.summary import Summary

PAGE = Path(__file__).parent.parent / "docs" / "report-schema.md"
KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def check(value, schema, root, where="summary"):
    """Refuse a value that a schema does not allow: the part of JSON Schema that ours uses, and no more."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        assert any(allows(value, one, root, where) for one in schema["anyOf"]), f"{where}: {value!r}"
        return
    kind = schema["type"]
    if kind == "object":
        assert isinstance(value, dict), where
        if "properties" in schema:
            assert set(value) == set(schema["properties"]) == set(schema["required"]), where
        for name, inner in value.items():
            of_name = schema["properties"][name] if "properties" in schema else schema["additionalProperties"]
            check(inner, of_name, root, f"{where}.{name}")
    elif kind == "array":
        assert isinstance(value, list), where
        if "prefixItems" in schema:
            assert len(value) == schema["minItems"] == schema["maxItems"], where
        for number, inner in enumerate(value):
            check(inner, schema["prefixItems"][number] if "prefixItems" in schema else schema["items"], root, where)
    else:
        assert isinstance(value, KINDS[kind]), f"{where}: {value!r} is no {kind}"
        assert kind == "boolean" or not isinstance(value, bool), where


def allows(value, schema, root, where):
    try:
        check(value, schema, root, where)
    except AssertionError:
        return False
    return True


def three_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=400)
    votes = np.where(rng.random((400, 7)) < 0.7, truth[:, None], rng.integers(3, size=(400, 7)))
    return np.array(["a", "b", "c"])[votes], truth


SUMMARIES = {
    "two classes": lambda: summarize(*both(gl.LatentSML(), gl.simulate_votes(500, [4, 1, 1, 1, 1])[0])),
    "with truth": lambda: with_truth(gl.simulate_votes(300, [1] * 5)),
    "three voters": lambda: summarize(*both(gl.LatentSML(), gl.simulate_votes(300, [1] * 3)[0])),
    "Dawid and Skene": lambda: summarize(*both(gl.DawidSkene(), gl.simulate_votes(300, [1] * 5)[0])),
    "moments": lambda: summarize(*both(gl.SpectralMetaLearner(em=False), gl.simulate_votes(300, [1] * 5)[0])),
    "three classes": lambda: summarize(
        *both(gl.LatentSML(), three_classes()[0]), truth=three_classes()[1], resamples=0
    ),
    "Dawid and Skene, three classes": lambda: summarize(*both(gl.DawidSkene(), three_classes()[0]), resamples=0),
}


def both(estimator, X):
    return estimator.fit(X), X


def with_truth(simulated):
    X, y = simulated
    return summarize(*both(gl.LatentSML(), X), truth=(y == 1).astype(int))


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_summary_obeys_the_schema(name):
    summary, schema = SUMMARIES[name](), json_schema()
    assert summary["schema_version"] == SCHEMA_VERSION
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    check(summary, schema, schema)


def test_the_check_finds_what_is_wrong():
    schema = json_schema()
    summary = SUMMARIES["three voters"]()
    for name, wrong in (("title", 3), ("order", ["a"]), ("votes", None), ("truth", [])):
        with pytest.raises(AssertionError):
            check({**summary, name: wrong}, schema, schema)
    with pytest.raises(AssertionError):
        check({name: value for name, value in summary.items() if name != "panel"}, schema, schema)


def test_every_field_is_described_once():
    for kind in parts_of(Summary):
        described = descriptions_of(kind)
        assert list(described) == [entry.name for entry in fields(kind)], kind.__name__


def test_the_schema_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()


def test_the_documentation_shows_the_schema():
    """After a change on purpose: python docs/schema_page.py."""
    spec = importlib.util.spec_from_file_location("schema_page", PAGE.parent / "schema_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = PAGE.read_text()
    assert f"`schema_version` is {SCHEMA_VERSION}." in text
    assert text.partition("<!-- schema -->\n")[2].partition("<!-- end -->")[0] == script.schema_page()
