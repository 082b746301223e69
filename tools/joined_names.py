# SPDX-License-Identifier: Apache-2.0
"""Find names in unnamed namespaces that another source of the floor defines, too.

Builds with joined sources compile several sources of a floor as one, in groups that change with
their number, so that a name which two of them define for themselves breaks such a build, some day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*',
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"(?:inline )?namespace(?: ([\w:]+))?$")
TEMPLATE = re.compile(r"^(?:template <(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>|requires [^;{]*?\)) ?")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class| struct)?) (\w+)(?: final)?(?: :.*)?$")
ALIAS = re.compile(r"^using (\w+) = ")
FUNCTION = re.compile(r"([\w:]+|operator ?\S+?) ?\(")
VARIABLE = re.compile(r"(\w+)(?: ?\[[^]]*\])*$")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P|BENCHMARK)\b")


def statements(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield what stands in namespaces: their names, its head, how that ends, and its line.

    The head is the text up to a brace or a semicolon; an unnamed namespace has an empty name.
    """
    code = NOISE.sub(lambda noise: re.sub(r"[^\n]", " ", noise[0]), text)
    scopes: list[str] = []  # Names of the open namespaces; "" where one has none.
    begin = 0
    depth = 0  # Of what is open inside of the innermost namespace.
    parentheses = 0
    for found in re.finditer("[(){};]", code):
        at, letter = found.start(), found[0]
        if letter in "()":
            parentheses += 1 if letter == "(" else -1
            continue
        if parentheses and depth == 0:
            continue
        head = " ".join(code[begin:at].split()) if depth == 0 else ""
        if letter == "{" and depth == 0 and (opened := NAMESPACE.match(head)):
            scopes.append(opened[1] or "")
            begin = at + 1
            continue
        if depth == 0 and head and scopes and letter != "}":
            first = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
            yield "::".join(scopes), head, letter, code.count("\n", 0, first) + 1
        if letter == "{":
            depth += 1
        elif letter == "}" and depth > 0:
            depth -= 1
        elif letter == "}" and scopes:
            scopes.pop()
        if depth == 0:
            begin = at + 1
            parentheses = 0


def parameter_types(text: str) -> str:
    """Return the parameters of a function without their names and defaults."""
    depth = 0
    parts = [""]
    for letter in text:
        depth += letter in "<([{"
        depth -= letter in ">)]}"
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    types = [re.sub(r"(?<=[\s&*>])\w+$", "", part.split(" = ")[0].strip()) for part in parts]
    return ", ".join(each.strip() for each in types)


def defined_name(head: str, end: str) -> str | None:
    """Return the name that a head defines, of a function with its parameters; None of others."""
    while template := TEMPLATE.match(head):
        head = head[template.end() :]
    head = re.sub(r"\[\[[^]]*\]\] ?", "", head)
    if TEST.match(head):
        return None
    if match := TYPE.match(head):
        return match[1] if end == "{" else None
    if ALIAS.match(head):
        return None  # Where it means the same, it may stand twice.
    before, is_set, _ = (head + " ").partition(" = ")
    before = before.strip()
    if (match := FUNCTION.search(before)) and not before.startswith(
        ("constexpr auto", "const auto")
    ):
        # What is defined outside of its class, or declared, stands elsewhere.
        if end != "{" or "::" in match[1]:
            return None
        return f"{match[1]}({parameter_types(before[match.end() :])})"
    match = VARIABLE.search(before)
    if match and before[: match.start()].endswith("::"):
        return None  # A type, or a member, of another one.
    return match[1] if match and (is_set or end == "{") else None


def check_joined_names(files: Mapping[str, str]) -> list[str]:
    """Return the names that a source defines for itself, and another one of its floor too."""
    seen: dict[tuple[str, str, str], tuple[str, bool]] = {}
    problems = []
    for path, text in files.items():
        unit = path.split("/")[1]
        if path.endswith("_test.cc"):  # Of tests, those of a folder are joined, too.
            unit = path.rpartition("/")[0] + "/*_test.cc"
        elif "/testing/" in path:
            unit += "/testing"
        for scope, head, end, line in statements(text):
            name = defined_name(head, end)
            if name is None:
                continue
            is_hidden = scope.endswith("::") or "::::" in scope
            key = (unit, scope.replace("::::", "::").removesuffix("::"), name)
            first, was_hidden = seen.setdefault(key, (f"{path}:{line}", is_hidden))
            if (is_hidden or was_hidden) and not first.startswith(f"{path}:"):
                problems.append(
                    f"{path}:{line}: {name} is defined in {first}, too, and builds may join the "
                    "two; give it another name, or both one place"
                )
    return problems
