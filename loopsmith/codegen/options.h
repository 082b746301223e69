// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace loopsmith {

/// What code generation may do to floating-point numbers beside what the program says.
struct FloatOptions {
  bool contract = true;          ///< `a * b + c` may be rounded once.
  bool reassociate = false;      ///< Sums and products may be taken in another order.
  bool no_nans = false;          ///< No value is NaN.
  bool no_infs = false;          ///< No value is infinite.
  bool no_signed_zeros = false;  ///< The sign of a zero does not matter.
  bool reciprocal = false;       ///< `a / b` may become `a * (1 / b)`.
  bool approximate = false;      ///< Functions may be approximated.
  bool no_denormals = false;     ///< Denormal numbers may count as zero.

  bool operator==(const FloatOptions&) const = default;
};

/// An option by its name.
struct FloatOption {
  std::string_view name;
  bool FloatOptions::* member;
};
inline constexpr FloatOption float_options[] = {
    {"contract", &FloatOptions::contract},
    {"reassociate", &FloatOptions::reassociate},
    {"no_nans", &FloatOptions::no_nans},
    {"no_infs", &FloatOptions::no_infs},
    {"no_signed_zeros", &FloatOptions::no_signed_zeros},
    {"reciprocal", &FloatOptions::reciprocal},
    {"approximate", &FloatOptions::approximate},
    {"no_denormals", &FloatOptions::no_denormals},
};

/// Allows what `names` say, by the names of FloatOptions' members; `all` stands for each of them.
/// An unknown name is a UserError.
FloatOptions allow(FloatOptions options, std::span<const std::string> names);

}  // namespace loopsmith
