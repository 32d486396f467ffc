"""The common checks of scikit-learn on the estimators as they are: their numbers are scores."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from goldless import DawidSkene, LatentSML, MajorityVote, OracleCI, SpectralMetaLearner

ESTIMATORS = [
    MajorityVote(),
    DawidSkene(),
    SpectralMetaLearner(),
    LatentSML(),
    LatentSML(structure="independent"),
    OracleCI(),
]

# check -> the sentence it must fail with: data of whole numbers are classes, more than two of them, and a truth of
# three classes or more is none of scores
TWO_CLASSES = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_readonly_memmap_input",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    "is for two classes, and the votes have",
)
OTHER_TRUTH = dict.fromkeys(
    [
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_fit_score_takes_y",
        "check_positive_only_tag_during_fit",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
    ],
    "every item needs one of the labels of the votes",
)
# sparse votes are read, what is not stored is no vote, and the data of the checks then hold nothing but ones
ONE_CLASS = dict.fromkeys(
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_estimator_sparse_tag"],
    "only one class occurs in the votes",
)
EXPECTED_FAILURES = {
    MajorityVote: ONE_CLASS,
    DawidSkene: ONE_CLASS,
    SpectralMetaLearner: ONE_CLASS | TWO_CLASSES,
    LatentSML: ONE_CLASS,
    OracleCI: ONE_CLASS | OTHER_TRUTH,
}
CHECKS = parametrize_with_checks(ESTIMATORS)
NAMES, CASES = CHECKS.args


def reasons(error):
    """Yield the messages of an error and of the errors behind it."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.filterwarnings("ignore::goldless.VotesWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(NAMES, list(CASES), **CHECKS.kwargs)  # a list, since scikit-learn 1.6 makes a generator
def test_common_checks(estimator, check):
    """A check passes, or fails as listed, with the sentence that says why we refuse its data."""
    sentence = EXPECTED_FAILURES.get(type(estimator), {}).get(check.func.__name__)
    if sentence is None:
        check(estimator)
    else:
        with pytest.raises((ValueError, AssertionError)) as raised:
            check(estimator)
        assert any(sentence in reason for reason in reasons(raised.value))


def test_parameters_are_stored_and_nothing_else():
    for estimator in ESTIMATORS:
        assert vars(estimator) == estimator.get_params()
        assert clone(estimator).get_params() == estimator.get_params()


def test_tags_say_what_is_read():
    for estimator in ESTIMATORS:
        tags = estimator.__sklearn_tags__()
        assert tags.input_tags.categorical
        assert tags.input_tags.string
        assert tags.input_tags.allow_nan
        assert not tags.input_tags.sparse
        assert tags.target_tags.required == isinstance(estimator, OracleCI)
