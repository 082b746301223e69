// SPDX-License-Identifier: Apache-2.0
// Words that scripts of elsewhere use: what they mean here, or why they mean nothing.
#include <utility>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/target.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

using Opened = ScriptValue::Definition::Opened;

ScriptValue int_node(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = lowering.data_type(args[0], "T.IntImm");
  return lowering.call(ScriptValue::Data(type),
                       {ScriptValue::integer(lowering.integer(args[1], "T.IntImm"))}, {});
}

ScriptValue float_node(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = lowering.data_type(args[0], "T.FloatImm");
  lowering.require_here(type.is_float() && type.is_scalar(), "constant_is_float",
                        hint("write T.IntImm for integers"), "T.FloatImm: {} is no floating type",
                        to_string(type));
  return lowering.call(ScriptValue::Data(type), {args[1]}, {});
}

ScriptValue text_node(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(string_imm(lowering.text(args[0], "T.StringImm")));
}

template <bool is_size>
ScriptValue variable_node(Lowering& lowering, const Arguments& args, const Word& word) {
  const std::string name = lowering.text(args[0], word.name);
  const DataType type = args[1].is_none() ? i32 : lowering.data_type(args[1], word.name);
  // Like T.int32(), it is called as what it is assigned to.
  const auto open = [type](const std::string& given) {
    return Opened{{ScriptValue::node(is_size ? size_var(given, type) : var(given, type))}};
  };
  return ScriptValue::Data(
      std::make_shared<const ScriptValue::Definition>(ScriptValue::Definition{open, name}));
}

ScriptValue load_node(Lowering& lowering, const Arguments& args, const Word&) {
  const auto buffer = lowering.named(args[0]).node_as<Buffer>();
  lowering.require_here(buffer.defined(), "load_is_of_buffer", hint("give a buffer"),
                        "T.BufferLoad: {} is no buffer", lowering.describe(args[0]));
  return ScriptValue::node(lowering.load({buffer, lowering.items_or_one(args[1]), current_span}));
}

Ptr<Buffer> in_scope(const Buffer& buffer, const std::string& scope) {
  Buffer copy = buffer;
  copy.data = pointer_var(buffer.data->name, buffer.dtype, scope);
  return make(std::move(copy));
}

ScriptValue pointer_type(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue scope = args.has(1) ? args[1] : ScriptValue::text("global");
  return lowering.call(ScriptValue::Data(handle_type), {args[0], scope}, {});
}

/// Memory for a region that begins at 0 and is all of its buffer: what a declared buffer of its own
/// is here. In another scope than the buffer's, it is that of a buffer which takes its place.
ScriptValue realize(Lowering& lowering, const Arguments& args, const Word&) {
  lowering.function("T.realize");
  const Ptr<BufferRegion> region = lowering.region(args[0]);
  const Buffer& buffer = *region->buffer;
  const std::string scope = args.has(1) ? lowering.text(args[1], "T.realize") : "";
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    const Range& part = *region->region[d];
    lowering.require_here(
        is_const_int(part.min, 0) && structural_equal(part.extent, buffer.shape[d]),
        "realize_is_whole", hint("declare the buffer with the region's shape"),
        "T.realize: dimension {} of {} is realized in part", d, buffer.name);
  }
  const Expr condition = args[2].is_none() ? Expr(true) : lowering.expr(args[2]);
  const bool is_foreign = !scope.empty() && scope != buffer.scope();
  const Ptr<Buffer> whole = is_foreign ? in_scope(buffer, scope) : region->buffer;
  const auto around = [whole, condition, named = region->buffer](Stmt body) -> Stmt {
    if (!whole.same_as(named)) {
      Rewriter rewrite;
      rewrite.replace_buffer(named, whole);
      rewrite.replace_variable(named->data, whole->data);
      body = rewrite(body);
    }
    return make(Allocate{.dtype = whole->dtype,
                         .extents = whole->shape,
                         .condition = condition,
                         .buffer_var = whole->data,
                         .body = make(DeclBuffer{.buffer = whole, .body = std::move(body)})});
  };
  return ScriptValue::Data(std::make_shared<const ScriptValue::Definition>(ScriptValue::Definition{
      [around](const std::string&) { return Opened{{ScriptValue()}, around}; }, ""}));
}

/// The text of a target; of a dict, its `kind` with all others as options.
ScriptValue target(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue given = lowering.named(args[0]);
  lowering.require_here(args[1].is_none(), "target_has_no_host",
                        hint("the host is the machine that builds"), "T.target: a host is given");
  if (const auto* text = given.as<std::string>()) {
    return ScriptValue::text(Target(*text).text());
  }
  std::string kind;
  Target::Options options;
  for (const auto& [key, value] : lowering.attrs(given, "T.target")) {
    const auto* text = value.as<StringImm>();
    const auto* number = value.as<IntImm>();
    lowering.require_here(text || number, "option_is_plain", hint("give a text or an integer"),
                          "T.target: {} is no text and no integer", key);
    (key == "kind" ? kind : options[key]) = text ? text->value : std::to_string(number->value);
  }
  return ScriptValue::text(Target(kind, std::move(options)).text());
}

/// A word that is known, and means nothing in this compiler: `doc` says why.
ScriptValue refused(Lowering&, const Arguments&, const Word& word) {
  fail(ErrorKind::script, "word_has_meaning", hint("see docs/script.md for what can be written"),
       current_span, "{}.{}: {}", word.space, word.name, word.doc);
}

constexpr std::string_view anything = "*args: Any";

}  // namespace

std::string_view current_name(std::string_view space, std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"Bind", "LetStmt"},
      {"sblock", "block"},
      {"sblock_alloc_buffer", "alloc_buffer"},
      {"sblock_attr", "block_attr"},
  };
  if (space == "T") {
    for (const auto& [other, here] : names) {
      if (other == name) return here;
    }
  }
  return {};
}

std::span<const Word> compat_words() {
  static constexpr Word words[] = {
      {"T", "IntImm", "dtype: str, value: int", "Expr", int_node, "An integer constant."},
      {"T", "FloatImm", "dtype: str, value: float | str", "Expr", float_node,
       "A constant of a floating type."},
      {"T", "StringImm", "value: str", "Expr", text_node, "A text."},
      {"T", "Var", "name: str, dtype: str = \"int32\"", "Var", variable_node<false>,
       "A new variable."},
      {"T", "SizeVar", "name: str, dtype: str = \"int32\"", "Var", variable_node<true>,
       "A new variable for a size."},
      {"T", "BufferLoad", "buffer: Buffer, indices: Sequence[ExprLike]", "Expr", load_node,
       "The same as buffer[indices]."},
      {"T", "Ptr", "dtype: str, storage_scope: str = \"global\"", "Any", pointer_type,
       "The same as handle(dtype, storage_scope): the type of a pointer."},
      {"T", "realize", "region: Any, scope: str = \"\", condition: ExprLike | None = None",
       "ContextManager[None]", realize, "Memory of a buffer for the rest of the scope."},
      {"T", "target", "config: str | dict[str, Any], host: Any = None", "str", target,
       "A target as its text, for attributes."},
      {"T", "call_kernel", anything, "Any", refused,
       "kernels of other compilers are not embedded; call a function of C by T.call_extern"},
      {"T", "ProducerLoad", anything, "Any", refused,
       "elements of tensors stand in tensor expressions; load from a buffer"},
      {"T", "Reduce", anything, "Any", refused,
       "reductions stand in tensor expressions; write a block with T.axis.reduce and T.init"},
      {"T", "CommReducer", anything, "Any", refused,
       "it is made of a lambda: T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"},
      {"T", "CallEffectKind", anything, "Any", refused,
       "what a call may do is known of each intrinsic"},
      {"I", "module_global_infos", anything, "None", refused,
       "modules have functions and attributes; use I.module_attrs"},
      {"I", "dummy_global_info", anything, "Any", refused,
       "modules have functions and attributes; use I.module_attrs"},
  };
  return words;
}

}  // namespace loopsmith::parsing
