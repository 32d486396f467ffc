"""The voters of the demo: an ensemble as in the paper, sixteen classifiers of four families."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.io.files import VotesFile

_TRAINING_POOL, _TRAINED_ON = 400, 150
_HOW = (
    "1,397 handwritten digits of scikit-learn, odd or even? Sixteen classifiers vote, four families, each trained on "
    "150 other digits of its own"
)
FAMILIES = (("forest", 4), ("logit trees", 3), ("SVM", 4), ("naive Bayes", 5))


def family_makers() -> dict[str, Callable[[int], Any]]:
    """Return what makes a classifier of each family from a random state.

    Logistic model trees are not in scikit-learn: boosted trees on the logistic loss stand in for them.
    """
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    return {
        "forest": lambda state: RandomForestClassifier(50, random_state=state),
        "logit trees": lambda state: GradientBoostingClassifier(n_estimators=30, random_state=state),
        "SVM": lambda state: make_pipeline(StandardScaler(), LinearSVC(C=0.05, random_state=state)),
        "naive Bayes": lambda _: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-2)),
    }


def named_ensemble(makers: dict[str, Callable[[int], Any]], seed: int) -> list[tuple[str, Any]]:
    """Return the sixteen with their names; a maker gets the random state of the copy."""
    return [
        (f"{name} {copy + 1}", makers[name](1000 * seed + copy)) for name, many in FAMILIES for copy in range(many)
    ]


def votes_of(
    ensemble: Sequence[tuple[str, Any]],
    features: NDArray,
    labels: NDArray,
    training: Sequence[NDArray[np.integer]],
    voted_on: NDArray[np.integer],
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int8]:
    """Train each classifier on its own items and return the votes of all on others.

    Parameters
    ----------
    ensemble : sequence of (name, classifier)
    features : ndarray of shape (n_items, n_features)
    labels : ndarray of shape (n_items,)
        Small integers, of two kinds.
    training : sequence of index arrays, one for each classifier
    voted_on : ndarray of indices
    progress : callable, optional
        Takes the share that is done.

    Returns
    -------
    ndarray of shape (len(voted_on), n_voters)
    """
    votes = np.empty((len(voted_on), len(ensemble)), dtype=np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, ((_, classifier), own) in enumerate(zip(ensemble, training, strict=True)):
            votes[:, number] = classifier.fit(features[own], labels[own]).predict(features[voted_on])
            if progress is not None:
                progress((number + 1) / len(ensemble))
    return votes


def train_voters(seed: int, progress: Callable[[float], None] | None = None) -> VotesFile:
    """Train the paper's kind of ensemble on digits of scikit-learn, and let it vote on the others.

    As in the paper's UCI experiments: random forests, logistic model trees, support vector machines and naive
    Bayes, each trained on its own random subset.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    features, odd = digits.data, digits.target % 2
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(odd))
    pool, voted_on = shuffled[:_TRAINING_POOL], np.sort(shuffled[_TRAINING_POOL:])
    ensemble = named_ensemble(family_makers(), seed)
    training = [rng.choice(pool, _TRAINED_ON, replace=False) for _ in ensemble]
    votes = votes_of(ensemble, features, odd, training, voted_on, progress)
    truth: NDArray[np.int8] = odd[voted_on].astype(np.int8)
    names = np.array([name for name, _ in ensemble], dtype=object)
    items = np.array([f"digit {item}" for item in voted_on], dtype=object)
    encoded = gl.Votes(votes, np.array(["even", "odd"]), names, items)
    return VotesFile(encoded, truth, f"{_HOW}; no label is used.", name="demo")
