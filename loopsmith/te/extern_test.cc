// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/extern.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

using Buffers = std::vector<Ptr<Buffer>>;

Stmt copy_first_column(const Buffers& in, const Buffers& out) {
  const auto i = var("i");
  return for_loop(i, 0, in[0]->shape[0], store(out[0], load(in[0], {i, 0}), {i}));
}

TEST(extern_op, becomes_a_block_over_the_buffers_of_the_function) {
  const auto n = size_var("n");
  const Tensor A = placeholder({n, 4}, f32, "A");
  const Tensor B = extern_op({{n}}, {f32}, {A}, copy_first_column, "B")[0];
  const auto func = create_prim_func({A, B});
  verify_well_formed(func);
  const std::string text = script(func) + "\n";
  EXPECT_EQ(text.substr(text.find("    with")), R"(    with T.block("B"):
        T.reads(A[0:n, 0:4])
        T.writes(B[0:n])
        for i in range(n):
            B[i] = A[i, 0]
)");
}

TEST(extern_op, replaces_what_placeholders_leave_open) {
  const auto n = size_var("n");
  const Tensor A = placeholder({n, 4}, f32, "A");
  Buffer open = *decl_buffer({n, 4}, f32, "Ab");
  const auto stride = var("stride");
  open.strides = {stride, 1};
  open.elem_offset = var("offset");
  const auto Ab = make(std::move(open));
  const auto address = [&](const Buffers& in, const Buffers& out) {
    return make(Evaluate{.value = call(i32, op("call_extern"),
                                       {string_imm("f"), in[0]->data, in[0]->strides[0],
                                        in[0]->elem_offset, out[0]->data})});
  };
  const Tensor B = extern_op({{n}}, {f32}, {A}, address, "B", {.in_buffers = {Ab}})[0];
  const auto func = create_prim_func({A, B});
  verify_well_formed(func);
  EXPECT_NE(script(func).find("T.call_extern(\"int32\", \"f\", A.data, 4, 0, B.data)"),
            std::string::npos)
      << script(func);
}

TEST(extern_op, refuses_what_does_not_fit) {
  const Tensor A = placeholder({8, 4}, f32, "A");
  const auto with = [&](const Buffers& in, const Buffers& out,
                        std::vector<DataType> types = {f32}) {
    return testing::refusal([&] {
      extern_op({{8}}, types, {A}, copy_first_column, "B", {.in_buffers = in, .out_buffers = out});
    });
  };
  const auto good = decl_buffer({8, 4}, f32, "good");
  EXPECT_EQ(with({good, good}, {}), "one_buffer_a_tensor: extern B: 2 buffers for 1 inputs");
  EXPECT_EQ(with({}, {good, good}), "one_buffer_a_tensor: extern B: 2 buffers for 1 outputs");
  EXPECT_EQ(with({decl_buffer({8, 5}, f32, "wide")}, {}),
            "buffer_fits_tensor: extern B: buffer wide does not fit input A");
  EXPECT_EQ(with({}, {}, {f32, f32}), "one_type_an_output: extern B: 2 types for 1 shapes");
  EXPECT_EQ(testing::refusal([&] {
              extern_op(
                  {{8}}, {f32}, {A}, [](const Buffers&, const Buffers&) { return Stmt(); }, "B");
            }),
            "extern_gives_statement: extern B: the function gives no statement");
}

}  // namespace
}  // namespace loopsmith::te
