"""A long table of a crowd (task, worker, label): who copies whom, who is good, and which tasks need one more vote.

python examples/crowd_table.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

import goldless as gl

table = pd.read_csv(Path(__file__).parent / "crowd.csv")
votes = table.pivot(index="task", columns="worker", values="label")  # one row a task, gaps where nobody was asked
truth = table.groupby("task")["truth"].first().loc[votes.index].to_numpy()  # for scoring only

model = gl.LatentSML().fit(votes)
print(model.verdict_)

sizes = np.bincount(model.groups_)
for group in np.flatnonzero(sizes > 1):
    print("copy each other:", ", ".join(votes.columns[model.groups_ == group]))

best = np.argsort(-model.balanced_accuracy_)
print("best workers:   ", ", ".join(f"{votes.columns[i]} {model.balanced_accuracy_[i]:.2f}" for i in best[:5]))

doubt = np.abs(model.predict_proba(votes)[:, 1] - 0.5)
print("ask once more:  ", ", ".join(votes.index[np.argsort(doubt)[:5]]))

for method in (gl.MajorityVote().fit(votes), model):
    print(f"{type(method).__name__:13s} {100 * gl.balanced_error(truth, method.predict(votes)):4.1f} % wrong")
