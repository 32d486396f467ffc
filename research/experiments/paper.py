"""The figures the paper prints, to stand beside ours.

Jaffe, Fetaya, Nadler, Jiang and Kluger, Unsupervised Ensemble Learning with Dependent Classifiers, 2015.
Balanced errors in %.
"""

from __future__ import annotations

DREAM_ALL = {  # table of challenge I
    "S1": {"mean": 6.1, "best": 1.7, "vote": 2.8, "sml_em": 1.7, "oracle_ci": 1.7, "lsml": 1.6},
    "S2": {"mean": 8.7, "best": 1.8, "vote": 4.0, "sml_em": 2.8, "oracle_ci": 2.8, "lsml": 2.3},
    "S3": {"mean": 8.3, "best": 2.5, "vote": 4.3, "sml_em": 2.3, "oracle_ci": 2.3, "lsml": 1.8},
}
DREAM_FIVE = {  # table of challenge II
    "S1": {"vote": 3.2, "sml_em": 2.3, "oracle_ci": 1.9, "lsml": 2.0},
    "S2": {"vote": 4.3, "sml_em": 4.1, "oracle_ci": 2.5, "lsml": 2.8},
    "S3": {"vote": 2.9, "sml_em": 2.9, "oracle_ci": 2.8, "lsml": 2.5},
}
UCI_MEAN_DIFFERENCE = {"magic": 4.0, "spambase": 0.5, "miniboone": 0.2, "musk": 4.7}  # SML minus L-SML, appendix
UCI_SIZES = {"magic": (19_000, 11), "spambase": (4_600, 57), "miniboone": (130_000, 50), "musk": (6_600, 168)}
