# SPDX-License-Identifier: Apache-2.0
"""The manual of the primitives is what its tool writes."""

from __future__ import annotations

import primitive_pages

from loopsmith import _core


def test_the_manual_is_up_to_date():
    text = primitive_pages.page_text()
    assert primitive_pages.PAGE.read_text() == text, "run tools/primitive_pages.py"


def test_each_primitive_has_an_example_that_runs():
    names = {primitive["name"] for primitive in _core.primitives()}
    assert names - set(primitive_pages.EXAMPLES) == set()
