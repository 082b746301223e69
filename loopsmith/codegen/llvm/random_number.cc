// SPDX-License-Identifier: Apache-2.0
// LLVM's archives ask the C library for a function that came with version 2.36. It is defined here,
// so that what is linked with them runs with earlier ones, too.
#include <sys/random.h>

#include <cstdint>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) continue;
  return number;
}
