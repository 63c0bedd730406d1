"""Files in and out: views, fitted models, results, and exchange with other libraries."""
