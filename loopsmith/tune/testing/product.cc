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

Ptr<PrimFunc> doubled_rows() {
  return parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle, b: T.handle):\n"
      "    m = T.int32()\n"
      "    A = T.match_buffer(a, (m, 64), \"float32\")\n"
      "    B = T.match_buffer(b, (m, 64), \"float32\")\n"
      "    for i, j in T.grid(m, 64):\n"
      "        with T.block(\"B\"):\n"
      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
      "            B[vi, vj] = A[vi, vj] * T.float32(2)\n");
}

}  // namespace loopsmith::tune::testing
