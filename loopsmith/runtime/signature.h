// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/runtime/dtype.h"

namespace loopsmith {

/// A size that follows from others: the sum of coefficients times symbols and a constant, divided
/// and rounded down.
struct LinearSize {
  std::vector<std::pair<std::string, std::int64_t>> terms;
  std::int64_t constant = 0;
  std::int64_t divisor = 1;
};

/// What an extent or a stride of a parameter must be.
struct ExtentRule {
  enum class Kind { constant, symbol, computed };

  Kind kind = Kind::constant;
  std::int64_t constant = 0;
  std::string symbol;
  std::optional<LinearSize> size = {};  ///< Of a computed one: what it is, where it is so simple.

  /// Equal to `value`.
  static ExtentRule equals(std::int64_t value) { return {Kind::constant, value, {}}; }
  /// The value of a symbol: its first occurrence in the signature gives it, later ones must agree.
  static ExtentRule named(std::string symbol) { return {Kind::symbol, 0, std::move(symbol)}; }
  /// An expression, which the compiled function checks itself.
  static ExtentRule computed(std::optional<LinearSize> size = {}) {
    return {Kind::computed, 0, {}, std::move(size)};
  }
};

/// A parameter of a compiled function.
struct ParameterSpec {
  std::string name;
  ls_kind kind = LS_TENSOR;
  DLDataType dtype = dtype::float32;

  // Of a tensor.
  std::vector<ExtentRule> shape = {};
  std::optional<std::vector<ExtentRule>> strides = {};  ///< In elements. None: compact row-major.
  std::int64_t alignment = 1;                           ///< Of the data, in bytes: a power of two.
  bool writable = false;
  bool is_output = false;  ///< No element is read before it was written: a call may make it.

  // Of an integer.
  std::string symbol = {};  ///< The symbol whose value it is; empty: none.
};

/// A symbolic size, and the largest value that its type holds.
struct Symbol {
  std::string name;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// What a signature is made from.
struct SignatureSpec {
  std::string name;
  std::vector<ParameterSpec> parameters = {};
  std::vector<Symbol> symbols = {};
  DLDevice device = {kDLCPU, 0};
  bool noalias = true;      ///< What is written overlaps no other tensor.
  bool calls_host = false;  ///< It may call functions of the host.
};

/// What a compiled function takes, checked and laid out for the check of its calls. A value; copies
/// share.
class Signature {
 public:
  explicit Signature(SignatureSpec spec);

  const SignatureSpec& spec() const;
  const ls_signature& c_view() const { return *c_view_; }

 private:
  struct Storage;
  std::shared_ptr<const Storage> storage_;
  const ls_signature* c_view_;
};

}  // namespace loopsmith
