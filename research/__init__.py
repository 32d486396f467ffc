"""What is measured with goldless, and is no part of it: the paper's experiments, real panels, peers, benchmarks.

This folder stands beside ``src`` and is not installed. Run it in the clone, with ``pip install '.[test]'``:
``python -m research.experiments --help``, ``python -m research.benchmarks.methods --help``.
"""
