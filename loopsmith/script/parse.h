// SPDX-License-Identifier: Apache-2.0
// The script language, read: `parse(text)` is what `script(node)` was printed from.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/script/value.h"

namespace loopsmith {

/// Says what names mean that a script uses and does not define, and computes what is not of the
/// language.
class Resolver {
 public:
  /// Script names that a piece of source uses, with their values.
  using Locals = std::vector<std::pair<std::string, ScriptValue>>;

  virtual ~Resolver() = default;
  /// The value of a name; nullopt when it has none.
  virtual std::optional<ScriptValue> name(std::string_view name) = 0;
  /// The value of `source`, an expression of Python, in which `locals` have these values.
  virtual ScriptValue evaluate(std::string_view source, const Locals& locals) = 0;
};

/// Resolves names from a table, and nothing else.
class NameTable : public Resolver {
 public:
  NameTable() = default;
  NameTable(std::initializer_list<std::pair<const std::string, ScriptValue>> values)
      : values_(values) {}

  std::optional<ScriptValue> name(std::string_view name) override;
  ScriptValue evaluate(std::string_view source, const Locals& locals) override;

 private:
  std::unordered_map<std::string, ScriptValue> values_;
};

/// How a script is read.
struct ParseOptions {
  std::string_view name = "<script>";  ///< Of the source, in errors and spans: a path.
  std::uint32_t line = 1;              ///< Of the first line of the text, in the source.
  /// What errors quote; empty: the text itself if it starts at line 1, else the file `name`.
  std::string_view source_text = {};
  bool is_private = false;        ///< Functions get no `global_symbol`.
  bool adds_root = true;          ///< A block `root` around all, where there are blocks.
  bool check_well_formed = true;  ///< Refuse what `verify_well_formed` refuses.
  Resolver* resolver = nullptr;   ///< Null: no names but those of the language.
};

/// A function or a module: what the text defines, or the last of it when it defines more. Throws a
/// ScriptError with the place.
Ref parse(std::string_view text, const ParseOptions& options = {});

/// All that the text defines, by name and in order: at least one.
std::vector<std::pair<std::string, Ref>> parse_all(std::string_view text,
                                                   const ParseOptions& options = {});

/// The same, where it must be a function, or a module.
Ptr<PrimFunc> parse_function(std::string_view text, const ParseOptions& options = {});
Ptr<IRModule> parse_module(std::string_view text, const ParseOptions& options = {});

/// The macro that the text defines. Its free names are those of `resolver`, or of the place where
/// it is used, unless it is hygienic.
std::shared_ptr<const parsing::MacroDefinition> parse_macro(std::string_view text,
                                                            const ParseOptions& options,
                                                            std::shared_ptr<Resolver> resolver,
                                                            bool is_hygienic = true);
/// The macro as a method of a value, which is its first argument.
std::shared_ptr<const parsing::MacroDefinition> method_of(
    const std::shared_ptr<const parsing::MacroDefinition>& macro, ScriptValue self);

}  // namespace loopsmith
