"""Estimators with the scikit-learn contract: each fit counts, calls the mathematics, and stores."""
