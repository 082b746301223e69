// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_shared_pool.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/testing/functions.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

using namespace testing;

/// A kernel with memory S of 256 bytes and R of 128, and what its threads do.
Ptr<PrimFunc> kernel(const std::string& body) {
  const std::string text = R"(@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        S = T.decl_buffer((64,), scope="shared.dyn")
        R = T.decl_buffer((32,), scope="shared.dyn")
        for t in T.thread_binding(32, thread="threadIdx.x"):
)";
  return parse_function(text + body);
}

std::int64_t pool_bytes(const Ptr<PrimFunc>& func) {
  std::int64_t bytes = -1;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const Stmt stmt = Stmt::from(ref);
    if (bytes < 0 && stmt.defined() && is_launch_loop(stmt)) {
      bytes = bytes_in_shared_pool(launch_of(stmt));
    }
    return bytes < 0;
  });
  return bytes;
}

std::size_t barriers(const Ptr<PrimFunc>& func) {
  std::size_t count = 0;
  const std::string text = script(func);
  for (std::size_t at = 0; (at = text.find("tvm_storage_sync", at)) != text.npos; ++at) ++count;
  return count;
}

TEST(plan_shared_pool, lets_memory_that_is_used_one_after_the_other_share_bytes) {
  const Ptr<PrimFunc> planned = plan_shared_pool(kernel(R"(            S[t] = A[t]
            B[t] = S[t]
            R[t] = A[t]
            B[t + 32] = R[t]
)"));
  EXPECT_EQ(pool_bytes(planned), 256);
  EXPECT_EQ(barriers(planned), 1);
}

TEST(plan_shared_pool, needs_no_barrier_where_there_is_one) {
  const Ptr<PrimFunc> planned = plan_shared_pool(kernel(R"(            S[t] = A[t]
            B[t] = S[t]
            T.tvm_storage_sync("shared")
            R[t] = A[t]
            B[t + 32] = R[t]
)"));
  EXPECT_EQ(pool_bytes(planned), 256);
  EXPECT_EQ(barriers(planned), 1);
}

TEST(plan_shared_pool, keeps_memory_apart_that_is_used_at_once) {
  const Ptr<PrimFunc> planned = plan_shared_pool(kernel(R"(            S[t] = A[t]
            R[t] = A[t + 32]
            B[t] = S[t] + R[t]
)"));
  EXPECT_EQ(pool_bytes(planned), 256 + 128);
  EXPECT_EQ(barriers(planned), 0);
}

TEST(plan_shared_pool, takes_a_loop_for_one_statement) {
  const Ptr<PrimFunc> planned = plan_shared_pool(kernel(R"(            for k in range(2):
                S[t] = A[t]
                B[t] = S[t]
                R[t] = A[t]
                B[t + 32] = R[t]
)"));
  EXPECT_EQ(pool_bytes(planned), 256 + 128);
}

TEST(plan_shared_pool, counts_what_stands_inside_of_names_and_memory) {
  const Ptr<PrimFunc> planned =
      plan_shared_pool(kernel(R"(            L = T.decl_buffer((1,), scope="local")
            S[t] = A[t]
            L[0] = S[t]
            R[t] = L[0]
            B[t] = R[t]
)"));
  EXPECT_EQ(pool_bytes(planned), 256);
  EXPECT_EQ(barriers(planned), 1);
}

}  // namespace
}  // namespace loopsmith
