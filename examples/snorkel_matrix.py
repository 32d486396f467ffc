"""A label matrix of labelling functions (-1 abstains): training labels, without assuming that rules are independent.

python examples/snorkel_matrix.py
"""

from pathlib import Path

import numpy as np

import goldless as gl

with np.load(Path(__file__).parent / "rules.npz") as file:
    L, rules, truth = file["L"], file["voters"], file["truth"]  # truth is for scoring only

model = gl.LatentSML(missing=-1).fit(L)  # without missing=-1 goldless asks which label means "no vote"
print(model.verdict_)

sizes = np.bincount(model.groups_)
for group in np.flatnonzero(sizes > 1):
    print("echo each other:", ", ".join(rules[model.groups_ == group]))
for rule, accuracy, coverage in zip(rules, model.balanced_accuracy_, (L != -1).mean(axis=0), strict=True):
    print(f"{rule:15s} estimated balanced accuracy {accuracy:.2f}, votes on {100 * coverage:.0f} %")

soft_labels = model.predict_proba(L)  # of shape (n_items, 2): train on these
print(soft_labels[:3].round(3))

for method in (gl.MajorityVote(missing=-1).fit(L), gl.DawidSkene(missing=-1).fit(L), model):
    print(f"{type(method).__name__:13s} {100 * gl.balanced_error(truth, method.predict(L)):4.1f} % wrong")
