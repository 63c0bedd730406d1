"""The scikit-learn estimator `RMGL` and the base classes it shares with the baselines."""
