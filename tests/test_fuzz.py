"""A short part of the campaign in research/fuzz: damaged files, odd calls, forged models, bombs, hostile names.

The long one is ``research/fuzz/run --minutes 30``; docs/reliability.md has its last figures.
"""

import numpy as np
import pytest

import goldless as gl
from research.fuzz import bombs, calls, files, models, page, pages
from research.fuzz.campaign import Counts, Failure, make_again, one_trial, read_counts, run, write_counts
from research.fuzz.promises import Refused, attempt, check_message

TRIALS = {files: 60, calls: 60, models: 400}
SEED = 5


@pytest.mark.parametrize("fuzzer", TRIALS, ids=lambda fuzzer: fuzzer.__name__.rpartition(".")[2])
def test_every_trial_ends_in_an_answer_or_in_one_line(fuzzer, tmp_path):
    made = fuzzer.prepare(tmp_path)
    ends = [one_trial(fuzzer, made, SEED, number) for number in range(TRIALS[fuzzer])]
    assert [end for end in ends if "failed" in end] == []
    assert {end["outcome"].partition(",")[0] for end in ends} >= {"answered", "refused"}


@pytest.mark.parametrize("name", ["forged.npz", "forged.npy", "deep.json", "deep.jsonl", "laughs.xlsx", "real.npz"])
def test_a_bomb_is_refused_in_one_line(name, tmp_path):
    bombs._BOMBS[name](tmp_path / name)
    end = one_trial(bombs, [tmp_path / name], SEED, 0)
    assert end.get("outcome") == "refused", end


@pytest.mark.parametrize(
    "names",
    [
        ["\x1b]0;hacked\x07", "a\nb", "a\tb", "=cmd|' /C calc'!A1", "##INFO=<ID=x>"],
        ["\u202egnp", '"<b>', "a;b=1", "a,b=1", "a b=1"],  # three that would be one
        ["\udcff\udcfe", "back\\", ".", "%s%n", "[x](javascript:alert(1))"],  # bytes of a name that are no text
    ],
)
def test_hostile_names_in_a_vcf_file_are_inert_and_read_again(names, tmp_path):
    pages.check_vcf(names, np.random.default_rng(SEED), tmp_path)


def test_a_trial_can_be_made_again(tmp_path):
    made = files.prepare(tmp_path)
    assert one_trial(files, made, 1, 7) == one_trial(files, made, 1, 7)


def test_trials_run_in_a_process_of_their_own():
    counts = run(Counts("models", 0), 120, most=5)
    assert counts.n_trials == 5
    assert counts.failures == []


def test_counts_go_on_where_they_were_kept_and_mended_trials_are_told_from_failing_ones(tmp_path):
    kept = tmp_path / "counts.json"
    run(Counts("models", 0), 120, 3, lambda counts: write_counts(kept, [counts]))
    (counts,) = read_counts(kept)
    counts.failures = [{"trial": 1, "failed": "ValueError: once"}]  # as if trial 1 had failed, too
    assert run(make_again(counts), 120, most=6).n_trials == 6
    assert [failure["trial"] for failure in counts.mended] == [1]
    assert counts.failures == []
    assert sum(counts.outcomes.values()) == 5
    assert Counts.from_dict(counts.as_dict()).as_dict() == counts.as_dict()


def test_what_counts_as_a_refusal():
    with pytest.raises(Refused):
        attempt(lambda: gl.encode_votes([["a"]]))
    with pytest.raises(Failure, match="of nobody's making"):
        attempt(lambda: int("x"))
    for message in ("", "two\nlines", "<ast.Dict object at 0x7f>"):
        with pytest.raises(Failure):
            check_message(message)


def test_the_page_has_the_last_counts():
    counted = read_counts(page.DOCS / "reliability.json")
    text = (page.DOCS / "reliability.md").read_text()
    assert page.page(text, counted) == text


def test_voters_that_can_be_exchanged_are_told_from_those_that_cannot():
    def found(codes, items=None, voters=None):
        codes = np.array(codes, dtype=np.int8)
        alike = calls.exchanges(codes, items or ["0"] * len(codes), voters or [()] * codes.shape[1])
        return [places.tolist() for places in alike]

    assert found([[0, 1, 1], [0, 0, 1], [1, 1, 0]]) == [[0, 1, 2]]
    assert found([[0, 1], [1, 0], [1, 1]]) == [[0, 1, 2], [1, 0, 2]]
    assert found([[0, 1], [1, 0]], items=["1", "2"]) == [[0, 1]]
    assert found([[0, 1], [1, 0]], voters=[("trusted",), ()]) == [[0, 1]]
    assert len(found([[0, 0, 1], [1, 1, 0]])) == 1  # of two that say the opposite of a third nothing can be exchanged


def test_an_answer_that_follows_the_order_of_voters_is_noticed():
    X, _ = gl.simulate_votes(40, groups=[1] * 5, random_state=0)
    model = gl.DawidSkene().fit(X)
    answers = model.predict_proba(X)
    call = calls.Call(model, X, {})
    call._check_exchanged(answers + 1e-12, answers)
    for other in (answers[::-1], np.where(np.arange(40)[:, None] == 7, 1 - answers, answers)):
        with pytest.raises(Failure, match="voters in another order"):
            call._check_exchanged(other, answers)
