// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/testing/product.h"

#include "loopsmith/script/parse.h"

namespace loopsmith::tune::testing {

Ptr<PrimFunc> product() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((48, 32), \"float32\"), B: T.Buffer((32, 64), \"float32\"),\n"
      "         C: T.Buffer((48, 64), \"float32\")):\n"
      "    for i, j, k in T.grid(48, 64, 32):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n");
}

}  // namespace loopsmith::tune::testing
