"""The common checks of scikit-learn, on the estimators as they are and on votes made of any numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from goldless import DawidSkene, LatentSML, MajorityVote, OracleCI, SpectralMetaLearner, Votes

ESTIMATORS = [MajorityVote(), DawidSkene(), SpectralMetaLearner(), LatentSML(structure="paper"), OracleCI()]


def votes_of(X):
    """Turn numbers into votes without looking at other rows, so that every law of the checks still holds.

    What is not a table of finite numbers is passed on, to be refused by the estimator.
    """
    if scipy.sparse.issparse(X):
        return X
    values = np.asarray(X)
    if values.dtype.kind == "O":
        try:
            values = values.astype(float)
        except (TypeError, ValueError):
            return X
    if values.dtype.kind not in "biuf" or np.isinf(values).any():
        return X
    votes = np.where(np.isnan(values), np.nan, np.floor(1.5 * values) % 2)
    return type(X)(votes, columns=X.columns, index=X.index) if hasattr(X, "iloc") and values.ndim == 2 else votes


class _OnNumbers:
    """Reads the numbers of the common checks as votes."""

    def _encode(self, X, rules):
        return super()._encode(X if isinstance(X, Votes) else votes_of(X), rules)


class _PartsOnNumbers(_OnNumbers):
    def partial_fit(self, X, y=None, sample_weight=None, **options):
        return super().partial_fit(votes_of(X), y, sample_weight, **options)


class MajorityVoteOnNumbers(_PartsOnNumbers, MajorityVote):
    pass


class DawidSkeneOnNumbers(_PartsOnNumbers, DawidSkene):
    pass


class SpectralMetaLearnerOnNumbers(_PartsOnNumbers, SpectralMetaLearner):
    _min_voters = 2  # many checks have two columns; what is learnt of them is not what is checked


class LatentSMLOnNumbers(_PartsOnNumbers, LatentSML):
    pass


class LatentSMLOnTwoNumbers(LatentSMLOnNumbers):
    """The default structure, which takes two voters and one."""


class OracleCIOnNumbers(_OnNumbers, OracleCI):
    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y if y is None else votes_of(y), sample_weight)


ON_NUMBERS = [
    MajorityVoteOnNumbers(),
    DawidSkeneOnNumbers(),
    SpectralMetaLearnerOnNumbers(),
    LatentSMLOnNumbers(structure="paper"),
    LatentSMLOnTwoNumbers(),
    OracleCIOnNumbers(),
]

# check -> the sentence it must fail with
TOO_MANY_LABELS = {"check_sample_weight_equivalence_on_dense_data": "different labels, such as"}
TWO_CLASSES = dict.fromkeys(
    [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimators_dtypes",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
    ],
    "is for two classes, and the votes have",
)
OF_TWO_COLUMNS = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_n_features_in",
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
        "check_fit_score_takes_y",
        "check_positive_only_tag_during_fit",
        "check_sample_weights_list",
    ],
    "every item needs one of the labels of the votes",
)
TOO_FEW_VOTERS = dict.fromkeys(
    [
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_n_features_in",
        "check_readonly_memmap_input",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    "needs 3 voters, got 2",
)
COPIES = {"check_pipeline_consistency": "needs 3 different voter(s)"}  # its columns are copies once they are votes
EXPECTED_FAILURES = {
    MajorityVote: TOO_MANY_LABELS,
    DawidSkene: TOO_MANY_LABELS,
    SpectralMetaLearner: TOO_MANY_LABELS | TWO_CLASSES | OF_TWO_COLUMNS,
    LatentSML: TOO_MANY_LABELS | TWO_CLASSES | TOO_FEW_VOTERS | COPIES,
    OracleCI: TOO_MANY_LABELS | OTHER_TRUTH,
    LatentSMLOnNumbers: TOO_FEW_VOTERS | COPIES,
}
CHECKS = parametrize_with_checks([*ESTIMATORS, *ON_NUMBERS])
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
