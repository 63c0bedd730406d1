"""The scikit-learn estimator `RMGL`, and what it shares with the baselines."""
