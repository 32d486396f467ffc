"""Fitted classifiers of scikit-learn as one classifier: they vote, and no label is needed to weigh them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from goldless.estimators.learners import LatentSML
from goldless.votes.alphabet import Alphabet
from goldless.votes.votes import Votes


class VoterEnsemble(ClassifierMixin, BaseEstimator):
    """Combine fitted classifiers into one, weighed by items without labels.

    Parameters
    ----------
    voters : list of (str, classifier)
        Classifiers that are fitted, each with a name. They are never fitted again, not even in a clone.
    kind : {"labels", "probabilities"}, default="labels"
        Whether they vote by what they predict or, of two classes, by the probability of the second.
    combiner : estimator, optional
        What combines the votes; by default :class:`~goldless.LatentSML`.

    Attributes
    ----------
    combiner_ : estimator
        The fitted combiner: groups, accuracies and everything else that was learnt of the voters.
    classes_ : ndarray of shape (n_classes,)
        All classes of the voters.
    n_features_in_ : int
        Number of columns of X, if it has any.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import goldless as gl
    >>> X, y = make_classification(2_000, random_state=0)
    >>> fitted = [
    ...     ("logistic", LogisticRegression().fit(X[:200], y[:200])),
    ...     ("bayes", GaussianNB().fit(X[200:400], y[200:400])),
    ...     ("tree", DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[400:600], y[400:600])),
    ... ]
    >>> ensemble = gl.VoterEnsemble(fitted).fit(X[600:])            # no labels
    >>> bool((ensemble.predict(X[600:]) == y[600:]).mean() > 0.8)
    True
    >>> ensemble.combiner_.feature_names_in_.tolist()
    ['logistic', 'bayes', 'tree']
    """

    def __init__(self, voters: Sequence[tuple[str, Any]], *, kind: str = "labels", combiner: Any = None):
        self.voters = voters
        self.kind = kind
        self.combiner = combiner

    def __sklearn_clone__(self) -> VoterEnsemble:
        """Return a new ensemble of the same voters: what they learnt is theirs and is kept."""
        combiner = None if self.combiner is None else clone(self.combiner)
        return type(self)(self.voters, kind=self.kind, combiner=combiner)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def fit(self, X: Any, y: Any = None) -> VoterEnsemble:
        """Learn how far each voter is to be trusted. ``y`` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items without labels, as the voters take them.
        y : ignored
        """
        self._check_voters()
        votes = self.votes(X)
        combiner = LatentSML() if self.combiner is None else clone(self.combiner)
        if self.kind == "probabilities":
            combiner.set_params(kind="probabilities", classes=self._classes().tolist())
        self.combiner_ = combiner.fit(votes)
        self.classes_ = self._classes()
        n_features = _n_features(X)
        if n_features is not None:
            self.n_features_in_ = n_features
        return self

    def votes(self, X: Any) -> Votes | pa.Table:
        """Return what the voters say of items: what estimators, ``diagnose`` and ``report`` take.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
        """
        names = [name for name, _ in self.voters]
        if self.kind == "probabilities":
            return pa.table({name: _probability(name, voter, X) for name, voter in self.voters})
        classes = self._classes()
        alphabet = Alphabet(classes)
        codes = np.stack([alphabet.codes(np.asarray(voter.predict(X))) for _, voter in self.voters], axis=1)
        return Votes(np.ascontiguousarray(codes), classes, np.array(names, dtype=object), _index(X))

    def predict(self, X: Any) -> NDArray:
        """Return the label of every item."""
        votes = self._later_votes(X)
        return self.combiner_.predict(votes)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return Pr(class | votes) of every item, columns in the order of ``classes_``."""
        votes = self._later_votes(X)
        return self.combiner_.predict_proba(votes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds that decide, as those of the combiner."""
        votes = self._later_votes(X)
        return self.combiner_.decision_function(votes)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the labels against known ones."""
        return super().score(X, y, sample_weight)

    def _repr_html_(self) -> str:
        return self.combiner_._repr_html_() if "combiner_" in vars(self) else super()._repr_html_()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _later_votes(self, X: Any) -> Votes | pa.Table:
        """Return what the voters say of items that need not be those of the fit."""
        check_is_fitted(self, "combiner_")
        known, given = getattr(self, "n_features_in_", None), _n_features(X)
        if known is not None and given is not None and given != known:
            raise ValueError(f"X has {given} features, but VoterEnsemble is expecting {known} features as input")
        return self.votes(X)

    def _check_voters(self) -> None:
        """Refuse voters without a name of their own, without a fit, or without what they are asked for."""
        if self.kind not in ("labels", "probabilities"):
            raise ValueError(f"kind must be 'labels' or 'probabilities', got {self.kind!r}")
        names = [name for name, _ in self.voters]
        if not names:
            raise ValueError("voters must be a list of (name, fitted classifier), and there is none")
        if len(set(names)) < len(names):
            raise ValueError(f"every voter needs a name of its own, got {names}")
        for name, voter in self.voters:
            if hasattr(voter, "fit"):
                check_is_fitted(voter, msg=f"voter {name!r} is not fitted: %(name)s.fit comes first")
            if self.kind == "probabilities" and not hasattr(voter, "predict_proba"):
                raise ValueError(f"voter {name!r} has no predict_proba: use kind='labels'")
        if self.kind == "probabilities" and len(self._classes()) != 2:
            raise ValueError(f"kind='probabilities' is for two classes, and the voters have {len(self._classes())}")

    def _classes(self) -> NDArray:
        """Return all classes that the voters know, sorted."""
        return np.unique(np.concatenate([np.asarray(voter.classes_) for _, voter in self.voters]))


def _probability(name: str, voter: Any, X: Any) -> NDArray[np.float64]:
    """Return the probability of the second class."""
    found = np.asarray(voter.predict_proba(X), dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(f"voter {name!r} gives probabilities of shape {found.shape}, and not of two classes")
    return found[:, 1]


def _index(X: Any) -> NDArray | None:
    """Return the index of a pandas frame."""
    index = getattr(X, "index", None)
    return np.asarray(index, dtype=object) if hasattr(X, "iloc") and index is not None else None


def _n_features(X: Any) -> int | None:
    """Return the number of columns of what has columns."""
    shape: tuple[int, ...] = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None
