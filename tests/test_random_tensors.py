# SPDX-License-Identifier: Apache-2.0
"""Random tensor expressions without a schedule compute what the interpreter does.

``LOOPSMITH_FUZZ_CASES`` says how many functions, ``LOOPSMITH_FUZZ_SEED`` the first of them. They
are built in turn for this processor and for such as have shorter vectors.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from random_tensors import random_tensors

import loopsmith as ls

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "200"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
GROUPS = 5
PROCESSORS = ["native", "native", "x86-64"]


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_tensors_are_what_the_interpreter_computes(group: int):
    compared = 0
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        drawn = random_tensors(random.Random(seed))
        if not drawn:
            continue
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-9, 10, shape).astype(drawn.dtype) for shape in drawn.inputs]
        expected = [np.zeros(shape, drawn.dtype) for shape in drawn.outputs]
        found = [np.zeros(shape, drawn.dtype) for shape in drawn.outputs]
        ls.interp.run(drawn.func, *inputs, *expected)
        processor = PROCESSORS[seed % len(PROCESSORS)]
        ls.build(drawn.func, target=f"llvm -mcpu={processor}")(*inputs, *found)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"{seed}, {processor}")
        compared += 1
    assert compared > CASES // GROUPS // 2
