"""Draw the picture of the README: python docs/overview_picture.py (needs matplotlib)."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import goldless as gl

INK, ACCENT, QUIET = "#22313f", "#d9822b", "#9fb3c8"


def main() -> None:
    """Show which voters echo each other, how good each is, and what it is worth to know."""
    X, y, truth = gl.simulate_votes(10_000, groups=[5] + [1] * 15, random_state=0, return_model=True)
    order = np.random.default_rng(1).permutation(20)  # the voters come in no particular order
    X, truth = X[:, order], truth.subset(order)
    model = gl.LatentSML().fit(X)
    sizes = np.bincount(model.groups_)
    echo = model.groups_ == sizes.argmax()
    shown = np.concatenate([np.flatnonzero(echo), np.flatnonzero(~echo)])

    plt.rcParams.update(
        {"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK}
    )
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(13, 4), width_ratios=[1, 1, 1.15], layout="constrained"
    )
    score = model.score_matrix_[np.ix_(shown, shown)].copy()
    np.fill_diagonal(score, np.nan)
    left.imshow(score, cmap="YlOrBr")
    left.set(
        title="Who echoes whom\n(score matrix, no labels used)",
        xticks=[],
        yticks=[],
        xlabel="voters",
        ylabel="voters",
    )

    middle.plot([0.5, 0.68], [0.5, 0.68], color=QUIET, lw=1, zorder=0)
    for mask, colour, label in ((~echo, INK, "independent"), (echo, ACCENT, "echo each other")):
        middle.scatter(truth.balanced_accuracy[mask], model.balanced_accuracy_[mask], color=colour, s=36, label=label)
    middle.set(
        title="How good each voter is\n(estimated without labels)",
        xlabel="true balanced accuracy",
        ylabel="estimated",
        aspect="equal",
    )
    middle.legend(frameon=False)

    methods = {
        "majority vote": gl.MajorityVote(),
        "SML + EM": gl.SpectralMetaLearner(),
        "goldless L-SML": gl.LatentSML(),
        "oracle": gl.OracleLatent(truth),
    }
    errors = [100 * gl.balanced_error(y, method.fit(X).predict(X)) for method in methods.values()]
    bars = right.barh(list(methods), errors, color=[QUIET, QUIET, ACCENT, INK], height=0.6)
    right.bar_label(bars, fmt="%.1f %%", padding=4)
    right.invert_yaxis()
    right.set(
        title="What it is worth to know\n(balanced error of the combined labels)",
        xlim=(0, max(errors) * 1.18),
        xticks=[],
    )
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    right.spines[["bottom", "left"]].set_visible(False)
    right.tick_params(length=0)
    figure.savefig(Path(__file__).parent / "images" / "overview.png", dpi=110)


if __name__ == "__main__":
    main()
