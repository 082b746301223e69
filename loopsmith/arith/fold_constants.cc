// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {
namespace {

using Wide = __int128;

/// As a mathematical integer: a uint64 is not negative.
Wide whole(DataType type, std::int64_t value) {
  return type.element() == u64 ? Wide{static_cast<std::uint64_t>(value)} : Wide{value};
}

std::optional<std::int64_t> in_type(DataType type, Wide value) {
  const std::int64_t wrapped = wrap_to(type, static_cast<std::int64_t>(value));
  if (type.is_index() && Wide{wrapped} != value) return std::nullopt;
  return wrapped;
}

}  // namespace

std::optional<std::int64_t> fold_constants(Kind kind, DataType type, std::int64_t left,
                                           std::int64_t right) {
  const Wide a = whole(type, left);
  const Wide b = whole(type, right);
  if (is_division(kind) && b == 0) return std::nullopt;
  const auto floor = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
  switch (kind) {
    case Kind::add: return in_type(type, a + b);
    case Kind::sub: return in_type(type, a - b);
    // The product of two uint64 may leave even 128 signed bits; their low 64 are what counts.
    case Kind::mul:
      return in_type(type, static_cast<Wide>(static_cast<unsigned __int128>(a) *
                                             static_cast<unsigned __int128>(b)));
    case Kind::div: return in_type(type, a / b);
    case Kind::mod: return in_type(type, a % b);
    case Kind::floordiv: return in_type(type, floor());
    case Kind::floormod: return in_type(type, a - floor() * b);
    case Kind::min: return a < b ? left : right;
    case Kind::max: return a < b ? right : left;
    case Kind::eq: return a == b;
    case Kind::ne: return a != b;
    case Kind::lt: return a < b;
    case Kind::le: return a <= b;
    case Kind::and_: return left != 0 && right != 0;
    case Kind::or_: return left != 0 || right != 0;
    default: return std::nullopt;
  }
}

}  // namespace loopsmith::arith
