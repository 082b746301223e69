// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/schedule.h"

#include <utility>

#include "loopsmith/driver/schedule_values.h"
#include "loopsmith/driver/scheduled_by_rule.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"

namespace loopsmith::tir {
namespace {

const PrimitiveBase& primitive_named(std::string_view name) {
  const PrimitiveBase* found = find_primitive(name);
  require(found != nullptr, ErrorKind::schedule, "primitive_exists",
          hint("docs/primitives.md lists them"), {}, "there is no schedule primitive '{}'", name);
  return *found;
}

/// Arguments as primitives take them: a null one is the default.
std::vector<const Argument*> given_of(const std::vector<Argument>& arguments) {
  std::vector<const Argument*> given;
  for (const Argument& one : arguments) given.push_back(one.is_none() ? nullptr : &one);
  return given;
}

/// As many as the primitive has parameters; those that are left out are null.
std::vector<const Argument*> given_for(const PrimitiveBase& primitive,
                                       const std::vector<Argument>& arguments) {
  std::vector<const Argument*> given = given_of(arguments);
  const std::size_t count = primitive.parameters().size();
  require(given.size() <= count, ErrorKind::type_mismatch, "arguments_are_few",
          hint("leave out the others"), {}, "{}: takes {} arguments, {} were given", primitive.name,
          count, given.size());
  given.resize(count, nullptr);
  return given;
}

}  // namespace

HandleArgument::HandleArgument(const char* name) : HandleArgument(Argument(name)) {}
HandleArgument::HandleArgument(const std::string& name) : HandleArgument(Argument(name)) {}
HandleArgument::HandleArgument(Argument value)
    : value_(std::make_shared<const Argument>(std::move(value))) {}

LoopArgument::LoopArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
BlockArgument::BlockArgument(BlockRV block) : HandleArgument(Argument(block)) {}
BlockOrLoopArgument::BlockOrLoopArgument(BlockRV block) : HandleArgument(Argument(block)) {}
BlockOrLoopArgument::BlockOrLoopArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
LoopOrBlocksArgument::LoopOrBlocksArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
LoopOrBlocksArgument::LoopOrBlocksArgument(const std::vector<BlockArgument>& blocks)
    : HandleArgument(value_of(blocks)) {}
LoopOrBlocksArgument::LoopOrBlocksArgument(std::initializer_list<BlockArgument> blocks)
    : LoopOrBlocksArgument(std::vector<BlockArgument>(blocks)) {}
LoopValueArgument::LoopValueArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
LoopValueArgument::LoopValueArgument(int number) : HandleArgument(Argument(number)) {}
LoopValueArgument::LoopValueArgument(std::int64_t number) : HandleArgument(Argument(number)) {}
LoopValueArgument::LoopValueArgument(const Expr& of_sizes)
    : HandleArgument(Argument(Ref(of_sizes))) {}
IndexMapArgument::IndexMapArgument(const Ptr<IndexMap>& map) : HandleArgument(Argument(Ref(map))) {}
IntrinArgument::IntrinArgument(const char* name) : IntrinArgument(std::string(name)) {}
IntrinArgument::IntrinArgument(const std::string& name)
    : HandleArgument(loopsmith::to_argument(TensorIntrinSelector(name))) {}

template <class T>
void Handles<T>::require_count(std::size_t wanted) const {
  require(this->size() == wanted, "handles_are_that_many", hint("take as many as there are"),
          "take: {} handles, {} were asked for", this->size(), wanted);
}
template struct Handles<LoopRV>;
template struct Handles<BlockRV>;
template struct Handles<ExprRV>;

Schedule::Schedule(const Ptr<PrimFunc>& func, std::int64_t seed)
    : engine_(std::make_unique<loopsmith::Schedule>(func, seed)) {}
Schedule::Schedule(const Ptr<IRModule>& module, std::int64_t seed)
    : engine_(std::make_unique<loopsmith::Schedule>(module, seed)) {}
Schedule::Schedule(std::unique_ptr<loopsmith::Schedule> engine) : engine_(std::move(engine)) {}
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

Ptr<IRModule> Schedule::mod() const {
  return recorded_mod(*engine_);
}
Ptr<PrimFunc> Schedule::func() const {
  return recorded_func(*engine_);
}
void Schedule::work_on(std::string_view function) {
  engine_->work_on(function);
}
Schedule Schedule::copy() {
  return Schedule(std::make_unique<loopsmith::Schedule>(engine_->copy()));
}
void Schedule::undo(std::size_t steps) {
  engine_->undo(steps);
}

bool Schedule::can_apply(std::string_view primitive, const std::vector<Argument>& arguments) const {
  const PrimitiveBase& found = primitive_named(primitive);
  return !found.refuse(*engine_, given_for(found, arguments));
}

std::string Schedule::trace() const {
  return engine_->trace().text();
}
std::string Schedule::trace_json() const {
  return engine_->trace().as_json();
}
void Schedule::apply_json(std::string_view json) {
  Trace::apply_json(json, *engine_, all_primitives());
}

Argument Schedule::call(std::string_view primitive, std::vector<Argument> arguments) {
  return primitive_named(primitive).call(*engine_, given_of(arguments));
}

void Schedule::require_no_obligations(std::string_view operation) const {
  loopsmith::require_no_obligations(*engine_, operation);
}

Schedule default_schedule(const Ptr<PrimFunc>& func, const Target& target, bool leaves_holes,
                          const BuildOptions& options) {
  return Schedule(std::make_unique<loopsmith::Schedule>(
      scheduled_by_rule(func, target, leaves_holes, options)));
}

}  // namespace loopsmith::tir

namespace loopsmith {

Module build(const tir::Schedule& schedule, const Target& target, const BuildOptions& options) {
  schedule.require_no_obligations("build");
  IRModule module = *schedule.mod();
  for (Ptr<PrimFunc>& func : module.functions) func = with_attr(func, "tir.is_scheduled", Expr(1));
  if (module.functions.size() == 1) return build(module.functions[0], target, options);
  return build(make(std::move(module)), target, options);
}

}  // namespace loopsmith
