"""Nine LLM judges marked 600 answers pass or fail: what they are worth, and what each answer's label is.

python examples/llm_judges.py
"""

import warnings
from pathlib import Path

import pandas as pd

import goldless as gl

votes = pd.read_csv(Path(__file__).parent / "judges.csv", index_col="item")
truth = votes.pop("truth").to_numpy()  # known here because the votes are simulated; yours need none

with warnings.catch_warnings():
    warnings.simplefilter("ignore", gl.AmbiguousGroupingWarning)  # its text is the verdict, printed here
    model = gl.LatentSML().fit(votes)
print(model.verdict_)

# The votes leave two groupings open. Ask a person about the answers that would tell most, and fit again.
questions = model.next_to_label(votes, n=10)
answers = {int(row): truth[row] for row in questions.rows}
model = gl.LatentSML().fit(votes, anchors=answers)
print(model.verdict_)

for judge, group, accuracy in zip(votes.columns, model.groups_, model.balanced_accuracy_, strict=True):
    print(f"{judge:18s} source {group}   estimated balanced accuracy {accuracy:.2f}")

for method in (gl.MajorityVote().fit(votes), model):
    print(f"{type(method).__name__:13s} {100 * gl.balanced_error(truth, method.predict(votes)):4.1f} % wrong")
