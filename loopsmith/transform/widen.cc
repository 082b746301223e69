// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/widen.h"

#include <optional>
#include <unordered_set>

#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/clamped_loads.h"
#include "loopsmith/transform/reduction_op.h"
#include "loopsmith/transform/store_of_branches.h"
#include "loopsmith/transform/sure_stores.h"
#include "loopsmith/transform/vector_math.h"

namespace loopsmith {
namespace {

/// Thrown where something has no form for vectors, caught where it is done lane by lane instead.
struct CannotWiden {
  bool whole_loop = false;  ///< Only all of the loop can be.
};

bool is_vector(const Expr& e) {
  return e.dtype().is_vector();
}

bool is_contiguous(const Expr& lanes) {
  const auto* ramp = lanes.as<Ramp>();
  return ramp && is_const_int(ramp->stride, 1);
}

/// True when something reads the buffer's memory.
bool reads(const Ref& reader, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(reader, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && load->buffer->data.same_as(buffer->data));
    return !found;
  });
  return found;
}

/// True when something reads the buffer's memory as that of another buffer.
bool reads_by_other_name(const Ref& reader, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(reader, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found ||
            (load && load->buffer->data.same_as(buffer->data) && !load->buffer.same_as(buffer));
    return !found;
  });
  return found;
}

/// Sets a variable for as long as it lives.
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), outer_(std::exchange(variable, value)) {}
  ~Scoped() { variable_ = std::move(outer_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T outer_;
};

/// Whether any lane of a comparison with a ramp holds, as a scalar; null where that is not known.
Expr any_lane(const Expr& condition) {
  const auto of = [&](const Expr& a, const Expr& b, bool first_lane_for_less,
                      auto&& compare) -> Expr {
    const bool ramp_first = a.is<Ramp>();
    const auto* ramp = ramp_first ? a.as<Ramp>() : b.as<Ramp>();
    const auto* other = ramp_first ? b.as<Broadcast>() : a.as<Broadcast>();
    const std::int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
    if (!ramp || !other || !stride || *stride < 0) return nullptr;
    const bool first = ramp_first == first_lane_for_less;
    const Expr lane =
        first ? ramp->base
              : ramp->base + ramp->stride * int_imm(ramp->base.dtype(), ramp->lanes - 1);
    return ramp_first ? compare(lane, other->value) : compare(other->value, lane);
  };
  if (const auto* n = condition.as<LT>()) return of(n->a, n->b, true, std::less<>());
  if (const auto* n = condition.as<LE>()) return of(n->a, n->b, true, std::less_equal<>());
  if (const auto* n = condition.as<GT>()) return of(n->a, n->b, false, std::greater<>());
  if (const auto* n = condition.as<GE>()) return of(n->a, n->b, false, std::greater_equal<>());
  return nullptr;
}

class Widener {
 public:
  Widener(const For& loop, int lanes, Analyzer& known) : loop_(loop), lanes_(lanes), known_(known) {
    set_rules();
  }
  Stmt run();

 private:
  void set_rules();
  template <class... T>
  void set_binary_rules();

  Expr widen(const Expr& e) { return rewrite_(e); }
  Expr all_lanes(const Expr& e) { return with_lanes(widen(e), lanes_); }
  Expr call(const Call& call);
  Expr choice(const Call& call);
  Expr load(const BufferLoad& load);
  std::vector<Expr> indices_of(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices);
  bool is_safe(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices);

  bool may_alias(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const;
  bool is_stored_by_all(const BufferStore& store);
  template <class Node>
  Expr logical(const Node& node, bool goes_on);
  Stmt store(const BufferStore& store);
  Stmt reduction(const BufferStore& store, const std::vector<Expr>& indices);
  Stmt branch(const IfThenElse& branch);
  Stmt masked(const Expr& condition, const Stmt& then_case, const Stmt& else_case);
  Stmt sequence(const SeqStmt& sequence);
  Stmt let(const LetStmt& let);
  Stmt allocation(const Allocate& allocate);

  /// `rewrite_` of what lies under another mask.
  template <class T>
  T under(const Expr& mask, bool any_known, const T& node) {
    Scoped outer_mask(mask_, mask_.defined() ? mask_ && mask : mask);
    Scoped outer_any(any_known_, any_known);
    Scoped seal(sealed_, true);
    rewrite_.forget();
    T result = rewrite_(node);
    rewrite_.forget();
    return result;
  }

  const For& loop_;
  const int lanes_;
  Analyzer& known_;
  Rewriter rewrite_;
  Substitution lane_values_;  // Variables that are vectors now.
  std::unordered_map<Ref, Ptr<Buffer>, RefHash, RefEqual>
      widened_;                                       // Flat buffers, one cell a lane.
  std::unordered_set<const Object*> widened_memory_;  // Their pointers.
  Expr mask_;  // The lanes that are at work; null: all of them.
  std::optional<std::vector<Ptr<BufferStore>>> sure_stores_;  // Of each iteration, if asked for.
  bool any_known_ = true;   // Some lane is at work, or a condition can be put around to say so.
  bool needs_any_ = false;  // Something relies on it.
  bool sealed_ = false;     // Inside something that cannot be cut up between lanes.
};

template <class... T>
void Widener::set_binary_rules() {
  const auto set = [&]<class Node>(const Node*) {
    rewrite_.on<Node>([this](const Node& node) -> Expr {
      const Expr a = widen(node.a), b = widen(node.b);
      if (a.same_as(node.a) && b.same_as(node.b)) return Expr(&node);
      if constexpr (std::is_same_v<Node, Add>) return add_lanes(a, b);
      if constexpr (std::is_same_v<Node, Sub>) return subtract_lanes(a, b);
      if constexpr (std::is_same_v<Node, Mul>) return multiply_lanes(a, b);
      const int lanes = std::max(a.dtype().lanes, b.dtype().lanes);
      return make(Node{.a = with_lanes(a, lanes), .b = with_lanes(b, lanes)});
    });
  };
  (set(static_cast<const T*>(nullptr)), ...);
}

void Widener::set_rules() {
  rewrite_.enter_statements_anew();  // Loops are made of those that do not go in step.
  lane_values_[loop_.loop_var] =
      make(Ramp{.base = loop_.min, .stride = loop_.step, .lanes = lanes_});
  set_binary_rules<Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE>();
  rewrite_.on<And>([this](const And& node) { return logical(node, true); });
  rewrite_.on<Or>([this](const Or& node) { return logical(node, false); });
  rewrite_.on<Var>([this](const Var& variable) -> Expr {
    const auto value = lane_values_.find(Ref(&variable));
    return value == lane_values_.end() ? Expr(&variable) : value->second;
  });
  rewrite_.on<Cast>([this](const Cast& node) -> Expr {
    const Expr value = widen(node.value);
    return value.same_as(node.value) ? Expr(&node) : cast_lanes(node.dtype, value);
  });
  rewrite_.on<Select>([this](const Select& node) -> Expr {
    const Expr condition = widen(node.condition);
    Expr yes = widen(node.true_value), no = widen(node.false_value);
    if (!is_vector(condition) && !is_vector(yes) && !is_vector(no)) return rewrite_.children(node);
    return make(Select{.condition = condition,
                       .true_value = with_lanes(yes, lanes_),
                       .false_value = with_lanes(no, lanes_)});
  });
  rewrite_.on<Let>([this](const Let& node) -> Expr {
    const Expr value = widen(node.value);
    if (!is_vector(value)) return rewrite_.children(node);
    const Ptr<Var> wide = var(node.var->name, value.dtype());
    lane_values_[node.var] = wide;
    return make(Let{.value = value, .var = wide, .body = widen(node.body)});
  });
  rewrite_.on<Call>([this](const Call& node) { return call(node); });
  rewrite_.on<BufferLoad>([this](const BufferLoad& node) { return load(node); });
  const auto refuse = [](const auto&) -> Expr { throw CannotWiden{}; };
  rewrite_.on<Ramp>(refuse);
  rewrite_.on<Broadcast>(refuse);
  rewrite_.on<Shuffle>(refuse);

  rewrite_.on<BufferStore>([this](const BufferStore& node) { return store(node); });
  rewrite_.on<IfThenElse>([this](const IfThenElse& node) { return branch(node); });
  rewrite_.on<SeqStmt>([this](const SeqStmt& node) { return sequence(node); });
  rewrite_.on<LetStmt>([this](const LetStmt& node) { return let(node); });
  rewrite_.on<Allocate>([this](const Allocate& node) { return allocation(node); });
  rewrite_.on<DeclBuffer>([this](const DeclBuffer& node) -> Stmt {
    std::vector<Expr> form = node.buffer->shape;
    form.insert(form.end(), node.buffer->strides.begin(), node.buffer->strides.end());
    if (node.buffer->elem_offset.defined()) form.push_back(node.buffer->elem_offset);
    for (const Expr& each : form) {
      if (is_vector(widen(each))) throw CannotWiden{};  // A view for each lane.
    }
    if (!widened_memory_.contains(node.buffer->data.get())) return rewrite_.children(node);
    Buffer wide = *node.buffer;
    wide.shape.back() = wide.shape.back() * lanes_;
    const Ptr<Buffer> buffer = make(std::move(wide));
    widened_[node.buffer] = buffer;
    return make(DeclBuffer{.buffer = buffer, .body = rewrite_(node.body)});
  });
  rewrite_.on<For>([this](const For& node) -> Stmt {
    if (is_vector(widen(node.min)) || is_vector(widen(node.extent)) ||
        is_vector(widen(node.step))) {
      throw CannotWiden{};
    }
    return rewrite_.children(node);
  });
  rewrite_.on<Evaluate>([](const Evaluate& node) -> Stmt {
    bool has_effect = false;
    pre_order_visit(node.value, [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      has_effect |= call && !call->op.is_pure();
      return !has_effect;
    });
    if (has_effect) throw CannotWiden{};
    return no_op();
  });
  rewrite_.on<AssertStmt>([this](const AssertStmt& node) -> Stmt {
    if (is_vector(widen(node.condition)) || mask_.defined()) throw CannotWiden{};
    return rewrite_.children(node);
  });
  const auto refuse_stmt = [](const auto&) -> Stmt { throw CannotWiden{}; };
  const auto refuse_loop = [](const auto&) -> Stmt { throw CannotWiden{.whole_loop = true}; };
  rewrite_.on<While>(refuse_stmt);
  rewrite_.on<Prefetch>(refuse_stmt);
  rewrite_.on<AllocateConst>(refuse_stmt);
  rewrite_.on<Break>(refuse_loop);
  rewrite_.on<Continue>(refuse_loop);
  rewrite_.on<Return>(refuse_loop);
}

// ---- Expressions ----

/// if_then_else with a condition that differs between lanes: both values, each loaded under a mask.
Expr Widener::choice(const Call& node) {
  const Expr condition = widen(node.args[0]);
  if (!is_vector(condition)) {
    const Expr yes = widen(node.args[1]), no = widen(node.args[2]);
    if (!is_vector(yes) && !is_vector(no)) return rewrite_.children(node);
    return if_then_else(condition, with_lanes(yes, lanes_), with_lanes(no, lanes_));
  }
  const Expr yes = with_lanes(under(condition, false, node.args[1]), lanes_);
  const Expr no = with_lanes(under(!condition, false, node.args[2]), lanes_);
  return make(Select{.condition = condition, .true_value = yes, .false_value = no});
}

/// `and` and `or`: what the second operand reads is loaded in those lanes alone for which the first
/// is `goes_on`.
template <class Node>
Expr Widener::logical(const Node& node, bool goes_on) {
  const Expr a = widen(node.a);
  const bool may_stop = is_vector(a) && reads_memory(node.b);
  const Expr b = may_stop ? under(goes_on ? a : !a, false, node.b) : widen(node.b);
  if (a.same_as(node.a) && b.same_as(node.b)) return Expr(&node);
  const int lanes = std::max(a.dtype().lanes, b.dtype().lanes);
  return make(Node{.a = with_lanes(a, lanes), .b = with_lanes(b, lanes)});
}

Expr Widener::call(const Call& node) {
  if (node.op == op("if_then_else")) return choice(node);
  if (node.op == op("likely")) return widen(node.args[0]);

  Call wide = node;
  bool varies = false;
  for (Expr& arg : wide.args) {
    if (!arg.is<StringImm>()) arg = widen(arg);
    varies |= is_vector(arg);
  }
  if (!varies && node.op.info().effect <= Effect::reads) return rewrite_.children(node);
  if (!varies || !node.op.info().element_wise || !node.op.is_pure()) throw CannotWiden{};

  // The first arguments of this one say which intrinsic it is.
  const std::size_t first = node.op == op("call_llvm_pure_intrin") ? first_operand(node) : 0;
  for (std::size_t i = first; i < wide.args.size(); ++i) {
    if (!wide.args[i].is<StringImm>()) wide.args[i] = with_lanes(wide.args[i], lanes_);
  }
  wide.dtype = node.dtype.with_lanes(lanes_);
  return make(std::move(wide));
}

/// The indices of an access; the last of them is a vector where lanes access different elements.
std::vector<Expr> Widener::indices_of(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
  if (buffer->dtype.is_vector()) throw CannotWiden{};
  std::vector<Expr> wide;
  for (const Expr& index : indices) {
    if (!wide.empty() && is_vector(wide.back())) throw CannotWiden{};
    wide.push_back(widen(index));
  }
  if (!widened_.contains(buffer)) return wide;
  const DataType type = wide.back().dtype().element();
  const Expr lane =
      make(Ramp{.base = int_imm(type, 0), .stride = int_imm(type, 1), .lanes = lanes_});
  wide.back() = add_lanes(multiply_lanes(wide.back(), int_imm(type, lanes_)), lane);
  return wide;
}

/// True when the access is within the buffer, whatever the mask: constants only.
bool Widener::is_safe(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t *index = as_int(indices[d]), *extent = as_int(buffer->shape[d]);
    if (!index || !extent || *index < 0 || *index >= *extent) return false;
  }
  return true;
}

Expr Widener::load(const BufferLoad& node) {
  if (node.predicate.defined()) throw CannotWiden{};
  std::vector<Expr> indices = indices_of(node.buffer, node.indices);
  if (!is_vector(indices.back())) {
    // One element for all lanes. Where no lane may be at work, it must not be accessed.
    if (!mask_.defined() || is_safe(node.buffer, indices)) return rewrite_.children(node);
    if (any_known_) {
      needs_any_ = true;
      return rewrite_.children(node);
    }
    indices.back() = with_lanes(indices.back(), lanes_);
  }
  const auto wide = widened_.find(node.buffer);
  return without_idle_clamps(
      make(BufferLoad{.buffer = wide == widened_.end() ? node.buffer : wide->second,
                      .indices = std::move(indices),
                      .predicate = mask_}));
}

// ---- Statements ----

/// buffer[x] = buffer[x] + e, of which only e differs between lanes.
Stmt Widener::reduction(const BufferStore& node, const std::vector<Expr>& indices) {
  const std::optional<Accumulation> found = accumulation_of_lanes(node);
  if (!found) throw CannotWiden{};
  // Other elements may be read: all lanes do that before the first of them adds to this one.
  if (reads_by_other_name(found->operand, node.buffer)) throw CannotWiden{};

  Expr wide = all_lanes(found->operand);
  const DataType type = node.value.dtype();
  if (mask_.defined()) {
    if (!is_safe(node.buffer, indices)) {
      if (!any_known_) throw CannotWiden{};
      needs_any_ = true;
    }
    wide = make(Select{.condition = mask_,
                       .true_value = wide,
                       .false_value = broadcast(neutral_element(found->combiner, type), lanes_)});
  }
  const Expr total =
      all_lanes_combined(found->combiner, without_nans(found->combiner, std::move(wide)));
  const Expr old = loopsmith::load(node.buffer, indices);
  return loopsmith::store(node.buffer, combined(found->combiner, old, total), indices);
}

/// True when each iteration stores to the element, by this store or another one: lanes that are not
/// at work may store there what it holds, which takes less than a store under a mask.
bool Widener::is_stored_by_all(const BufferStore& store) {
  if (!sure_stores_) sure_stores_ = sure_stores(loop_.body);
  return stores_element_of(*sure_stores_, store);
}

/// True when lanes may store to one element that the loop reads, too: as each adds to it, what
/// others added would be lost.
bool Widener::may_alias(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const {
  const auto* ramp = indices.back().as<Ramp>();
  const bool are_apart = ramp && known_.can_prove(ramp->stride != zero_of(ramp->stride.dtype()));
  return !are_apart && !widened_.contains(buffer) && reads(loop_.body, buffer);
}

Stmt Widener::store(const BufferStore& node) {
  if (node.predicate.defined()) throw CannotWiden{};
  const std::vector<Expr> indices = indices_of(node.buffer, node.indices);
  if (!is_vector(indices.back())) {
    const Expr value = widen(node.value);
    if (is_vector(value)) return reduction(node, indices);
    // What each lane adds alike, it adds once for each.
    if (reads(node.value, node.buffer)) throw CannotWiden{};
    if (mask_.defined()) {
      if (!any_known_) throw CannotWiden{};
      needs_any_ = true;
    }
    return rewrite_.children(node);
  }
  if (may_alias(node.buffer, indices)) throw CannotWiden{};
  const auto wide = widened_.find(node.buffer);
  BufferStore stored{.buffer = wide == widened_.end() ? node.buffer : wide->second,
                     .value = all_lanes(node.value),
                     .indices = indices,
                     .predicate = mask_};
  if (mask_.defined() && is_contiguous(indices.back()) && is_stored_by_all(node)) {
    stored.value = make(Select{.condition = mask_,
                               .true_value = stored.value,
                               .false_value = loopsmith::load(stored.buffer, indices)});
    stored.predicate = {};
  }
  return make(std::move(stored));
}

Stmt Widener::branch(const IfThenElse& node) {
  const Expr condition = widen(node.condition);
  if (!is_vector(condition)) return rewrite_.children(node);
  if (const Stmt store = store_of_branches(node)) return rewrite_(store);
  // The condition is evaluated once: what follows may change what it reads.
  const Expr any = mask_.defined() ? Expr() : any_lane(condition);
  if (any.defined()) return masked(condition, node.then_case, node.else_case);
  const Ptr<Var> mask = var("mask", condition.dtype());
  return make(LetStmt{
      .value = condition, .var = mask, .body = masked(mask, node.then_case, node.else_case)});
}

Stmt Widener::masked(const Expr& condition, const Stmt& then_case, const Stmt& else_case) {
  const Expr any = mask_.defined() ? Expr() : any_lane(condition);
  Scoped outer_needs(needs_any_, false);
  Stmt yes = under(condition, any.defined(), then_case);
  if (needs_any_) yes = make(IfThenElse{.condition = any, .then_case = yes});
  if (!else_case) return yes;
  return seq({yes, under(!condition, false, else_case)});
}

Stmt Widener::sequence(const SeqStmt& node) {
  if (sealed_) return rewrite_.children(node);
  std::vector<Stmt> result;
  for (const Stmt& child : node.seq) {
    try {
      result.push_back(rewrite_(child));
    } catch (const CannotWiden& reason) {
      if (reason.whole_loop) throw;
      rewrite_.forget();
      result.push_back(serial_loop(loop_, child));
    }
  }
  return seq(std::move(result));
}

Stmt Widener::let(const LetStmt& node) {
  const Expr value = widen(node.value);
  if (!is_vector(value)) return rewrite_.children(node);
  const Ptr<Var> wide = var(node.var->name, value.dtype());
  lane_values_[node.var] = wide;
  Scoped seal(sealed_, true);
  return make(LetStmt{.value = value, .var = wide, .body = rewrite_(node.body)});
}

/// Memory of each lane's own: cell i of lane l at i * lanes + l.
Stmt Widener::allocation(const Allocate& node) {
  Allocate wide = node;
  for (Expr& extent : wide.extents) {
    if (is_vector(widen(extent))) throw CannotWiden{};
  }
  if (is_vector(widen(node.condition)) || node.dtype.is_vector()) throw CannotWiden{};
  wide.extents.back() = wide.extents.back() * lanes_;
  widened_memory_.insert(node.buffer_var.get());
  Scoped seal(sealed_, true);
  wide.body = rewrite_(node.body);
  return make(std::move(wide));
}

Stmt Widener::run() {
  try {
    return rewrite_(loop_.body);
  } catch (const CannotWiden&) {
    return nullptr;
  }
}

}  // namespace

Stmt serial_loop(const For& loop, const Stmt& body) {
  For serial = loop;
  serial.kind = ForKind::serial;
  serial.loop_var = make(Var(*loop.loop_var));
  serial.body = substitute(body, {{loop.loop_var, serial.loop_var}});
  return make(std::move(serial));
}

Stmt widen(const For& loop, int lanes, Analyzer& known) {
  return Widener(loop, lanes, known).run();
}

}  // namespace loopsmith
