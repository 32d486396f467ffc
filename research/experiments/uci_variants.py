"""Other ways to train the sixteen voters: the paper does not say how it did, and its gains hang on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.experiments import paper
from research.experiments.ensemble import LogisticModelTree, make_ensemble, named_ensemble, votes_of
from research.experiments.published import published_labels, published_sml
from research.experiments.tables import Table

DRAWS = 3  # of each variant
_MOST_TRAINED_ON = 400  # the families are then as accurate on Magic as in the paper's own votes
_PARTS = 24  # no voter is trained on more than this part of a table
_SHARED = 1000
_APPENDIX_GROUPS = 8  # SVMs together, naive Bayes together, of the other seven all but one pair alone


@dataclass(frozen=True)
class Variant:
    """A way to train the voters: how the page calls it, who they are, and on what they are trained.

    ``share`` is the share of the items that each would be given; None draws 1,000 for each from one half of the
    table, so that voters have items in common, and lets them vote on the other half.
    """

    label: str
    make: Callable[[int, int], list[tuple[str, Any]]]
    share: float | None = 1.0


def _ours(seed: int, n_features: int) -> list[tuple[str, Any]]:
    return make_ensemble(seed)


def _weka(seed: int, n_features: int, kernel: str = "linear") -> list[tuple[str, Any]]:
    """Defaults of Weka, which logistic model trees come from, at the time of the paper."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import SVC

    tried = min(int(np.log2(n_features)) + 1, n_features)
    return named_ensemble(
        {
            "forest": lambda state: RandomForestClassifier(10, max_features=tried, random_state=state),
            "logit trees": lambda _: LogisticModelTree(),
            "SVM": lambda _: make_pipeline(MinMaxScaler(), SVC(kernel=kernel, gamma=1 / n_features)),
            "naive Bayes": lambda _: make_pipeline(StandardScaler(), GaussianNB()),
        },
        seed,
    )


def _gaussian(seed: int, n_features: int) -> list[tuple[str, Any]]:
    return _weka(seed, n_features, "rbf")


AS_ABOVE = Variant("as above", _ours)
VARIANTS = {
    "quarter": Variant("a quarter of the items", _ours, 0.25),
    "shared": Variant(f"{_SHARED:,} items each, from one half", _ours, None),
    "weka": Variant("Weka's defaults", _weka),
    "weka_shared": Variant(f"Weka's defaults, {_SHARED:,} items each, from one half", _weka, None),
    "gaussian": Variant("Weka's defaults, SVMs with a Gaussian kernel", _gaussian),
    "gaussian_shared": Variant(f"the same, {_SHARED:,} items each, from one half", _gaussian, None),
}


def train(
    variant: Variant, features: NDArray, labels: NDArray, seed: int, parts: int = _PARTS
) -> tuple[NDArray[np.int8], NDArray[np.int8], int]:
    """Train the voters and let them vote on items that none was trained on.

    Returns
    -------
    X : ndarray of shape (n_items, 16)
    y : ndarray of shape (n_items,)
    size : int
        How many items each voter was trained on.
    """
    ensemble = variant.make(seed % 2**20, features.shape[1])
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(labels))
    if variant.share is None:
        size, half = _SHARED, len(labels) // 2
        training = [rng.choice(shuffled[:half], size, replace=False) for _ in ensemble]
        voted_on = shuffled[half:]
    else:
        size = int(variant.share * min(_MOST_TRAINED_ON, len(labels) // parts))
        training = list(shuffled[: len(ensemble) * size].reshape(len(ensemble), size))
        voted_on = shuffled[len(ensemble) * size :]
    return votes_of(ensemble, features, labels, training, voted_on), labels[voted_on], size


def gain(results: list[dict[str, Any]], method: str) -> NDArray[np.float64]:
    """Return balanced error of SML+EM minus that of a method, in points, of each draw."""
    return np.array([100 * (result["error"]["sml_em"] - result["error"][method]) for result in results])


def variant_table(
    found: dict[str, dict[str, list[dict[str, Any]]]],
    drawn: dict[str, list[dict[str, Any]]],
    names: dict[str, str],
) -> Table:
    """Return the mean gains of every variant, a row each.

    Parameters
    ----------
    found : dict of dict of lists
        Finished units by variant and table.
    drawn : dict of lists
        Those of the page's own voters, by table.
    names : dict
        How the page calls each table.
    """
    shown = [name for name in drawn if any(name in tables for tables in found.values())]
    rows: list[list[Any]] = []
    for label, tables in [(AS_ABOVE.label, drawn), *((VARIANTS[key].label, found[key]) for key in found)]:
        row: list[Any] = [label]
        for name in shown:
            results = tables.get(name)
            row += [round(float(gain(results, kind).mean()), 4) if results else None for kind in ("search", "paper")]
        rows.append(row)
    rows.append(["in the paper", *(said for name in shown for said in [paper.UCI_MEAN_DIFFERENCE[name]] * 2)])
    return Table(
        "other-voters",
        "Other ways to train the voters: mean difference, points",
        ["", *(text for name in shown for text in (f"{names[name]}, search", "paper's algorithm"))],
        rows,
        ["", *["+.1f"] * (2 * len(shown))],
        f"{DRAWS} draws each. Logistic model trees come from Weka, whose defaults at that time were forests of 10 "
        "trees, features scaled to [0, 1], C = 1, and naive Bayes without smoothing. With a Gaussian kernel its "
        "support vector machines say the same of every item of Musk.",
    )


def as_published(X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, float]:
    """Return the errors of SML and L-SML as the authors' code has them, with as many groups as the appendix shows."""
    import goldless as gl

    groups = (
        gl.LatentSML(structure="paper", paper=gl.PaperOptions(n_groups=_APPENDIX_GROUPS, em=False)).fit(X).groups_
    )
    labels = {"sml": published_sml(X)[0], "lsml": published_labels(X, groups)[0]}
    return {name: gl.balanced_error(y, values) for name, values in labels.items()}


def own_table(own: dict[str, dict[str, Any]]) -> Table:
    """Return the gains on the paper's own votes, by our methods and by the authors' code."""
    rows: list[list[Any]] = []
    for name, result in own.items():
        ours, theirs = result["error"], result["published"]
        pairs = [(ours["sml_em"], ours["search"]), (theirs["sml"], theirs["lsml"])]
        rows.append([name, *(round(100 * v, 4) for a, b in pairs for v in (a, b, a - b))])
    means: list[Any] = ["mean", *(round(float(v), 4) for v in np.mean([row[1:] for row in rows], axis=0))]
    return Table(
        "own-votes",
        "The paper's own votes on Magic: balanced error %",
        ["", "SML+EM", "L-SML, search", "difference", "authors' SML", "authors' L-SML", "difference"],
        [*rows, means],
        ["", ".1f", ".1f", "+.1f", ".1f", ".1f", "+.1f"],
        f"The authors' code, without EM, with {_APPENDIX_GROUPS} groups, as the paper's appendix shows them: support "
        "vector machines together, naive Bayes together, of the others all but one pair alone. The paper's mean "
        f"difference is {paper.UCI_MEAN_DIFFERENCE['magic']:g}.",
    )
