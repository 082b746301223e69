// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/result_preservation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/arith/dependence/preservation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/changed_part.h"
#include "loopsmith/schedule/legality/parted_block.h"
#include "loopsmith/schedule/legality/uncached.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// What a scope runs, and the buffers that nothing else sees.
struct ScopeBody {
  Stmt body;
  std::vector<Ptr<Buffer>> own;
  bool has_views = false;
};

Stmt under(const Expr& known, const Stmt& body) {
  if (is_const_int(known, 1)) return body;
  return make(IfThenElse{.condition = known, .then_case = body});
}

ScopeBody body_of(const Schedule& schedule, NodeId scope) {
  if (const auto* realize = schedule.as<BlockRealize>(scope)) {
    const Block& block = *realize->block;
    return {block.body, block.alloc_buffers, !block.match_buffers.empty()};
  }
  return {schedule.as<PrimFunc>(scope)->body, {}};
}

PreservationAnswer ask_exactly(const TwoVersions& versions, std::span<const Mirror> mirrors) {
  return mirrors.empty() ? keeps_results(versions) : keeps_values(versions, mirrors);
}

/// The part of two versions that differs, where it can be asked about alone.
std::optional<TwoVersions> changed_alone(const Schedule& before, const TwoVersions& all,
                                         std::span<const Mirror> mirrors, const Expr& known) {
  // What a reduction over nothing does, loops around it say.
  if (before.has_empty_reductions()) return {};
  const auto part = changed_part(all.before, all.after);
  if (!part) return {};
  TwoVersions versions = all;
  versions.before = under(known, under(part->known, part->before));
  versions.after = under(known, under(part->known, part->after));
  versions.local_buffers = used_in_part_alone(all.local_buffers, *part, all.before, all.after);
  versions.allocated_buffers = all.local_buffers;
  const bool has_mirrors = std::ranges::all_of(mirrors, [&](const Mirror& mirror) {
    return std::ranges::any_of(versions.local_buffers,
                               [&](const auto& buffer) { return buffer.same_as(mirror.copy); });
  });
  return has_mirrors ? std::optional(std::move(versions)) : std::nullopt;
}

/// The answer for two versions of what a scope runs: what differs is asked first, as that is less.
PreservationAnswer answer_for(const Schedule& before, NodeId scope, TwoVersions all,
                              std::span<const Mirror> mirrors = {}) {
  const Expr known = path_condition(before, scope);
  std::optional<PreservationAnswer> kept;
  if (const auto part = changed_alone(before, all, mirrors, known)) {
    PreservationAnswer answer = ask_exactly(*part, mirrors);
    if (answer && !before.verifies_quick_answers()) return answer;
    if (answer) kept = std::move(answer);
  }
  all.before = under(known, all.before);
  all.after = under(known, all.after);
  PreservationAnswer answer = ask_exactly(all, mirrors);
  check(!kept || answer.verdict != Verdict::violated, "quick_answers",
        "what a step changed does the same, and not with what is around it");
  return kept ? *kept : answer;
}

/// The name of the block in which a statement stands, or the statement as it prints.
std::string name_of(const Stmt& scope, const Stmt& statement) {
  std::string found;
  pre_order_visit(scope, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    if (!block) return found.empty() && !is_expr(*ref.get());
    bool is_inside = false;
    pre_order_visit(Ref(block), [&](const Ref& inner) {
      is_inside = is_inside || inner.same_as(statement);
      return !is_inside && !is_expr(*inner.get());
    });
    if (is_inside) found = block->name_hint;
    return false;
  });
  return found.empty() ? fmt::format("`{}`", statement) : found;
}

/// `sum (vi=1, vj=0)`
std::string text_of(const Stmt& scope, const InstanceSide& side) {
  std::string text = name_of(scope, side.statement);
  std::vector<std::string> values;
  for (const auto& [name, value] : side.values) values.push_back(fmt::format("{}={}", name, value));
  if (!values.empty()) text += fmt::format(" ({})", fmt::join(values, ", "));
  return text;
}

std::string text_of(const Stmt& scope, const PreservationAnswer& answer) {
  const std::string first = text_of(scope, answer.first), second = text_of(scope, answer.second);
  const std::string buffer = answer.buffer ? answer.buffer->name : "memory";
  const auto verb = [](const InstanceSide& side) { return side.writes ? "writes" : "reads"; };
  switch (answer.question) {
    case LegalityQuestion::order:
      return fmt::format("{} {} {} before {} {} it, and would come after that", first,
                         verb(answer.first), buffer, second, verb(answer.second));
    case LegalityQuestion::cover:
      return fmt::format("{} reads what {} writes to {}, which would not be there yet", second,
                         first, buffer);
    case LegalityQuestion::repeat:
      return fmt::format("{} would run more than once, and not do the same each time", first);
    case LegalityQuestion::leave_out:
      return fmt::format("{} would not run any more, and {} is used outside", first, buffer);
    case LegalityQuestion::add: return fmt::format("{} would run, and did not before", first);
    case LegalityQuestion::coherence:
      if (answer.second.values.empty()) {
        return fmt::format("{} {} {}, and the value is not copied there", first, verb(answer.first),
                           buffer);
      }
      return fmt::format("{} reads {} after {} changes what it stands for", second, buffer, first);
    case LegalityQuestion::concurrency:
    case LegalityQuestion::regroup:
    case LegalityQuestion::understood: break;
  }
  return answer.reason;
}

Refusal refusal_of(const Stmt& scope, const PreservationAnswer& answer) {
  const bool is_known = answer.verdict == Verdict::violated;
  ResultChange change = is_known ? result_changes : result_is_unknown;
  change.question = answer.question;
  return changed_results(change, {Argument(is_known ? text_of(scope, answer) : answer.reason)});
}

std::optional<Refusal> refuse_incoherent_copies(const Schedule& before, NodeId scope,
                                                const ScopeBody& now,
                                                const std::vector<Mirror>& mirrors) {
  const ScopeBody old = body_of(before, scope);
  // Places of a ring stand for many elements in turn, which takes isl more than copies in boxes do.
  constexpr unsigned operations = 200'000;
  const PreservationAnswer answer = answer_for(
      before, scope,
      {.before = old.body, .after = now.body, .local_buffers = now.own, .operations = operations},
      mirrors);
  if (answer) return {};
  return refusal_of(now.body, answer);
}

/// True when both programs are one program with a cache.
bool moves_copies_alone(const Schedule& before, NodeId scope, const ScopeBody& now) {
  const ScopeBody old = body_of(before, scope);
  const Expr known = path_condition(before, scope);
  const auto have_values_of = [&](const Uncached& plain, const ScopeBody& cached) {
    return static_cast<bool>(keeps_values(
        {under(known, plain.body), under(known, cached.body), cached.own}, {&plain.cache, 1}));
  };
  return std::ranges::any_of(without_caches(old.body, old.own), [&](const Uncached& plain) {
    const auto same = without_caches(now.body, now.own);
    const bool is_one = std::ranges::any_of(same, [&](const Uncached& other) {
      return other.cache.copy.same_as(plain.cache.copy) &&
             structural_equal(other.body, plain.body, true);
    });
    return is_one && have_values_of(plain, now) && have_values_of(plain, old);
  });
}

/// Refuses where a scope with memory of its own, which runs `written`, would not compute the same
/// if it ran `after`.
std::optional<Refusal> refuse_motion(const Schedule& before, NodeId scope, TwoVersions versions) {
  if (body_of(before, scope).has_views) {
    return changed_results(result_is_unknown, {Argument("the block around has views of buffers")});
  }
  if (!versions.after.defined()) {
    return changed_results(result_is_unknown, {Argument("a block has loops of its own")});
  }
  const Stmt written = versions.before;
  const PreservationAnswer answer = answer_for(before, scope, std::move(versions));
  if (answer) return {};
  return refusal_of(written, answer);
}

/// Refuses a step that lets two blocks do the work of one. The first may do more where it writes
/// memory that is new.
std::optional<Refusal> refuse_parts(const Schedule& before, const Schedule& after, NodeId scope,
                                    ScopeBody now) {
  const Stmt written = with_block_in_parts(before, after, scope, *after.report().parted);
  if (!written) {
    return changed_results(result_is_unknown,
                           {Argument("its parts are not known to do what the block does")});
  }
  const auto old = body_of(before, scope).own;
  const bool is_new =
      std::ranges::all_of(after.report().parted->first->writes, [&](const auto& region) {
        const auto is_it = [&](const Ptr<Buffer>& own) { return own.same_as(region->buffer); };
        return std::ranges::any_of(now.own, is_it) && std::ranges::none_of(old, is_it);
      });
  return refuse_motion(before, scope,
                       {.before = written,
                        .after = std::move(now.body),
                        .local_buffers = std::move(now.own),
                        .may_add = is_new});
}

}  // namespace

std::optional<Refusal> refuse_changed_results(const Schedule& before, const Schedule& after,
                                              const Preservation& asked) {
  const ScopeBody now = body_of(after, asked.scope);
  std::optional<Refusal> refusal;
  if (after.report().parted) {
    refusal = refuse_parts(before, after, asked.scope, now);
  } else if (after.report().mirrors.empty()) {
    refusal = refuse_changed_results(before, asked.scope, now.body, false);
    if (refusal && moves_copies_alone(before, asked.scope, now)) refusal.reset();
  } else {
    refusal = refuse_incoherent_copies(before, asked.scope, now, after.report().mirrors);
  }
  if (!refusal || !asked.is_proved) return refusal;
  // What a quick answer proved may be too hard for the exact check, and no more.
  check(!refusal->change->is_known, "quick_answers", "{}",
        std::get<std::string>(refusal->subjects[0].value));
  return {};
}

std::optional<Refusal> refuse_changed_results(const Schedule& before, NodeId scope,
                                              const Stmt& after, bool may_add) {
  ScopeBody old = body_of(before, scope);
  return refuse_motion(before, scope,
                       {.before = std::move(old.body),
                        .after = after,
                        .local_buffers = std::move(old.own),
                        .may_add = may_add});
}

std::optional<Refusal> refuse_changed_results(const Schedule& before, NodeId scope,
                                              const Stmt& written, const Stmt& after) {
  return refuse_motion(
      before, scope,
      {.before = written, .after = after, .local_buffers = body_of(before, scope).own});
}

}  // namespace loopsmith
