// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/parse.h"

#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

std::optional<ScriptValue> NameTable::name(std::string_view name) {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

ScriptValue NameTable::evaluate(std::string_view source, const Locals&) {
  fail(ErrorKind::script, "resolver_is_given", hint("write it in the language"), current_span,
       "{} is not of the script language", source);
}

namespace {

/// The id of the source, with what errors quote.
std::uint32_t source_of(std::string_view text, const ParseOptions& options) {
  std::string_view quoted = options.source_text;
  if (quoted.empty() && options.line == 1) quoted = text;
  return source_id(options.name, quoted);
}

}  // namespace

std::vector<std::pair<std::string, Ref>> parse_all(std::string_view text,
                                                   const ParseOptions& options) {
  const std::uint32_t source = source_of(text, options);
  const SpanScope no_span{Span{}};
  const parsing::SyntaxTree tree = parsing::syntax_of(text, source, options.line);
  return parsing::Lowering(tree, options).definitions();
}

Ref parse(std::string_view text, const ParseOptions& options) {
  return parse_all(text, options).back().second;
}

Ptr<PrimFunc> parse_function(std::string_view text, const ParseOptions& options) {
  auto func = Ptr<PrimFunc>::from(parse(text, options));
  require(func.defined(), ErrorKind::script, "script_is_function",
          hint("call parse, which gives modules too"), Span{source_id(options.name), options.line},
          "the script defines a module, not a function");
  return func;
}

Ptr<IRModule> parse_module(std::string_view text, const ParseOptions& options) {
  auto module = Ptr<IRModule>::from(parse(text, options));
  require(module.defined(), ErrorKind::script, "script_is_module",
          hint("call parse, which gives functions too"),
          Span{source_id(options.name), options.line},
          "the script defines a function, not a module");
  return module;
}

std::shared_ptr<const parsing::MacroDefinition> parse_macro(std::string_view text,
                                                            const ParseOptions& options,
                                                            std::shared_ptr<Resolver> resolver,
                                                            bool is_hygienic) {
  const std::uint32_t source = source_of(text, options);
  const SpanScope no_span{Span{}};
  auto macro = std::make_shared<parsing::MacroDefinition>();
  macro->text = text;
  macro->tree = std::make_shared<const parsing::SyntaxTree>(
      parsing::syntax_of(macro->text, source, options.line));
  macro->function = parsing::Lowering(*macro->tree, options).macro();
  macro->resolver = std::move(resolver);
  macro->is_hygienic = is_hygienic;
  return macro;
}

std::shared_ptr<const parsing::MacroDefinition> method_of(
    const std::shared_ptr<const parsing::MacroDefinition>& macro, ScriptValue self) {
  auto method = std::make_shared<parsing::MacroDefinition>();
  // The tree lives in the macro, with the text that it refers to.
  method->tree = std::shared_ptr<const parsing::SyntaxTree>(macro, macro->tree.get());
  method->function = macro->function;
  method->resolver = macro->resolver;
  method->is_hygienic = macro->is_hygienic;
  method->first = macro->first;
  method->first.push_back(std::move(self));
  return method;
}

namespace parsing {

ScriptValue call_outside(const ScriptValue& function, std::vector<ScriptValue> positional,
                         std::vector<std::pair<std::string, ScriptValue>> named,
                         Resolver* resolver) {
  // A helper that a script calls: what it declares belongs to the function that is read.
  if (Lowering* reader = Lowering::waiting()) {
    return reader->call_from_python(function, std::move(positional), std::move(named));
  }
  const SyntaxTree nothing;
  const ParseOptions options{.resolver = resolver};
  Lowering lowering(nothing, options);
  return lowering.named(lowering.call(function, std::move(positional), std::move(named)));
}

}  // namespace parsing
}  // namespace loopsmith
