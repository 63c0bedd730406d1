"""What docs/reproducibility.md promises about other processors, on one machine: loops compiled for
a processor without any extensions, and linear algebra with the kernels of another one.
"""

import json

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests.processes import python
from tests.test_fingerprints import DATA

pytestmark = pytest.mark.extended
ACCURACY = 1e-4
"""The relative accuracy that is promised, and less only where numbers are near zero."""

PROGRAM = """
    import json, warnings
    import numba
    from threadpoolctl import threadpool_info
    from tests.test_fingerprints import CASES, described

    warnings.simplefilter("ignore")
    found = {name: described(model.fit(views, **options), views)
             for name, (model, views, options) in CASES.items()}
    print(json.dumps({"found": found, "processor": numba.config.CPU_NAME, "kernels": [
        library["architecture"] for library in threadpool_info() if "architecture" in library]}))
"""


def fitted_with(**environment):
    found = python(PROGRAM, environment=environment)
    return json.loads(found.stdout.splitlines()[-1])


def assert_promised(found):
    """Labels are identical, and numbers equal to the accuracy that is promised."""
    expected = json.loads(DATA.read_text())
    assert found.keys() == expected.keys()
    for case, numbers in found.items():
        assert numbers["labels"] == expected[case]["labels"], case
        for key in numbers.keys() - {"labels"}:
            np.testing.assert_allclose(
                numbers[key],
                expected[case][key],
                rtol=ACCURACY,
                atol=ACCURACY / 100,
                err_msg=f"{case}: {key}",
            )


def test_loops_compiled_for_a_generic_processor(tmp_path):
    run = fitted_with(NUMBA_CPU_NAME="generic", NUMBA_CACHE_DIR=str(tmp_path))
    assert run["processor"] == "generic"
    assert_promised(run["found"])


def test_linear_algebra_with_the_kernels_of_another_processor():
    here = {library["architecture"] for library in threadpool_info() if "architecture" in library}
    run = fitted_with(OPENBLAS_CORETYPE="Nehalem" if "Prescott" in here else "Prescott")
    if here & set(run["kernels"]):
        pytest.skip("the linear algebra library has kernels of one processor only")
    assert_promised(run["found"])
