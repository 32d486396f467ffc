"""The paper's ensemble: sixteen classifiers of four families."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

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


def voter_names() -> list[str]:
    """Return the names of the sixteen."""
    return [f"{name} {copy + 1}" for name, many in FAMILIES for copy in range(many)]


class LogisticModelTree(ClassifierMixin, BaseEstimator):
    """A small tree with a logistic regression in every leaf (Landwehr, Hall and Frank 2005, without boosting).

    Parameters
    ----------
    max_leaves : int, default=2
        Most leaves. With a few hundred items, two leaves err on Magic as often as the paper's logistic model trees.
    min_leaf : int, default=50
        Fewest items of a leaf.
    """

    def __init__(self, max_leaves: int = 2, min_leaf: int = 50):
        self.max_leaves = max_leaves
        self.min_leaf = min_leaf

    def fit(self, X: ArrayLike, y: ArrayLike) -> LogisticModelTree:
        """Grow the tree, then fit the leaves; a leaf of one class says that class."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
        from sklearn.tree import DecisionTreeClassifier

        features, labels = np.asarray(X, dtype=float), np.asarray(y)
        self.classes_ = np.unique(labels)
        self.tree_ = DecisionTreeClassifier(
            max_leaf_nodes=self.max_leaves, min_samples_leaf=min(self.min_leaf, len(labels) // 2), random_state=0
        ).fit(features, labels)
        self.scaler_ = StandardScaler().fit(features)
        scaled, leaf = self.scaler_.transform(features), self.tree_.apply(features)
        self.leaves_ = {}
        for at in np.unique(leaf):
            own = labels[leaf == at]
            pure = (own == own[0]).all()
            self.leaves_[at] = None if pure else LogisticRegression(max_iter=200).fit(scaled[leaf == at], own)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of each item's leaf."""
        features = np.asarray(X, dtype=float)
        labels, leaf = self.tree_.predict(features), self.tree_.apply(features)
        scaled = self.scaler_.transform(features)
        for at, model in self.leaves_.items():
            inside = leaf == at
            if model is not None and inside.any():
                labels[inside] = model.predict(scaled[inside])
        return labels


def make_ensemble(seed: int) -> list[tuple[str, Any]]:
    """Return sixteen named classifiers: forests, logistic model trees, support vector machines, naive Bayes."""
    return named_ensemble({**family_makers(), "logit trees": lambda _: LogisticModelTree()}, seed)
