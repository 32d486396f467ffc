"""Twelve classifiers of scikit-learn vote on new data (real: breast tumours, benign or malignant).

python examples/sklearn_ensemble.py
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import goldless as gl

data = load_breast_cancer()
rng = np.random.default_rng(0)
order = rng.permutation(len(data.target))
pool, new = order[:150], order[150:]  # labels are known for the pool only

families = {
    "forest": lambda seed: RandomForestClassifier(20, random_state=seed),
    "logistic": lambda seed: make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": lambda seed: GaussianNB(),
    "neighbours": lambda seed: make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}
votes = {}
for family, make in families.items():
    for number in range(3):  # each trained on its own 40 tumours
        rows = rng.choice(pool, 40, replace=False)
        classifier = make(number).fit(data.data[rows], data.target[rows])
        votes[f"{family}-{number}"] = data.target_names[classifier.predict(data.data[new])]
votes = pd.DataFrame(votes)

model = gl.LatentSML(positive="malignant").fit(votes)
print(model.verdict_)
print("five worth keeping:", ", ".join(model.select(5)))

truth = data.target_names[data.target[new]]  # for scoring only
single = min(gl.balanced_error(truth, votes[name].to_numpy()) for name in votes)
print(f"best single   {100 * single:4.1f} % wrong (which one it is, only labels can say)")
for method in (gl.MajorityVote(positive="malignant").fit(votes), model):
    print(f"{type(method).__name__:13s} {100 * gl.balanced_error(truth, method.predict(votes)):4.1f} % wrong")
