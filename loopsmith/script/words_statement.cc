// SPDX-License-Identifier: Apache-2.0
// Statements, and scopes that last to the end of the suite.
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

using Opened = ScriptValue::Definition::Opened;

ScriptValue scope_of(std::function<Stmt(Stmt)> wrap) {
  return ScriptValue::definition(
      [wrap = std::move(wrap)](const std::string&) { return Opened{{ScriptValue()}, wrap}; }, "");
}

ScriptValue func_attr(Lowering& lowering, const Arguments& args, const Word&) {
  Lowering::Function& func = lowering.function("T.func_attr");
  for (const auto& [key, value] : lowering.attrs(args[0], "T.func_attr")) {
    lowering.require_here(!func.attrs.contains(key), "given_once", hint("give each once"),
                          "T.func_attr: {} is given twice", key);
    lowering.require_here(key != "global_symbol" || !func.is_private, "private_has_no_name",
                          hint("leave out private=True, or the name"),
                          "T.func_attr: a private function has no global_symbol");
    func.attrs = func.attrs.with(key, value);
  }
  return {};
}

ScriptValue evaluate(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(make(Evaluate{.value = lowering.expr(args[0])}));
}

ScriptValue let_statement(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue& type = args[1];
  const ScriptValue existing = lowering.named(args[2]);
  DataType like = void_type;
  if (const auto* scalar = type.as<DataType>()) like = *scalar;
  Expr value = lowering.expr(args[0], like);
  Var parts;
  parts.dtype = value.dtype();
  if (const auto* scalar = type.as<DataType>()) {
    parts.dtype = *scalar;
    if (!scalar->is_handle()) value = cast(*scalar, value);
  } else if (const auto pointer = type.node_as<PointerType>()) {
    parts.pointer = pointer;
    parts.dtype = handle_type;
  } else if (const auto* definition = type.as_shared<ScriptValue::Definition>()) {
    const auto variable = definition->open("v").value[0].node_as<Var>();
    lowering.require_here(variable.defined(), "annotation_is_type", hint("give a type"),
                          "T.LetStmt: {} is no type", lowering.describe(type));
    parts = *variable;
  }
  const Ptr<Var> known = existing.node_as<Var>();
  return ScriptValue::definition(
      [parts, value, known, span = current_span](const std::string& name) {
        const SpanScope here(span);
        Var copy = parts;
        copy.name = name;
        const Ptr<Var> variable = known ? known : make(std::move(copy));
        return Opened{
            {ScriptValue::node(variable)}, [value, variable](Stmt body) -> Stmt {
              return make(LetStmt{.value = value, .var = variable, .body = std::move(body)});
            }};
      },
      "v");
}

/// `T.let(x, v)` around a suite; `T.let(x, v, body)` an expression.
ScriptValue let(Lowering& lowering, const Arguments& args, const Word&) {
  const Ptr<Var> variable = lowering.named(args[0]).node_as<Var>();
  lowering.require_here(variable.defined(), "let_has_variable", hint("declare it: x = T.int32()"),
                        "T.let: {} is no variable", lowering.describe(args[0]));
  const Expr value = lowering.expr(args[1], variable->dtype);
  if (!args[2].is_none()) {
    return ScriptValue::node(
        make(Let{.value = value, .var = variable, .body = lowering.expr(args[2])}));
  }
  return scope_of([value, variable](Stmt body) -> Stmt {
    return make(LetStmt{.value = value, .var = variable, .body = std::move(body)});
  });
}

ScriptValue assert_scope(Lowering& lowering, const Arguments& args, const Word&) {
  const Expr condition = lowering.expr(args[0]);
  const Expr message = lowering.expr(args[1]);
  return scope_of([condition, message](Stmt body) -> Stmt {
    return make(AssertStmt{.condition = condition, .message = message, .body = std::move(body)});
  });
}

ScriptValue attr(Lowering& lowering, const Arguments& args, const Word&) {
  lowering.function("T.attr");
  const Ref node = lowering.attribute_value(args[0]);
  const std::string key = lowering.text(args[1], "T.attr");
  lowering.require_here(
      key != "realize_scope", "scope_is_of_realize",
      hint("leave it out, and give the scope to T.realize as its second argument"),
      "T.attr: T.realize says itself in which scope its memory is");
  const Expr value = lowering.expr(args[2]);
  return scope_of([node, key, value](Stmt body) -> Stmt {
    return make(AttrStmt{.node = node, .attr_key = key, .value = value, .body = std::move(body)});
  });
}

ScriptValue env_thread(Lowering& lowering, const Arguments& args, const Word&) {
  Lowering::Function& func = lowering.function("T.env_thread");
  const std::string tag = lowering.text(args[0], "T.env_thread");
  const DataType type = args[1].is_none() ? i32 : lowering.data_type(args[1], "T.env_thread");
  return ScriptValue::definition(
      [tag, type, &func](const std::string& name) {
        const Ptr<Var> variable = var(name, type);
        func.threads.emplace_back(variable, tag);
        return Opened{{ScriptValue::node(variable)}};
      },
      "thread");
}

ScriptValue launch_thread(Lowering& lowering, const Arguments& args, const Word&) {
  Lowering::Function& func = lowering.function("T.launch_thread");
  const ScriptValue given = lowering.named(args[0]);
  std::string tag;
  Ptr<Var> known = given.node_as<Var>();
  if (known) {
    const auto thread = std::ranges::find_if(
        func.threads, [&](const auto& pair) { return pair.first.same_as(known); });
    lowering.require_here(thread != func.threads.end(), "thread_is_declared",
                          hint("write bx = T.env_thread(\"blockIdx.x\")"),
                          "T.launch_thread: {} is no thread", known->name);
    tag = thread->second;
  } else {
    tag = lowering.text(given, "T.launch_thread");
  }
  const Expr extent = lowering.expr(args[1], known ? known->dtype : void_type);
  if (known) {
    for (const auto& [variable, before] : func.thread_extents) {
      lowering.require_here(variable != known.get() || structural_equal(before, extent),
                            "thread_has_one_extent", hint("launch it with the same extent"),
                            "T.launch_thread: {} is launched with extents {} and {}", known->name,
                            before, extent);
    }
    func.thread_extents.emplace_back(known.get(), extent);
  }
  return ScriptValue::definition(
      [tag, known, extent, span = current_span](const std::string& name) {
        const SpanScope here(span);
        const Ptr<Var> variable = known ? known : var(name, extent.dtype());
        const Ptr<IterVar> axis = make(IterVar{.dom = range(zero_of(extent.dtype()), extent),
                                               .var = variable,
                                               .iter_type = IterType::thread_index,
                                               .thread_tag = tag});
        const bool is_virtual = thread_axis_of(tag) == ThreadAxis::virtual_thread;
        return Opened{
            {ScriptValue::node(variable)}, [axis, extent, is_virtual](Stmt body) -> Stmt {
              return make(AttrStmt{.node = axis,
                                   .attr_key = is_virtual ? "virtual_thread" : "thread_extent",
                                   .value = extent,
                                   .body = std::move(body)});
            }};
      },
      "thread");
}

ScriptValue buffer_store(Lowering& lowering, const Arguments& args, const Word&) {
  const auto buffer = lowering.named(args[0]).node_as<Buffer>();
  lowering.require_here(buffer.defined(), "store_is_to_buffer", hint("give a buffer"),
                        "T.buffer_store: {} is no buffer", lowering.describe(args[0]));
  lowering.store({buffer, lowering.items_or_one(args[2]), current_span}, args[1],
                 args[3].is_none() ? Expr() : lowering.expr(args[3]));
  return {};
}

ScriptValue prefetch(Lowering& lowering, const Arguments& args, const Word& word) {
  // A buffer with a list of ranges, as the node has them.
  if (args.rest().size() == 2) {
    if (const auto buffer = lowering.named(args.rest()[0]).node_as<Buffer>()) {
      std::vector<Ptr<Range>> bounds;
      for (const ScriptValue& bound : lowering.items(args.rest()[1], "T.prefetch")) {
        bounds.push_back(lowering.interval(bound, 0, false));
      }
      if (bounds.empty()) {
        for (const Expr& extent : buffer->shape) {
          bounds.push_back(range(zero_of(extent.dtype()), extent));
        }
      }
      return ScriptValue::node(make(Prefetch{.buffer = buffer, .bounds = std::move(bounds)}));
    }
  }
  // The intrinsic of four arguments has the same name as the statement.
  if (args.rest().size() != 1) {
    std::vector<Expr> values;
    for (const ScriptValue& value : args.rest()) values.push_back(lowering.expr(value));
    (void)word;
    return ScriptValue::node(call(op("prefetch"), std::move(values)));
  }
  const Ptr<BufferRegion> region = lowering.region(args.rest()[0]);
  return ScriptValue::node(make(Prefetch{.buffer = region->buffer, .bounds = region->region}));
}

ScriptValue meta_var(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::Data(
      std::make_shared<const ScriptValue::Meta>(ScriptValue::Meta{{lowering.named(args[0])}}));
}

ScriptValue variable(Lowering& lowering, const Arguments& args, const Word& word) {
  const ScriptValue type = args[0].is_none() ? ScriptValue::text("int32") : args[0];
  (void)word;
  return lowering.call(ScriptValue::Data(lowering.data_type(type, "T.var")), {}, {});
}

ScriptValue size_variable(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = args[0].is_none() ? i32 : lowering.data_type(args[0], "T.size_var");
  return lowering.call(ScriptValue::Data(type), {}, {{"is_size_var", ScriptValue::truth(true)}});
}

template <Frame::Kind kind>
ScriptValue branch(Lowering& lowering, const Arguments& args, const Word& word) {
  lowering.function(word.name);
  auto frame = std::make_shared<Frame>();
  frame->kind = kind;
  if constexpr (kind == Frame::Kind::branch || kind == Frame::Kind::loop_while) {
    frame->condition = lowering.expr(args[0]);
  } else {
    (void)args;
  }
  return ScriptValue::Data(std::move(frame));
}

}  // namespace

std::span<const Word> statement_words() {
  static constexpr Word words[] = {
      {"T", "func_attr", "attrs: dict[str, Any]", "None", func_attr,
       "The attributes of the function."},
      {"T", "evaluate", "value: ExprLike", "None", evaluate, "A value, for its effect."},
      {"T", "LetStmt", "value: ExprLike, type_annotation: Any = None, *, var: Var | None = None",
       "Any", let_statement, "A name for a value."},
      {"T", "let", "var: Var, value: ExprLike, body: ExprLike | None = None", "Any", let,
       "A variable that stands for a value."},
      {"T", "Assert", "condition: ExprLike, message: str", "ContextManager[None]", assert_scope,
       "Stops unless the condition holds."},
      {"T", "attr", "node: Any, key: str, value: ExprLike", "ContextManager[None]", attr,
       "Says something about a node, to the end of the scope."},
      {"T", "env_thread", "thread_tag: str, dtype: str = \"int32\"", "Any", env_thread,
       "A thread that launch_thread starts."},
      {"T", "launch_thread", "thread: Any, extent: ExprLike", "Any", launch_thread,
       "Starts threads for the rest of the scope."},
      {"T", "buffer_store",
       "buffer: Buffer, value: ExprLike, indices: Sequence[Any], predicate: ExprLike | None = None",
       "None", buffer_store, "The same as buffer[indices] = value."},
      {"T", "prefetch", "*args: Any", "Any", prefetch, "A hint that a region will be read soon."},
      {"T", "meta_var", "value: Any", "Any", meta_var, "A name that leaves no trace."},
      {"T", "var", "dtype: str = \"int32\"", "Var", variable, "A new variable."},
      {"T", "size_var", "dtype: str = \"int32\"", "Var", size_variable,
       "A new variable for a size."},
      {"T", "If", "condition: ExprLike", "ContextManager[None]", branch<Frame::Kind::branch>,
       "A branch, around T.Then and T.Else."},
      {"T", "Then", "", "ContextManager[None]", branch<Frame::Kind::then>,
       "What is done where the condition of T.If holds."},
      {"T", "Else", "", "ContextManager[None]", branch<Frame::Kind::else_body>,
       "What is done where the condition of T.If does not hold."},
      {"T", "While", "condition: ExprLike", "ContextManager[None]", branch<Frame::Kind::loop_while>,
       "Runs while the condition holds."},
  };
  return words;
}

std::span<const Word> module_words() {
  static constexpr Word words[] = {
      {"I", "module_attrs", "attrs: dict[str, Any]", "None",
       [](Lowering& lowering, const Arguments& args, const Word&) -> ScriptValue {
         Attrs* attrs = lowering.module_attrs();
         lowering.require_here(attrs != nullptr, "word_is_in_module",
                               hint("use it in an @I.ir_module"),
                               "I.module_attrs is used outside of a module");
         for (const auto& [key, value] : lowering.attrs(args[0], "I.module_attrs")) {
           *attrs = attrs->with(key, value);
         }
         return {};
       },
       "The attributes of the module."},
      {"I", "module_set_attr", "key: str, value: Any, allow_override: bool = False", "None",
       [](Lowering& lowering, const Arguments& args, const Word&) -> ScriptValue {
         Attrs* attrs = lowering.module_attrs();
         lowering.require_here(attrs != nullptr, "word_is_in_module",
                               hint("use it in an @I.ir_module"),
                               "I.module_set_attr is used outside of a module");
         const std::string key = lowering.text(args[0], "I.module_set_attr");
         const bool overrides = args.has(2) && lowering.truth(args[2], "allow_override");
         lowering.require_here(overrides || !attrs->contains(key), "given_once",
                               hint("say allow_override=True"),
                               "I.module_set_attr: {} is given twice", key);
         *attrs = attrs->with(key, lowering.attribute_value(args[1]));
         return {};
       },
       "One attribute of the module."},
      {"I", "module_get_attr", "key: str", "Any",
       [](Lowering& lowering, const Arguments& args, const Word&) -> ScriptValue {
         const Attrs* attrs = lowering.module_attrs();
         lowering.require_here(attrs != nullptr, "word_is_in_module",
                               hint("use it in an @I.ir_module"),
                               "I.module_get_attr is used outside of a module");
         const Ref value = attrs->get(lowering.text(args[0], "I.module_get_attr"));
         return value.defined() ? ScriptValue::node(value) : ScriptValue();
       },
       "An attribute of the module; None when it has none."},
  };
  return words;
}

}  // namespace loopsmith::parsing
