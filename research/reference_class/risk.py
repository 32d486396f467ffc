"""Signs that go before a disaster on real panels: their deciles, and whom the rule of ``fitting/risk.py`` names.

python -m research.reference_class.risk          needs GOLDLESS_DATA

A disaster is a panel whose labels are 4 points or more below the majority vote, or below 60 %.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from goldless.fitting.risk import Risk

_FAR_BELOW = 0.04
_TOO_LOW = 0.6


def main() -> None:
    """Print the deciles, and what is caught."""
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    risks: dict[str, tuple[Risk, bool]] = {}
    for name, entry in index.items():
        if entry["multiclass"]:
            continue
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["votes"], file["truth"]
        missing = 0 if (X == 0).any() else None
        model = gl.LatentSML(missing=missing).fit(X)
        score = gl.balanced_accuracy(y, model.predict(X))
        majority = gl.MajorityVote(missing=missing).fit(X).score(X, y)
        assert model.fitted_.risk is not None
        risks[name] = model.fitted_.risk, bool(score <= majority - _FAR_BELOW or score < _TOO_LOW)
    signs = {
        "_ITEMS_PER_VOTER": [risk.n_items / risk.n_voters for risk, _ in risks.values()],
        "_OWN_EXPECTATION": [risk.own for risk, _ in risks.values()],
        "_CHANGED": [risk.changed for risk, _ in risks.values()],
    }
    for name, values in signs.items():
        deciles = np.quantile(values, np.linspace(0, 1, 11))
        sys.stdout.write(f"{name} = ({', '.join(f'{decile:.4g}' for decile in deciles)})\n")
    for name, (risk, disaster) in sorted(risks.items(), key=lambda item: item[1][0].rank):
        told = "at risk" if risk.high else ""
        sys.stdout.write(f"{name}: {risk.rank:.2f} {told} {'DISASTER' if disaster else ''}\n")
    caught = [risk.high for risk, disaster in risks.values() if disaster]
    alarms = [risk.high for risk, disaster in risks.values() if not disaster]
    sys.stdout.write(f"{sum(caught)} of {len(caught)} disasters, {sum(alarms)} of {len(alarms)} others\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
