"""Voters that echo each other give the same wrong answers, beyond what tempts everybody."""

import numpy as np
import pytest

import references
from goldless.maths.echo import same_wrong_answer


@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_lift_is_that_of_the_reference(rng, n_classes):
    codes = rng.integers(-1, n_classes, (60, 5)).astype(np.int8)
    codes[:, 1] = np.where(rng.random(60) < 0.5, codes[:, 0], codes[:, 1])
    counts, labels = rng.integers(1, 4, 60), rng.integers(0, n_classes, 60)
    found = same_wrong_answer(codes, counts, labels, n_classes)
    lift, error, items = references.same_wrong_answer(codes, counts, labels, n_classes)
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found.lift[off], lift[off], atol=1e-12)
    np.testing.assert_allclose(found.standard_error[off], error[off], atol=1e-12)
    np.testing.assert_array_equal(found.items[off], items[off])
    assert np.isnan(np.diag(found.lift)).all()


def test_blocks_of_rows_add_up(rng, monkeypatch):
    codes = rng.integers(-1, 4, (50, 6)).astype(np.int8)
    counts, labels = rng.integers(1, 9, 50), rng.integers(0, 4, 50)
    whole = same_wrong_answer(codes, counts, labels, 4)
    monkeypatch.setattr("goldless.maths.echo._BLOCK_CELLS", 7 * 6 * 4)
    for one, other in zip(same_wrong_answer(codes, counts, labels, 4), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_names_of_classes_and_order_of_voters_do_not_matter(rng):
    codes, labels = rng.integers(-1, 4, (200, 6)).astype(np.int8), rng.integers(0, 4, 200)
    counts, order, name = np.ones(200), rng.permutation(6), rng.permutation(4)
    plain = same_wrong_answer(codes, counts, labels, 4)
    renamed = np.append(name, -1)[codes].astype(np.int8)
    for one, other in zip(same_wrong_answer(renamed, counts, name[labels], 4), plain, strict=True):
        np.testing.assert_allclose(one, other)
    for one, other in zip(same_wrong_answer(codes[:, order], counts, labels, 4), plain, strict=True):
        np.testing.assert_allclose(one, other[np.ix_(order, order)])


def test_an_echo_stands_out_from_what_tempts_everybody(rng):
    """All voters fall for one wrong answer more often; only the last copies another's answers."""
    labels = rng.integers(0, 5, 4000)
    tempting = (labels + 1) % 5
    codes = np.empty((4000, 10), dtype=np.int8)
    for voter in range(10):
        wrong = np.where(rng.random(4000) < 0.5, tempting, (labels + rng.integers(1, 5, 4000)) % 5)
        codes[:, voter] = np.where(rng.random(4000) < 0.6, labels, wrong)
    codes[:, 9] = np.where(rng.random(4000) < 0.5, codes[:, 8], codes[:, 9])
    found = same_wrong_answer(codes, np.ones(4000), labels, 5)
    assert found.clear_pairs() == [(8, 9)]
    assert found.lift[8, 9] > 0.2
    upper = np.triu_indices(9, 1)
    assert np.abs(found.lift[upper]).max() < 0.1  # four standard errors above the usual 0.04
    assert found.clear_pairs(least=0.9) == []


def test_voters_that_are_never_wrong_together_have_no_lift():
    codes = np.array([[0, 1, 1], [1, 2, 0]], dtype=np.int8)
    found = same_wrong_answer(codes, np.ones(2), np.array([0, 1]), 3)
    assert np.isnan(found.lift[0]).all()
    assert found.items[1, 2] == 2
    assert found.clear_pairs() == []


def test_two_classes_have_one_wrong_answer():
    with pytest.raises(ValueError, match="three classes or more"):
        same_wrong_answer(np.zeros((2, 2), dtype=np.int8), np.ones(2), np.zeros(2, dtype=int), 2)


@pytest.mark.real_data
def test_language_models_of_one_family_give_the_same_wrong_answers(data_folder):
    """Labels by a plain majority are enough to see who is made from whom."""
    with np.load(data_folder / "panels" / "llm_mmlupro_multiclass.npz", allow_pickle=False) as file:
        codes, names = file["votes"].astype(np.int8), file["voters"].astype(str)
    said = np.stack([(codes == label).sum(axis=1) for label in range(10)], axis=1)
    found = same_wrong_answer(codes, np.ones(len(codes)), said.argmax(axis=1), 10)
    pairs = [{str(names[one]), str(names[other])} for one, other in found.clear_pairs()[:4]]
    assert {"Meta-Llama-3-70B", "Meta-Llama-3_1-70B"} in pairs
    assert {"Mistral-7B-v0.1", "Mistral-7B-v0.2-hf"} in pairs
