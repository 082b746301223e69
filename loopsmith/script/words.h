// SPDX-License-Identifier: Apache-2.0
// What the names `T.*` and `I.*` mean: one row a name, from which Python's modules are made too.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "loopsmith/script/value.h"

namespace loopsmith {
class Resolver;
}

namespace loopsmith::parsing {

class Lowering;

/// The arguments of a call, by the places of the word's parameters.
class Arguments {
 public:
  /// Binds values to parameters, as Python does. Throws a ScriptError when they do not fit.
  Arguments(const Word& word, std::vector<ScriptValue> positional,
            std::vector<std::pair<std::string, ScriptValue>> named);

  /// True when the argument was given.
  bool has(std::size_t i) const { return i < given_.size() && given_[i]; }
  /// The argument of parameter `i`; None when it was not given.
  const ScriptValue& operator[](std::size_t i) const;
  /// What was given for `*args`.
  const std::vector<ScriptValue>& rest() const { return rest_; }

 private:
  std::vector<ScriptValue> values_;
  std::vector<bool> given_;
  std::vector<ScriptValue> rest_;
};

/// One name of the language.
struct Word {
  std::string_view space;  ///< `T`, `T.axis`, `I`; `builtin` for Python's own.
  std::string_view name;
  std::string_view parameters;  ///< As a signature of Python: `extent: ExprLike, dtype: str = ""`.
  std::string_view result;      ///< What it gives, as Python's annotation.
  ScriptValue (*call)(Lowering& lowering, const Arguments& arguments, const Word& word);
  std::string_view doc = {};
};

/// The word of that name; nullptr when there is none.
const Word* find_word(std::string_view space, std::string_view name);

/// The name here of a word that other generations of the language call differently; empty when
/// there is none.
std::string_view current_name(std::string_view space, std::string_view name);

/// All words, in the order of their tables.
std::vector<const Word*> all_words();

/// What a word or type gives outside of a script: expressions, types, buffers. Throws a ScriptError
/// for what has a meaning in functions only.
ScriptValue call_outside(const ScriptValue& function, std::vector<ScriptValue> positional,
                         std::vector<std::pair<std::string, ScriptValue>> named,
                         Resolver* resolver);

/// The value of a word, of which the script may have said its type: that must be what it has.
ScriptValue of_type(Lowering& lowering, const ScriptValue& value, const ScriptValue& dtype,
                    const Word& word);

/// The names of the parameters of a signature, in order; `*` marks those after it as named only.
std::vector<std::string_view> parameter_names(std::string_view signature);

// The tables, one a file.
std::span<const Word> axis_words();
std::span<const Word> block_words();
std::span<const Word> buffer_words();
std::span<const Word> builtin_words();
std::span<const Word> compat_words();
std::span<const Word> expression_words();
std::span<const Word> intrinsic_words();
std::span<const Word> loop_words();
std::span<const Word> module_words();
std::span<const Word> node_words();
std::span<const Word> statement_words();

}  // namespace loopsmith::parsing
