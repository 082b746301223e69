// SPDX-License-Identifier: Apache-2.0
// Sameness of structure, derived from the fields of the nodes. Names of variables, buffers and
// blocks do not count, nor do spans. Shared nodes cost once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "loopsmith/ir/node.h"

namespace loopsmith {

/// True when `a` and `b` differ at most by the variables and buffers that they define. Free
/// variables and buffers are the same only if they are the same object, unless `map_free`: then
/// each may stand for one of the other side.
bool structural_equal(const Ref& a, const Ref& b, bool map_free = false);

/// 128 bits that are the same in each process and release.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const Digest&) const = default;
};

/// 32 hexadecimal digits.
std::string to_string(const Digest& digest);

/// The same for all nodes that are structurally equal, free variables mapped. Variables count by
/// the order of their first occurrence, nodes, fields and intrinsics by their names.
Digest structural_hash(const Ref& node);

/// Where two trees part.
struct Difference {
  std::string path;  ///< From the roots: `body.seq[1].value.a`. Empty: the roots themselves.
  std::string what;  ///< `IntImm 3 != 4`
  Ref a, b;          ///< The innermost nodes that differ; null where one is missing.
  std::string picture_a, picture_b;  ///< Both sides as script, with what differs underlined.

  /// All of it, for people.
  std::string text() const;
};

/// The first difference, in the order of the fields; nullopt when the two are equal.
std::optional<Difference> first_difference(const Ref& a, const Ref& b, bool map_free = false);

/// Throws a UserError that shows the first difference, unless the two are structurally equal.
void require_structural_equal(const Ref& a, const Ref& b, bool map_free = false);

/// Keys of hash tables by structure: free variables and buffers by identity. Fast, and of this
/// process only.
struct StructuralHash {
  std::size_t operator()(const Ref& ref) const;
};
struct StructuralEqual {
  bool operator()(const Ref& a, const Ref& b) const { return structural_equal(a, b); }
};

}  // namespace loopsmith
