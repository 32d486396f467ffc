"""The search for groups on the covariance."""
