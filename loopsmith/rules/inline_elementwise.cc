// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/inline_elementwise.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// An element costs as much to compute as this many additions, at most, to be computed again at
/// each of a few uses.
constexpr int cheap = 8;
/// What a call of a function like exp counts for.
constexpr int cost_of_call = 12;

/// How many operations the value takes; those in indices are not counted.
int cost_of(const Expr& value) {
  int cost = 0;
  pre_order_visit(value, [&](const Ref& ref) {
    if (ref.is<Call>()) {
      cost += ref.as<Call>()->op == op("if_then_else") ? 1 : cost_of_call;
    } else if (!ref.is<Var>() && !ref.is<IntImm>() && !ref.is<FloatImm>() && !ref.is<Buffer>()) {
      ++cost;
    }
    return !ref.is<BufferLoad>();
  });
  return cost;
}

/// `buffer[axes] = value`, for each point once.
struct Producer {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  Expr value;
};

std::optional<Producer> producer_of(const Nest& nest, const Program& program) {
  const auto* store = nest.body.as<BufferStore>();
  if (!store || nest.init || !nest.reduction().empty()) return std::nullopt;
  if (!program.is_local(store->buffer) || program.used_by_opaque(store->buffer))
    return std::nullopt;
  if (reads(nest, store->buffer)) return std::nullopt;
  for (const Expr& index : store->indices) {
    const bool is_axis =
        std::ranges::any_of(nest.axes, [&](const Axis& axis) { return index.same_as(axis.var); });
    if (!is_axis && !as_int(index)) return std::nullopt;
  }
  return Producer{store->buffer, store->indices, store->value};
}

/// True when no point of `nest` loads an element of `buffer` that another point loads, too, at the
/// same place of its body.
bool reads_each_once(const Nest& nest, const Ptr<Buffer>& buffer) {
  for (const NestAccess& access : accesses_in(nest)) {
    if (access.is_store || !access.buffer.same_as(buffer)) continue;
    for (const Axis& axis : nest.axes) {
      if (is_const_int(axis.extent, 1)) continue;
      const bool used = std::ranges::any_of(
          access.indices, [&](const Expr& index) { return uses_variable(index, axis.var); });
      if (!used) return false;
    }
  }
  return true;
}

int count_loads(const Nest& nest, const Ptr<Buffer>& buffer) {
  return static_cast<int>(std::ranges::count_if(accesses_in(nest), [&](const NestAccess& access) {
    return !access.is_store && access.buffer.same_as(buffer);
  }));
}

/// Buffers that the value is computed from keep what they hold until the last use of it.
bool sources_stay(const Producer& producer, const Program& program, std::size_t place) {
  bool stay = true;
  pre_order_visit(producer.value, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    if (!load) return true;
    for (std::size_t i = place + 1; i < program.parts.size(); ++i) {
      const Part& part = program.parts[i];
      stay = stay && part.nest && !writes(*part.nest, load->buffer);
    }
    return true;
  });
  return stay;
}

bool worth_inlining(const Producer& producer, const Program& program, std::size_t place) {
  int loads = 0;
  bool each_once = true;
  for (std::size_t i = 0; i < program.parts.size(); ++i) {
    const Part& part = program.parts[i];
    if (i == place || !part.nest) continue;
    // A second nest that fills the buffer, or one that reads it before: not a producer.
    if (writes(*part.nest, producer.buffer)) return false;
    const int here = count_loads(*part.nest, producer.buffer);
    if (here > 0 && i < place) return false;
    loads += here;
    each_once = each_once && reads_each_once(*part.nest, producer.buffer);
  }
  const int cost = cost_of(producer.value);
  if (!each_once) return cost <= 1;
  return loads <= 1 || cost * loads <= cheap;
}

void replace_loads(Nest& nest, const Producer& producer) {
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    if (!load.buffer.same_as(producer.buffer)) return rewrite.children(load);
    Substitution values;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      if (producer.indices[i].is<Var>()) values[producer.indices[i]] = rewrite(load.indices[i]);
    }
    return clone_with(producer.value, std::move(values));
  });
  nest.body = rewrite(nest.body);
  if (nest.init) nest.init = rewrite(nest.init);
}

}  // namespace

void inline_elementwise(Program& program) {
  for (std::size_t place = 0; place < program.parts.size();) {
    const Part& part = program.parts[place];
    const auto producer = part.nest ? producer_of(*part.nest, program) : std::nullopt;
    if (!producer || !worth_inlining(*producer, program, place) ||
        !sources_stay(*producer, program, place)) {
      ++place;
      continue;
    }
    program.parts.erase(program.parts.begin() + static_cast<std::ptrdiff_t>(place));
    for (Part& consumer : program.parts) {
      if (consumer.nest && reads(*consumer.nest, producer->buffer)) {
        replace_loads(*consumer.nest, *producer);
      }
    }
    std::erase_if(program.locals, [&](const auto& b) { return b.same_as(producer->buffer); });
  }
}

}  // namespace loopsmith
