"""The paper's ensemble: that of the demo, with logistic model trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from goldless.cli.ensemble import FAMILIES, family_makers, named_ensemble


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
