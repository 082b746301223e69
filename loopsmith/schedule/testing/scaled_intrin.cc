// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/scaled_intrin.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {

Argument scaled_intrin() {
  constexpr std::string_view text = R"(@T.prim_func
def main(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("scale"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2) + T.float32(1))";
  static const auto* intrin =
      new Ptr<TensorIntrin>(tensor_intrin("scaled", parse_function(text), parse_function(text)));
  return to_argument(TensorIntrinSelector("scaled", *intrin));
}

bool is_scaling(const Block& block) {
  const auto* store = block.body.as<BufferStore>();
  const auto* sum = store ? store->value.as<Add>() : nullptr;
  const auto* product = sum ? sum->a.as<Mul>() : nullptr;
  const double* factor = product ? as_float(product->b) : nullptr;
  return factor && *factor == 2 && store->value.dtype() == f32 && product->a.is<BufferLoad>();
}

}  // namespace loopsmith::schedule_testing
