"""Nine variant callers and no truth set: a probability for each site, from the output of `bcftools isec`.

python examples/variant_callers.py
"""

from pathlib import Path

import pandas as pd

import goldless as gl

folder = Path(__file__).parent
callers = (folder / "callers.txt").read_text().split()
sites = pd.read_csv(folder / "sites.txt", sep="\t", names=["chrom", "pos", "ref", "alt", "seen"], dtype=str)
calls = pd.DataFrame([list(map(int, seen)) for seen in sites["seen"]], columns=callers)

# The votes fit two groupings: the three assemblers echo each other, or the six others do. One fact decides: the
# network caller shares no code with anybody.
model = gl.LatentSML().fit(calls, trusted=["network"])
print(model.verdict_)

sites["probability"] = model.predict_proba(calls)[:, 1].round(4)
sites["n_callers"] = calls.sum(axis=1)
print(sites.head().to_string(index=False))

# "Three of nine callers" is no reason by itself: which three matters.
three = sites[sites["n_callers"] == 3].groupby("seen")["probability"].agg(["first", "size"]).sort_values("first")
for seen, row in pd.concat([three.head(2), three.tail(2)]).iterrows():
    names = ", ".join(name for name, called in zip(callers, seen, strict=True) if called == "1")
    print(f"{names:38s} probability {row['first']:.3f} at {row['size']:.0f} sites")

truth = pd.read_csv(folder / "sites_truth.csv")["truth"]  # for scoring only
for method in (gl.MajorityVote().fit(calls), model):
    print(f"{type(method).__name__:13s} {100 * gl.balanced_error(truth, method.predict(calls)):4.1f} % wrong")
