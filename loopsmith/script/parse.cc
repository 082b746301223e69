// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/parse.h"

#include "loopsmith/script/lowering.h"

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

Ref parse(std::string_view text, const ParseOptions& options) {
  std::string_view quoted = options.source_text;
  if (quoted.empty() && options.line == 1) quoted = text;
  const std::uint32_t source = source_id(options.name, quoted);
  const SpanScope no_span{Span{}};
  const parsing::SyntaxTree tree = parsing::syntax_of(text, source, options.line);
  return parsing::Lowering(tree, options).whole();
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

}  // namespace loopsmith
