# SPDX-License-Identifier: Apache-2.0
import pytest
from check_words import RETIRED, check_text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("constexpr int most_rows = 8;", "`most_rows` is retired; use max_x, min_x"),
        ("/// The next name that nobody bears.", "`nobody` is retired; use no statement"),
        ("/// True for loops that run at once.", "`run at once` is retired; use run concurrently"),
        ("// Where iterations never meet.", "`iterations never meet` is retired; use conflict"),
        ("// Which elements they are, memory says.", "`memory says` is retired; use the buffer's"),
        ("/// A loop that drives a reduction axis.", "`drives a` is retired; use is bound to"),
    ],
)
def test_a_retired_word_is_named_with_its_line_and_the_term_to_use(line: str, problem: str):
    (found,) = check_text("loopsmith/ir/expr.h", f"int i;\n{line}\n")
    assert found.startswith(f"loopsmith/ir/expr.h:2: {problem}")


def test_the_name_of_a_file_is_read_too():
    (found,) = check_text("loopsmith/schedule/bearer_table.h", "")
    assert found.startswith("loopsmith/schedule/bearer_table.h: the name of the file has a retired")


def test_the_terms_in_use_pass():
    text = "constexpr int max_rows = 8;\n// Almost always, most rows are full, sixteen at once.\n"
    assert check_text("loopsmith/rules/register_tile.cc", text) == []


def test_each_row_says_what_to_use():
    assert all(RETIRED.values())
