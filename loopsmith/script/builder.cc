// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/builder.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

thread_local ScriptBuilder* current_builder = nullptr;

/// Names of definitions, by identity; of buffers by that of their pointers, too, which they keep.
struct Names {
  std::unordered_map<Ref, std::string, RefHash, RefEqual> of_nodes, of_pointers;

  const std::string* find(const Ref& definition) const {
    const auto found = of_nodes.find(definition);
    if (found != of_nodes.end()) return &found->second;
    const auto* buffer = definition.as<Buffer>();
    if (!buffer) return nullptr;
    const auto by_pointer = of_pointers.find(buffer->data);
    return by_pointer == of_pointers.end() ? nullptr : &by_pointer->second;
  }
};

template <class T>
Ref with_name(const T& definition, const std::string& name) {
  T copy = definition;
  copy.name = name;
  return make(std::move(copy));
}

Ref renamed(const Ref& definition, const Names& names) {
  const std::string* name = names.find(definition);
  if (!name) return definition;
  if (const auto* buffer = definition.as<Buffer>()) return with_name(*buffer, *name);
  return with_name(*definition.as<Var>(), *name);
}

}  // namespace

struct ScriptBuilder::State {
  /// What a frame changes while it is open.
  struct Open {
    std::shared_ptr<Frame> frame;
    std::vector<Ptr<Var>> variables;
    std::vector<Ptr<Var>> loops_around;
    std::unique_ptr<IfThenElse> branch;
    IfThenElse* outer_branch = nullptr;
    std::unique_ptr<Lowering::Function> function;
    Lowering::Function* outer_function = nullptr;
    std::unique_ptr<Lowering::Module> module;
  };

  explicit State(Resolver* resolver) : options{.resolver = resolver}, lowering(tree, options) {
    lowering.is_building_ = true;
    lowering.func_ = &function;
    lowering.blocks_.push_back(&root);
    push();
  }

  void push() { lowering.bodies_.push_back({&suite, {}, {}}); }
  Stmt pop() {
    auto items = std::move(lowering.bodies_.back().items);
    lowering.bodies_.pop_back();
    return Lowering::joined(std::move(items));
  }
  /// Takes the names that were given; definitions elsewhere stay as they are.
  template <class T>
  T with_names(const T& root_node) {
    if (names.of_nodes.empty()) return root_node;
    Rewriter rewrite;
    rewrite.on_definition([&](const Ref& definition) { return renamed(definition, names); });
    return rewrite(root_node);
  }

  Lowering::Module& module(std::string_view word) {
    lowering.require_here(lowering.module_ != nullptr, "word_is_in_module",
                          hint("use it in a `with I.ir_module():`"),
                          "{} is used outside of a module", word);
    return *lowering.module_;
  }

  SyntaxTree tree;
  ParseOptions options;
  Suite suite;
  Lowering lowering;
  Lowering::Function function;  ///< Around statements that are in no function.
  BlockState root{.name = "root", .is_root = true};
  std::vector<Open> open;
  Names names;
  Ref made;
  Lowering* outer_reader = nullptr;
  ScriptBuilder* outer_builder = nullptr;
};

ScriptBuilder::ScriptBuilder(Resolver* resolver) : state_(std::make_unique<State>(resolver)) {}
ScriptBuilder::~ScriptBuilder() = default;

void ScriptBuilder::open() {
  state_->outer_reader = Lowering::set_waiting(&state_->lowering);
  state_->outer_builder = std::exchange(current_builder, this);
}

void ScriptBuilder::close() {
  Lowering::set_waiting(state_->outer_reader);
  current_builder = state_->outer_builder;
}

bool ScriptBuilder::is_open() {
  return current_builder != nullptr;
}

ScriptBuilder& ScriptBuilder::current(std::string_view word) {
  require(current_builder != nullptr, ErrorKind::script, "builder_is_open",
          hint("write it inside `with IRBuilder():`"), Span{}, "{} is used outside of a builder",
          word);
  return *current_builder;
}

ScriptValue ScriptBuilder::enter(const std::shared_ptr<Frame>& frame) {
  Lowering& lowering = state_->lowering;
  State::Open open{.frame = frame};
  ScriptValue value;
  switch (frame->kind) {
    case Frame::Kind::loops: {
      std::vector<ScriptValue> all;
      for (const LoopHeader& loop : frame->loops) {
        open.variables.push_back(var("v", loop.extent.dtype()));
        lowering.loops_.insert_or_assign(open.variables.back().get(), loop);
        lowering.open_loops_.push_back(open.variables.back());
        all.push_back(ScriptValue::node(open.variables.back()));
      }
      value = all.size() == 1 ? all[0] : ScriptValue::list(std::move(all), true);
      break;
    }
    case Frame::Kind::block:
      lowering.blocks_.push_back(&frame->block);
      open.loops_around = std::exchange(lowering.open_loops_, {});
      break;
    case Frame::Kind::branch:
      open.branch = std::make_unique<IfThenElse>();
      open.branch->condition = frame->condition;
      open.outer_branch = std::exchange(lowering.branch_, open.branch.get());
      break;
    case Frame::Kind::then:
    case Frame::Kind::else_body:
      lowering.require_here(lowering.branch_ != nullptr, "branch_has_condition",
                            hint("put it into `with T.If(...):`"),
                            "T.Then or T.Else stands outside of T.If");
      open.outer_branch = std::exchange(lowering.branch_, nullptr);
      break;
    case Frame::Kind::definition: value = frame->value[0]; break;
    case Frame::Kind::function:
      open.function = std::make_unique<Lowering::Function>();
      open.function->is_private = frame->is_private;
      open.outer_function = std::exchange(lowering.func_, open.function.get());
      lowering.blocks_.push_back(&frame->block);
      break;
    case Frame::Kind::module:
      open.module = std::make_unique<Lowering::Module>();
      lowering.module_ = open.module.get();
      break;
    case Frame::Kind::init:
    case Frame::Kind::loop_while: break;
  }
  state_->open.push_back(std::move(open));
  state_->push();
  return value;
}

void ScriptBuilder::leave(const std::shared_ptr<Frame>& frame, bool has_failed) {
  Lowering& lowering = state_->lowering;
  lowering.require_here(!state_->open.empty() && state_->open.back().frame == frame,
                        "frame_is_innermost", hint("leave frames in the order of `with`"),
                        "a frame is left that is not the innermost");
  State::Open open = std::move(state_->open.back());
  state_->open.pop_back();
  Stmt body = state_->pop();
  switch (frame->kind) {
    case Frame::Kind::loops:
      lowering.open_loops_.resize(lowering.open_loops_.size() - open.variables.size());
      if (!has_failed) lowering.emit(lowering.nest(frame->loops, open.variables, std::move(body)));
      return;
    case Frame::Kind::block:
      lowering.blocks_.pop_back();
      lowering.open_loops_ = std::move(open.loops_around);
      if (!has_failed) lowering.emit(lowering.finished(frame->block, std::move(body)));
      return;
    case Frame::Kind::init:
      if (!has_failed) lowering.block("T.init").init = std::move(body);
      return;
    case Frame::Kind::branch:
      lowering.branch_ = open.outer_branch;
      if (has_failed) return;
      lowering.require_here(open.branch->then_case.defined(), "branch_has_then",
                            hint("write `with T.Then():` inside"), "T.If has no T.Then");
      return lowering.emit(make(std::move(*open.branch)));
    case Frame::Kind::then:
    case Frame::Kind::else_body:
      lowering.branch_ = open.outer_branch;
      (frame->kind == Frame::Kind::then ? open.outer_branch->then_case
                                        : open.outer_branch->else_case) = std::move(body);
      return;
    case Frame::Kind::loop_while:
      if (!has_failed) {
        lowering.emit(make(While{.condition = frame->condition, .body = std::move(body)}));
      }
      return;
    case Frame::Kind::definition:
      if (!has_failed) lowering.emit(frame->wrap(std::move(body)));
      return;
    case Frame::Kind::function: {
      lowering.blocks_.pop_back();
      lowering.func_ = open.outer_function;
      if (has_failed) return;
      const Ptr<PrimFunc> func = state_->with_names(
          lowering.finished(*open.function, frame->block, std::move(body), true));
      if (!lowering.module_) {
        state_->made = func;
        return;
      }
      return define_function(open.function->name, func);
    }
    case Frame::Kind::module:
      lowering.module_ = nullptr;
      if (has_failed) return;
      for (std::size_t i = 0; i < open.module->names.size(); ++i) {
        lowering.require_here(open.module->functions[i].defined(), "declared_is_defined",
                              hint("build it in a `with T.prim_func():`, or call I.def_function"),
                              "function {} is declared, but not defined",
                              open.module->names[i]->name_hint);
      }
      state_->made = make(IRModule{.names = open.module->names,
                                   .functions = open.module->functions,
                                   .attrs = open.module->attrs});
      return;
  }
}

ScriptValue ScriptBuilder::function_frame(bool is_private) {
  auto frame = std::make_shared<Frame>();
  frame->kind = Frame::Kind::function;
  frame->is_private = is_private;
  frame->block = {.name = "root", .is_root = true};
  return ScriptValue::Data(std::move(frame));
}

ScriptValue ScriptBuilder::module_frame() {
  auto frame = std::make_shared<Frame>();
  frame->kind = Frame::Kind::module;
  return ScriptValue::Data(std::move(frame));
}

ScriptValue ScriptBuilder::argument(const std::string& name, const ScriptValue& type) {
  Lowering& lowering = state_->lowering;
  Lowering::Function& func = lowering.function("T.arg");
  if (const auto written = type.node_as<Buffer>()) {
    func.params.push_back(var(name + "_handle", handle_type));
    func.buffer_map.push_back(written);
    this->name(name, written);
    return type;
  }
  const auto variable = type.node_as<Var>();
  lowering.require_here(variable.defined(), "parameter_has_type",
                        hint("write T.arg(\"A\", T.Buffer((128,), \"float32\")), or T.handle()"),
                        "parameter {}: {} is no type", name, lowering.describe(type));
  func.params.push_back(variable);
  func.buffer_map.push_back(nullptr);
  this->name(name, variable);
  return type;
}

ScriptValue ScriptBuilder::declare_function(const std::string& name,
                                            const Ptr<PrimFunc>& signature) {
  Lowering::Module& module = state_->module("I.decl_function");
  state_->lowering.require_here(!module.place_of(name), "declared_once",
                                hint("give it another name"), "function {} is declared twice",
                                name);
  return ScriptValue::node(module.declare(name, signature->ret_type));
}

void ScriptBuilder::define_function(const std::string& name, const Ptr<PrimFunc>& func) {
  Lowering::Module& module = state_->module("I.def_function");
  if (!module.place_of(name)) module.declare(name, func->ret_type);
  Ptr<PrimFunc>& place = module.functions[*module.place_of(name)];
  state_->lowering.require_here(!place.defined(), "defined_once", hint("give it another name"),
                                "function {} is defined twice", name);
  place = func;
}

void ScriptBuilder::set_function_name(const std::string& name) {
  state_->lowering.function("T.func_name").name = name;
}

void ScriptBuilder::set_return_type(DataType type) {
  state_->lowering.function("T.func_ret").ret_type = type;
}

void ScriptBuilder::name(const std::string& name, const Ref& definition) {
  if (!definition.is<Var>() && !definition.is<Buffer>()) return;
  state_->names.of_nodes[definition] = name;
  const auto* buffer = definition.as<Buffer>();
  if (buffer) state_->names.of_pointers.try_emplace(buffer->data, name);
}

Ref ScriptBuilder::result() {
  Lowering& lowering = state_->lowering;
  lowering.require_here(state_->open.empty(), "scopes_are_closed",
                        hint("call get() after the last `with`"), "a frame is still open");
  if (state_->made.defined()) return state_->made;
  auto items = std::move(lowering.bodies_.back().items);
  lowering.bodies_.back().items.clear();
  return state_->with_names(Lowering::joined(std::move(items)));
}

}  // namespace loopsmith::parsing
