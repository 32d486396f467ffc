"""From counted votes to a fitted model: functions and values, no scikit-learn."""
