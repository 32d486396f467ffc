"""The mathematics: functions on arrays over voters. May depend on NumPy, SciPy and ``goldless.kernels`` only.

Nothing here knows about names, files or estimators, and nothing here loops over items: what has to be counted
over items comes in as counts, or as a function that makes one pass and returns counts.
"""
