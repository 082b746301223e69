// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "loopsmith/ir/target.h"

namespace loopsmith {

/// The processor that a target of kind llvm means, in LLVM's words.
struct Processor {
  std::string triple;
  std::string cpu;
  std::string features;  ///< `+avx512f,-amx-tile,...`

  bool operator==(const Processor&) const = default;
};

/// The version of LLVM that generates code: `22.1.0`.
std::string llvm_version();

/// LLVM's number of an intrinsic, which a version has for itself; 0 where it has none of that name.
unsigned llvm_intrinsic_id(std::string_view name);
/// Its name; a UserError for a number that is none.
std::string llvm_intrinsic_name(unsigned id);

/// Which processor `target` means; `-mcpu=native` asks this machine. Throws a UserError for a name
/// or a feature that LLVM does not know.
Processor processor_of(const Target& target);

/// True when the code of a target of kind llvm runs on machines of another architecture than this.
bool is_foreign(const Target& target);

/// True when this machine's processor has all instructions that the target's may use.
bool host_has_instructions_of(const Target& target);

/// True when the target's processor has each of `features`: `+avx512f,+fma`.
bool has_features(const Target& target, const std::string& features);

/// How wide the widest vectors of an x86 processor are, in bits; 0 for other processors.
int x86_vector_bits(const Target& target);

/// How wide vectors should be, in bits: 512 where the processor computes them at full rate, else
/// 256 or 128; the target's `vector-width` where it is given.
int preferred_vector_bits(const Target& target);

}  // namespace loopsmith
