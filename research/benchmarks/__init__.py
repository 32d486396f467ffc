"""One script for each claim about speed or coverage: ``python -m research.benchmarks.score``."""
