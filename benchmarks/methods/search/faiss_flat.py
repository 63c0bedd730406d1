"""faiss 1.15.1, `IndexFlatL2`: brute force in single precision. The first neighbor it finds is the
row itself.
"""

ENVIRONMENT = "modern"
PACKAGES = ["faiss-cpu"]
DATASETS = ("mixture", "noise", "mnist")


def learn(X, k, n_threads):
    import faiss
    import numpy as np

    rows = np.ascontiguousarray(X, dtype=np.float32)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    return {"found": index.search(rows, k + 1)[1][:, 1:]}
