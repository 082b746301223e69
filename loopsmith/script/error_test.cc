// SPDX-License-Identifier: Apache-2.0
// What is refused, where, and in which words.
#include <gtest/gtest.h>

#include "loopsmith/script/parse.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// A refusal: the place of the line in `text`, counted from 1, and what is said.
struct Refusal {
  std::string text;
  std::uint32_t line;
  std::string problem;
};

void expect_refused(const Refusal& row) {
  try {
    parse(row.text, {.name = "wrong.py"});
    ADD_FAILURE() << "accepted:\n" << row.text;
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::script) << row.text;
    const std::string shown = row.text.substr(0, 1000);
    EXPECT_EQ(error.problem().substr(0, row.problem.size()), row.problem) << shown;
    EXPECT_EQ(error.span().line, row.line) << error.problem() << "\n" << shown;
    EXPECT_FALSE(error.hint().empty()) << shown;
  }
}

/// The lines, inside of a function of A (float32, 8 x 8), B (int32, 64), p (a handle) and n. The
/// first of them is line 3.
std::string in_function(std::string_view lines) {
  std::string text =
      "@T.prim_func\n"
      "def main(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((64,), \"int32\"), p: T.handle, n: "
      "T.int32):\n";
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = std::min(lines.find('\n', i), lines.size());
    text += "    " + std::string(lines.substr(i, end - i)) + "\n";
    i = end + 1;
  }
  return text;
}

TEST(script_error, shows_the_line_with_carets) {
  try {
    parse(in_function("for i in range(8):\n    B[i] = T.expp(i)\n"), {.name = "wrong.py"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "T has no attribute expp\n"
                 "  hint: see the names of loopsmith.script.tir\n"
                 "  at wrong.py:4\n"
                 "            B[i] = T.expp(i)\n"
                 "                   ^^^^^^");
    EXPECT_EQ(error.code(), "word_is_known");
  }
}

TEST(script_error, buffers) {
  for (const auto& [text, line, problem] : std::vector<Refusal>{
           {"C = T.match_buffer()", 3, "T.match_buffer: param is missing"},
           {"C = T.match_buffer(p)", 3, "T.match_buffer: the shape is missing"},
           {"C = T.match_buffer(n, (4,))", 3, "T.match_buffer: n is int32, not a handle"},
           {"C[0] = 1", 3, "undefined name C"},
           {"B[0] = C[0]", 3, "undefined name C"},
           {"A[0] = 1.0", 3, "buffer A has 2 dimensions, 1 indices were given"},
           {"B[0, 0] = 1", 3, "buffer B has 1 dimensions, 2 indices were given"},
           {"B[1.5] = 1", 3, "store: index 0 of buffer B is float32, not an integer"},
           {"B[0] = A[0:4, 0:4]", 3, "load: index 0 of buffer A is a vector, only the last may be"},
           {"B[0] = B[0:4]", 3, "4 values are stored in 1 elements"},
           {"B[0:n] = 1", 3, "the slice has n elements, not a constant number"},
           {"B[4:0] = 1", 3, "the slice from 4 to 0 is empty"},
           {"p[0] = 1", 3, "p is a value of type handle, which has no elements"},
           {"B[0] = p[0]", 3, "p is a value of type handle, which has no elements"},
           {"B[0] = n[0, 1]", 3, "n is a value of type int32, which has no elements"},
           {"T.evaluate(p + 1)", 3, "operator: an operand is handle, not a number"},
           {"T.evaluate(p + [1])", 3, "an expression is needed here, not a list"},
           {"C = T.alloc_buffer((8,))\nC = T.alloc_buffer((8,))", 4,
            "C is already defined in this scope"},
           {"B = T.match_buffer(p, (8,))", 3, "B is already defined in this scope"},
           {"B[0] = A", 3, "buffer A is no value"},
           {"C = T.alloc_buffer((8,), \"float33\")", 3, "'float33' is not a data type"},
           {"C = T.alloc_buffer((8,), shape=3)", 3, "T.alloc_buffer: shape is given twice"},
           {"C = T.alloc_buffer((8,), typ=3)", 3, "T.alloc_buffer has no parameter typ"},
           {"C = T.alloc_buffer((-1,))", 3, "buffer C: dimension 0 is -1, negative"},
           {"B[0] = \"x\"", 3, "buffer B takes int32, the value is a text"},
           {"B[0] = 3000000000", 3, "buffer B takes int32, 3000000000 does not fit"},
           {"n.x = 1", 3, "n.x cannot be assigned"},
       }) {
    expect_refused({in_function(text), line, problem});
  }
}

TEST(script_error, blocks) {
  const std::string loops = "for i, j in T.grid(8, 8):\n    with T.block(\"b\"):\n";
  for (const auto& [text, line, problem] : std::vector<Refusal>{
           {"vi, vj = T.axis.remap(\"SSR\", [i, j, i])", 5, "2 names for 3 values"},
           {"vi = T.axis.remap(\"S\", [i, j])", 5, "T.axis.remap: 1 kinds for 2 loops"},
           {"vi, vj = T.axis.remap(\"TT\", [i, j])", 5, "T.axis.remap: 'T' is no kind of axis"},
           {"vi = T.axis.remap(\"S\", [i + 1])", 5,
            "T.axis.remap: i + 1 is not the variable of a loop"},
           {"vi = T.axis.spatial(8.0, i)", 5,
            "the domain of an axis requires an integer dtype, not float32"},
           {"vi = T.axis.spatial((0, 1, 2), i)", 5, "an axis has a domain of 3 parts"},
           {"vi = T.axis.spatial(8)", 5, "T.axis.spatial: the axis has no value"},
           {"vi = T.axis.spatial(8, i)\nvi = T.axis.spatial(8, j)", 6,
            "vi is already defined in this scope"},
           {"T.reads(B[0])\nT.reads(B[1])", 6, "T.reads is given twice in one block"},
           {"T.writes(B[0])\nT.writes(B[1])", 6, "T.writes is given twice in one block"},
           {"T.where(i < 3)\nT.where(j < 3)", 6, "T.where is given twice in one block"},
           {"T.block_attr({\"a\": 1})\nT.block_attr({\"a\": 2})", 6,
            "T.block_attr: a is given twice"},
           {"with T.init():\n    B[0] = 1\nwith T.init():\n    B[0] = 2", 7,
            "T.init is given twice in one block"},
           {"T.reads(B[0:8:2])", 5, "a region has no step"},
           {"T.reads(n)", 5, "a region of a buffer is needed here, not a value of type int32"},
           {"T.where(i)", 5, "T.where: the condition is int32, not bool"},
           {"C = T.match_buffer(A[0:4, 0:4], (4, 5))", 5,
            "the view has extent 5 where the region has 4"},
           {"C = T.match_buffer(p, (4, 5))", 5, "T.match_buffer of a parameter stands in a block"},
           {"T.block_attr(3)", 5, "T.block_attr: an integer is no dict"},
       }) {
    std::string inside;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      inside += "        " + text.substr(i, end - i) + "\n";
      i = end + 1;
    }
    expect_refused({in_function(loops + inside), line, problem});
  }
  for (const char* word : {"T.reads(B[0])", "T.writes(B[0])", "T.where(n < 3)", "T.block_attr({})",
                           "v = T.axis.spatial(8, n)"}) {
    expect_refused({in_function(word), 3, std::string(word).substr(word[0] == 'v' ? 4 : 0, 5)});
  }
  expect_refused({in_function("with T.block() as x:\n    pass"), 3,
                  "T.block: 1 names for 0 axes in its header"});
  expect_refused({in_function("with T.block(\"b\"):\n    v = T.axis.spatial(8, n)\n    "
                              "T.evaluate(T.call_extern(\"int32\", \"f\", A.data))"),
                  3, "block b: it reaches buffer A through its pointer"});
}

TEST(script_error, loops_and_scopes) {
  for (const auto& [text, line, problem] : std::vector<Refusal>{
           {"for i in 3:\n    pass", 3, "for: an integer is no loop of the language"},
           {"for i in [1, 2]:\n    pass", 3, "for: a list is no loop of the language"},
           {"with 3:\n    pass", 3, "with: an integer is no scope of the language"},
           {"with range(3):\n    pass", 3, "with: a loop is no scope"},
           {"for i, j in range(n):\n    pass", 3, "for: 2 names for 1 loops"},
           {"for i, j in T.grid(1, 2, 3):\n    pass", 3, "for: 2 names for 3 loops"},
           {"for i in T.thread_binding(128, 128):\n    pass", 3,
            "T.thread_binding: no thread is given"},
           {"for i in range(1.5):\n    pass", 3, "a loop runs over integers, not over float32"},
           {"for i in range(0, 8, 0):\n    pass", 3, "the loop has step 0"},
           {"for i in range(8):\n    pass\nB[0] = i", 5,
            "i is used outside the scope of its definition"},
           {"for i in range(8):\n    i = i + 1", 4, "the loop variable i cannot be assigned"},
           {"for i in range(8):\n    pass\nelse:\n    pass", 5,
            "'else' of a loop is not of the script language"},
           {"if n:\n    pass", 3, "if: the condition is int32, not bool"},
           {"break", 3, "break: no loop is around it"},
           {"return \"x\"", 3, "a text is returned"},
           {"with T.allocate([8], \"float32\") as (x, y):\n    pass", 3,
            "with: one name is defined, not 2"},
           {"with T.If(n < 3):\n    pass", 3, "T.If has no T.Then"},
           {"with T.Then():\n    pass", 3, "T.Then or T.Else stands outside of T.If"},
           {"x = T.int32(0)\nfor i in range(8):\n    x = x + A[i, i]", 5,
            "variable x is int32, because that is how it was first assigned; now it is assigned a "
            "float32"},
           {"x = range(8)", 3, "x: a loop or a scope cannot be assigned"},
           {"T.block(\"b\")", 3, "the loop or scope has nothing that belongs to it"},
           {"x: T.int32", 3, "x gets a type and no value"},
           {"x: 3 = 4", 3, "3 is no type"},
           {"a, b = 1, 2, 3", 3, "2 names for 3 values"},
           {"X = T.alloc_buffer(\"(8, 8)\")", 3, "'(8, 8)' is no name of a size"},
           {"assert 1 == 2, \"no\"", 3, "no"},
           {"assert n, \"no\"", 3, "assert: the condition is int32, not bool"},
           {"bx = T.env_thread(\"blockIdx.x\")\nT.launch_thread(bx, 4)\nT.launch_thread(bx, 8)", 5,
            "T.launch_thread: bx is launched with extents 4 and 8"},
           {"T.launch_thread(n, 4)", 3, "T.launch_thread: n is no thread"},
           {"T.func_attr({\"a\": 1})\nT.func_attr({\"a\": 2})", 4, "T.func_attr: a is given twice"},
           {"def inner(x: T.int32):\n    pass", 3, "function inner stands inside a function"},
       }) {
    expect_refused({in_function(text), line, problem});
  }
}

TEST(script_error, expressions) {
  for (const auto& [text, line, problem] : std::vector<Refusal>{
           {"T.foo(n)", 3, "T has no attribute foo"},
           {"T.evaluate(n / 2)", 3, "/: division of int32 by int32 may round in two ways"},
           {"T.evaluate(n // 0)", 3, "floordiv: divide by zero"},
           {"T.evaluate(n @ n)", 3, "'@' is no operator of expressions"},
           {"if n in [1, 2]:\n    pass", 3, "'in' is no operator of expressions"},
           {"if n is n:\n    pass", 3, "'is' is no operator of expressions"},
           {"T.evaluate(n + \"x\")", 3, "operator: an operand is handle, not a number"},
           {"T.evaluate(n(3))", 3, "a value of type int32 cannot be called"},
           {"T.exp()", 3, "exp"},
           {"T.evaluate(T.Add(n, T.int64(1)))", 3,
            "Add: the operands are int32 and int64, not of one type"},
           {"T.evaluate(T.int8(300))", 3, "the constant is out of the range of int8"},
           {"T.evaluate(T.float32(\"x\"))", 3, "T.float32: 'x' is no number"},
           {"T.evaluate(T.call_extern(\"int32\", \"a\\x4\"))", 3,
            "the text \"a\\x4\" has an escape without all of its digits"},
           {"T.evaluate(T.call_extern(\"int32\", \"\\U00110000\"))", 3,
            "the text \"\\U00110000\" has an escape without all of its digits"},
           {"T.evaluate(100000000000000000000)", 3, "an integer constant has more than 64 bits"},
           {"T.evaluate(0x)", 3, "0x is no number of the language"},
           {"T.evaluate([i for i in n])", 3, "[i for i in n] is not of the script language"},
           {"T.evaluate(f\"{n}\")", 3, "f\"{n}\" is not of the script language"},
           {"x = (y := 3)", 3, "':=' is not of the script language"},
           {"x = await n", 3, "'await' is not of the script language"},
           {"T.evaluate(T.Select(n, 1, 2))", 3, "Select: the condition is int32"},
           {"T.call_intrin(\"int32\", \"tir.none\", n)", 3, "there is no intrinsic 'none'"},
           {"T.evaluate(T.Let(n, 3))", 3, "T.Let defines one name, and gives its value"},
           {"T.evaluate(*n)", 3, "*: a value of type int32 is no list"},
           {"x = *n", 3, "*n has no meaning here"},
           {"cls.f(3)", 3, "undefined name cls"},
           {"\"text\" + n", 3, "operator: an operand is handle, not a number"},
       }) {
    expect_refused({in_function(text), line, problem});
  }
}

TEST(script_error, functions_and_modules) {
  for (const Refusal& row : std::vector<Refusal>{
           {"@T.prim_func\ndef f(a):\n    pass\n", 2, "parameter a has no type"},
           {"@T.prim_func\ndef f(a: 3):\n    pass\n", 2, "parameter a: an integer is no type"},
           {"@T.prim_func\ndef f(a: T.int32 = 3):\n    pass\n", 2,
            "parameter a is a star argument or has a default"},
           {"@T.prim_func\ndef f(*a: T.int32):\n    pass\n", 2,
            "parameter a is a star argument or has a default"},
           {"@T.prim_func\ndef f(a: T.int32, a: T.int32):\n    pass\n", 2,
            "parameter a is defined twice"},
           {"@T.prim_func(private=True)\ndef f():\n    T.func_attr({\"global_symbol\": \"f\"})\n",
            3, "T.func_attr: a private function has no global_symbol"},
           {"x = 3\n", 1, "the script defines no function and no module"},
           {"for i in range(3):\n    pass\n", 1, "a statement stands outside of a function"},
           {"@I.ir_module\nclass M:\n    for i in range(3):\n        pass\n", 3,
            "a statement stands outside of a function"},
           {"@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        cls.g()\n", 5,
            "the module has no function g"},
           {"@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        pass\n"
            "    @T.prim_func\n    def f():\n        pass\n",
            7, "function f is defined twice"},
           {"T.alloc_buffer((3,))\n", 1, "a statement stands outside of a function"},
           {"x = T.alloc_buffer((3,))\n", 1, "T.alloc_buffer is used outside of a function"},
           {"@T.macro\ndef m(x):\n    m(x)\n@T.prim_func\ndef f():\n    m(1)\n", 3,
            "macros are expanded inside each other 200 deep"},
           {"@T.macro\ndef m(x):\n    pass\n@T.prim_func\ndef f():\n    m()\n", 6,
            "macro m: x is missing"},
           {"@T.macro\ndef m(x):\n    pass\n@T.prim_func\ndef f():\n    m(1, 2)\n", 6,
            "macro m takes 1 arguments, 2 were given"},
       }) {
    expect_refused(row);
  }
}

TEST(script_error, syntax) {
  for (const Refusal& row : std::vector<Refusal>{
           {"@T.prim_func\ndef f():\n", 3, "nothing is indented below 'def'"},
           {"@T.prim_func\ndef f():\n    with T.block(\"b\"):\n    pass\n", 4,
            "nothing is indented below 'with'"},
           {"@T.prim_func\ndef f()\n    pass\n", 2, "':' is missing at the end of the header"},
           {"@T.prim_func\ndef f():\n    x = (1\n", 4, "')' is missing"},
           {"@T.prim_func\ndef f():\n    x = 1 +\n", 3, "an expression is missing: the line ends"},
           {"@T.prim_func\ndef f():\n    x = 'a\n", 3,
            "the text that begins here is not closed on its line"},
           {"@T.prim_func\ndef f():\n    x = '''a\n", 3, "the text that begins here is not closed"},
           {"@T.prim_func\ndef f():\n    x = 1 $ 2\n", 3,
            "the character '$' is not of the language"},
           {"@T.prim_func\ndef f():\n    gr\xF6\xDFsse = 1\n", 3,
            "the bytes of a name are not UTF-8"},
           {"@T.prim_func\ndef f():\n        x = 1\n    y = 2\n", 4,
            "the indentation fits none of the lines above"},
           {"@T.prim_func\ndef f():\n    x = 1\n      y = 2\n", 4, "the line is indented"},
           {"@T.prim_func\ndef f():\n    try:\n        pass\n", 3,
            "'try' is not of the script language"},
           {"@T.prim_func\ndef f():\n    x = 1 2\n", 3,
            "the statement should end here, but there is '2'"},
           {"@T.prim_func\ndef f():\n    x = f\"{{{\n", 3, "the field that begins here"},
           {"@T.prim_func\nx = 3\n", 2, "a function or class is missing after a decorator"},
           {"@T.prim_func\ndef f():\n    f(x for x in y, 2)\n", 3,
            "a generator is the only argument of a call"},
       }) {
    expect_refused(row);
  }
}

TEST(script_error, deep_and_long_texts_are_read_or_refused) {
  const int depth = 20000;
  const std::string open(depth, '('), close(depth, ')');
  EXPECT_NO_THROW(parse(in_function("T.evaluate(" + open + "n" + close + ")")));
  expect_refused({in_function("T.evaluate(" + open), 4, "an expression is missing"});
  std::string sum = "n";
  for (int i = 0; i < depth; ++i) sum += " + n";
  EXPECT_NO_THROW(parse(in_function("T.evaluate(" + sum + ")")));
  EXPECT_NO_THROW(parse(in_function("T.evaluate(" + std::string(depth, '-') + "n)")));
  std::string branches = "if n == 0:\n    pass\n";
  for (int i = 0; i < 2000; ++i) branches += "elif n == 1:\n    pass\n";
  EXPECT_NO_THROW(parse(in_function(branches)));
  std::string items = "with T.Assert(n < 1, \"a\")";
  for (int i = 0; i < 2000; ++i) items += ", T.Assert(n < 1, \"a\")";
  EXPECT_NO_THROW(parse(in_function(items + ":\n    pass")));
  std::string doubled = "x = T.meta_var(n + 1)\n";
  for (int i = 0; i < 60; ++i) doubled += "x = T.meta_var(x + x)\n";
  EXPECT_NO_THROW(parse(in_function(doubled + "T.evaluate(x)")));
}

}  // namespace
}  // namespace loopsmith
