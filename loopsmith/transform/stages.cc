// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/stages.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "loopsmith/arith/dependence/find_carried.h"
#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Each stage makes a copy of the body before and after the loop.
constexpr std::int64_t max_stages = 64;

std::vector<std::int64_t> numbers_of(const For& loop, std::string_view key) {
  std::vector<std::int64_t> numbers;
  const Ref value = loop.annotations.get(key);
  const auto* list = value.as<List>();
  bool is_list = list != nullptr;
  for (const Ref& item : list ? list->items : std::vector<Ref>()) {
    const Expr number = Expr::from(item);
    is_list = is_list && number.defined() && as_int(number) && *as_int(number) >= 0;
    if (is_list) numbers.push_back(*as_int(number));
  }
  require(is_list, ErrorKind::lower, "pipeline_has_numbers",
          hint("give a list with a number, 0 or more, for each statement of the loop"), loop.span,
          "software_pipeline: {} of loop {} is no list of numbers", key, loop.loop_var->name);
  return numbers;
}

/// Runs a before b, whose iteration is `distance` later.
bool is_in_order(const Stages& stages, std::size_t a, std::size_t b, std::int64_t distance) {
  const std::int64_t first = stages.stage[a], second = stages.stage[b];
  // distance + second, without overflow.
  if (distance > first) return true;
  return first < distance + second ||
         (first == distance + second && stages.order[a] < stages.order[b]);
}

bool is_hit(const Pointers& memory, const Pointers& other) {
  return std::ranges::any_of(memory,
                             [&](const Object* pointer) { return other.contains(pointer); });
}

bool uses(const AccessedMemory& statement, const Pointers& memory) {
  return is_hit(memory, statement.reads) || is_hit(memory, statement.writes);
}

/// True when all that the statement does is to copy elements of global memory into shared memory;
/// what lies beyond the source may be zero.
bool copies_into_shared(const Stmt& stmt) {
  bool stores = false, is_copy = true;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      stores = true;
      is_copy = is_copy && copy_into_shared(*store).has_value();
    }
    is_copy = is_copy && !ref.is<While>() && !ref.is<AssertStmt>() && !ref.is<Evaluate>();
    return is_copy && !is_expr(*ref.get());
  });
  return stores && is_copy;
}

}  // namespace

std::int64_t Stages::last() const {
  return *std::ranges::max_element(stage);
}

std::vector<std::size_t> Stages::in_order() const {
  std::vector<std::size_t> statements(order.size());
  std::iota(statements.begin(), statements.end(), 0);
  std::ranges::sort(statements, {}, [this](std::size_t k) { return order[k]; });
  return statements;
}

std::optional<Stages> stages_of(const For& loop) {
  const bool has_stage = loop.annotations.contains(stage_key);
  const bool has_order = loop.annotations.contains(order_key);
  const std::string& name = loop.loop_var->name;
  require(has_stage == has_order, ErrorKind::lower, "pipeline_has_stage_and_order",
          hint("annotate the loop with both"), loop.span,
          "software_pipeline: loop {} has {} but no {}", name, has_stage ? stage_key : order_key,
          has_stage ? order_key : stage_key);
  if (!has_stage) return {};
  Stages stages{.stage = numbers_of(loop, stage_key), .order = numbers_of(loop, order_key)};
  require(stages.stage.size() == stages.order.size() && !stages.stage.empty(), ErrorKind::lower,
          "pipeline_lists_fit", hint("give each statement of the loop a stage and a place"),
          loop.span, "software_pipeline: loop {} has {} stages and {} places", name,
          stages.stage.size(), stages.order.size());
  std::vector<std::int64_t> places = stages.order;
  std::ranges::sort(places);
  const auto twice = std::ranges::adjacent_find(places);
  require(twice == places.end(), ErrorKind::lower, "pipeline_places_differ",
          hint("give each statement a place of its own"), loop.span,
          "software_pipeline: two statements of loop {} have the place {}", name,
          twice == places.end() ? 0 : *twice);
  require(stages.last() <= max_stages, ErrorKind::lower, "pipeline_is_bounded",
          hint("use fewer stages"), loop.span,
          "software_pipeline: loop {} has stage {}, more than {}", name, stages.last(), max_stages);
  if (loop.annotations.contains(async_key)) {
    stages.async = numbers_of(loop, async_key);
    for (const std::int64_t stage : stages.async) {
      require(std::ranges::find(stages.stage, stage) != stages.stage.end(), ErrorKind::lower,
              "async_stage_exists", hint("name stages of the loop"), loop.span,
              "software_pipeline: loop {} has no stage {} to be asynchronous", name, stage);
    }
  }
  stages.products_in_flight = loop.annotations.get_int(in_flight_key, 0);
  return stages;
}

AccessedMemory accessed_by(const Stmt& stmt) {
  AccessedMemory accessed;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) accessed.reads.insert(load->buffer->data.get());
    if (const auto* store = ref.as<BufferStore>())
      accessed.writes.insert(store->buffer->data.get());
    if (const auto* call = ref.as<Call>()) {
      const bool is_silent = call->op.info().effect <= Effect::reads || call->op == op("prefetch");
      accessed.has_effects = accessed.has_effects || !is_silent;
      const auto* load = call->op == op("address_of") ? call->args[0].as<BufferLoad>() : nullptr;
      if (load) accessed.writes.insert(load->buffer->data.get());
    }
    // A pointer by itself: anything may be done through it.
    const auto* variable = ref.as<Var>();
    if (variable && variable->dtype.is_handle()) {
      accessed.reads.insert(variable);
      accessed.writes.insert(variable);
    }
    return true;
  });
  return accessed;
}

bool depend(const AccessedMemory& a, const AccessedMemory& b) {
  return (a.has_effects && b.has_effects) || uses(b, a.writes) || uses(a, b.writes);
}

std::optional<OutOfOrder> find_out_of_order(const For& loop, const std::vector<Stmt>& statements,
                                            const Stages& stages, const Pointers& own) {
  std::vector<AccessedMemory> accessed;
  for (const Stmt& stmt : statements) accessed.push_back(accessed_by(stmt));
  for (std::size_t a = 0; a < statements.size(); ++a) {
    for (std::size_t b = a + 1; b < statements.size(); ++b) {
      if (depend(accessed[a], accessed[b]) && !is_in_order(stages, a, b, 0)) {
        return OutOfOrder{.first = a, .second = b};
      }
    }
  }
  // In which of the statements each part is.
  std::unordered_map<const Object*, std::vector<std::size_t>> places;
  for (std::size_t k = 0; k < statements.size(); ++k) {
    pre_order_visit(statements[k], [&](const Ref& ref) {
      if (is_expr(*ref.get())) return false;
      places[ref.get()].push_back(k);
      return true;
    });
  }
  std::optional<OutOfOrder> found;
  const auto is_out_of_order = [&](const CarriedDependence& each) {
    if (each.buffer && own.contains(each.buffer->data.get())) return false;
    const std::int64_t distance = std::max<std::int64_t>(each.distance.min_value, 1);
    for (const std::size_t a : places[each.source.get()]) {
      for (const std::size_t b : places[each.sink.get()]) {
        if (a == b || is_in_order(stages, a, b, distance)) continue;
        found = {.first = a, .second = b, .distance = distance};
        return true;
      }
    }
    return false;
  };
  const auto carried = find_carried(Stmt(&loop), {&loop.loop_var, 1}, is_out_of_order);
  if (!carried) return std::nullopt;
  found->why = carried->is_certain ? "" : ", as far as is known";
  return found;
}

std::int64_t versions_of(const Object* pointer, const std::vector<AccessedMemory>& accessed,
                         const Stages& stages) {
  std::int64_t versions = 1;
  for (std::size_t w = 0; w < accessed.size(); ++w) {
    if (!accessed[w].writes.contains(pointer)) continue;
    for (std::size_t u = 0; u < accessed.size(); ++u) {
      if (!accessed[u].reads.contains(pointer) && !accessed[u].writes.contains(pointer)) continue;
      // A copy is written anew when its last user, some stages later, is done with it.
      const bool is_after = stages.order[w] > stages.order[u];
      versions = std::max(versions, stages.stage[u] - stages.stage[w] + (is_after ? 0 : 1));
    }
  }
  return versions;
}

std::vector<bool> statements_that_may_wait(const std::vector<Stmt>& statements,
                                           const std::vector<AccessedMemory>& accessed,
                                           const Stages& stages, const Pointers& own) {
  std::vector<bool> may_wait(statements.size());
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const bool is_asked = std::ranges::find(stages.async, stages.stage[k]) != stages.async.end();
    if (!is_asked || accessed[k].has_effects || !copies_into_shared(statements[k])) continue;
    bool is_used = false, is_alone = true;
    for (const Object* pointer : accessed[k].writes) is_alone = is_alone && own.contains(pointer);
    for (std::size_t u = 0; u < statements.size(); ++u) {
      if (u == k) continue;
      const bool uses_copies = uses(accessed[u], accessed[k].writes);
      is_used = is_used || uses_copies;
      is_alone = is_alone && (!uses_copies || stages.stage[u] > stages.stage[k]) &&
                 !is_hit(accessed[u].writes, accessed[k].reads);
    }
    may_wait[k] = is_used && is_alone;
  }
  return may_wait;
}

std::int64_t first_use(std::size_t copy, const std::vector<AccessedMemory>& accessed,
                       const Stages& stages) {
  std::int64_t first = stages.last();
  for (std::size_t u = 0; u < accessed.size(); ++u) {
    const bool is_user = u != copy && uses(accessed[u], accessed[copy].writes);
    if (is_user) first = std::min(first, stages.stage[u]);
  }
  return first;
}

}  // namespace loopsmith
