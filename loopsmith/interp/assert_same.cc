// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/assert_same.h"

#include <algorithm>
#include <set>

#include "loopsmith/interp/difference.h"
#include "loopsmith/interp/interp.h"
#include "loopsmith/interp/random_inputs.h"
#include "loopsmith/interp/sample.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

using CompiledCode = std::function<void(std::span<const CallArgument>)>;

/// Both functions, and the modules that they may call into.
struct Pair {
  Ptr<PrimFunc> before, after;  ///< Without `after` there is code.
  Ptr<IRModule> before_module = nullptr, after_module = nullptr;
  std::string name = {};  ///< In the modules.
  CompiledCode code = {};
};

void require_same_parameters(const PrimFunc& before, const PrimFunc& after) {
  const auto refuse = [&](const std::string& what) {
    fail(ErrorKind::interp, "same_parameters", hint("compare functions of the same parameters"), {},
         "{} and {} cannot be compared: {}", before.name(), after.name(), what);
  };
  if (before.params.size() != after.params.size()) {
    refuse(fmt::format("they take {} and {} arguments", before.params.size(), after.params.size()));
  }
  for (std::size_t i = 0; i < before.params.size(); ++i) {
    const Ptr<Buffer>&a = before.buffer_map[i], &b = after.buffer_map[i];
    const auto described = [&](const Ptr<Buffer>& buffer, const Ptr<Var>& var) {
      return buffer ? fmt::format("a tensor of {} with {} dimensions", to_string(buffer->dtype),
                                  buffer->shape.size())
                    : fmt::format("a {}", to_string(var->dtype));
    };
    const std::string first = described(a, before.params[i]),
                      second = described(b, after.params[i]);
    if (first != second) {
      refuse(fmt::format("parameter {} is {} and {}", before.params[i]->name, first, second));
    }
  }
}

/// Programs that take longer than this part of all statements that are allowed are sampled. For the
/// default it is about a second.
constexpr double whole_part = 4;

Outcome run_on(const Ptr<PrimFunc>& func, const Ptr<IRModule>& module, const std::string& name,
               const Inputs& inputs, const Options& options) {
  return module ? run(module, name, inputs.arguments, options)
                : run(func, inputs.arguments, options);
}

std::string with_sizes(const std::string& text, const Inputs& inputs) {
  return inputs.sizes.empty() ? text : fmt::format("{}, where {}", text, inputs.sizes);
}

/// Whether a function, or one of its module, calls one of `functions`.
bool calls_any(const Ptr<PrimFunc>& func, const Ptr<IRModule>& module,
               const HostFunctions& functions) {
  if (functions.empty()) return false;
  bool found = false;
  pre_order_visit(module ? Ref(module) : Ref(func), [&](const Ref& ref) {
    const auto* text = ref.as<StringImm>();
    found = found || (text && functions.contains(text->value));
    return !found;
  });
  return found;
}

/// In ring mode to the bit; else up to rounding.
bool is_same_result(const Outcome& a, const Outcome& b, Mode mode) {
  if (mode == Mode::ring || !a.type.is_float()) return a.integer == b.integer && a.real == b.real;
  return is_close(a.type, a.real, b.real);
}

/// One run of both on the same inputs.
Verdict compare_on(const Pair& pair, const Inputs& inputs, std::uint64_t seed,
                   const CompareOptions& limits) {
  Options options{.mode = inputs.mode,
                  .implies_barriers = limits.implies_barriers,
                  .seed = seed,
                  .max_statements = limits.max_statements,
                  .on_pause = limits.on_pause,
                  .functions = limits.functions};
  const Inputs before = inputs.copy(), after = inputs.copy();
  Outcome expected;
  try {
    expected = run_on(pair.before, pair.before_module, pair.name, before, options);
  } catch (const UserError& error) {
    return {.reason = with_sizes("before: " + error.problem(), inputs),
            .is_hopeless = is_limit(error)};
  }
  options.max_statements = max_after(expected.statements, limits.max_statements);
  Outcome actual;
  try {
    if (pair.code) {
      pair.code(after.arguments);
      actual = expected;
    } else {
      actual = run_on(pair.after, pair.after_module, pair.name, after, options);
    }
  } catch (const UserError& error) {
    const bool is_open = is_limit(error);
    return {.answer = is_open ? Answer::undecided : Answer::different,
            .reason = with_sizes("after: " + error.problem(), inputs),
            .is_hopeless = is_open};
  }
  if (!is_same_result(expected, actual, inputs.mode)) {
    return {.answer = Answer::different,
            .reason = with_sizes(fmt::format("the results are {} before and {} after",
                                             expected.integer, actual.integer),
                                 inputs)};
  }
  Verdict verdict = difference(before, after);
  if (!verdict) verdict.reason = with_sizes(verdict.reason, inputs);
  return verdict;
}

Verdict compare_in_mode(const Pair& pair, Mode mode, const CompareOptions& options) {
  // Sizes that split evenly by usual factors, that do not, and that may be none; integers whose
  // products fit.
  constexpr std::int64_t largest_sizes[] = {5, 17, 1, 40, 3, 70};
  constexpr std::int64_t largest_ints[] = {100, 9, 2, 1};
  const bool is_open = has_open_sizes(*pair.before) || (pair.after && has_open_sizes(*pair.after));
  if (!is_open && pair.after) {
    const double time = run_time(pair.before) + run_time(pair.after);
    const auto most = static_cast<double>(options.max_statements);
    if (time > most / whole_part) {
      const Verdict sampled = compare_samples(pair.before, pair.after, mode, options);
      // What cannot be sampled is run after all, if it can be, or if it is not known how long it
      // takes.
      constexpr double unknown = 1e18;
      const bool is_hopeless = time > 2 * most && time < unknown;
      if (sampled.answer != Answer::undecided || is_hopeless) return sampled;
    }
  }
  const int wanted = is_open ? options.draws : options.runs;
  Verdict last{.reason = "nothing was run"};
  int passed = 0, failed = 0;
  // Where `before` fails on inputs that it was not written for, others are drawn.
  while (passed < wanted && failed < 3 * wanted) {
    const int attempt = passed + failed;
    const std::uint64_t seed = options.seed * 1'000'003 + static_cast<std::uint64_t>(attempt);
    InputDrawer drawer(*pair.before, seed, largest_sizes[attempt % std::size(largest_sizes)],
                       largest_ints[failed % std::size(largest_ints)], mode);
    const std::optional<Inputs> inputs = drawer.draw(last.reason);
    if (inputs) {
      last = compare_on(pair, *inputs, seed, options);
      if (last.answer == Answer::different) return last;
      if (last.answer == Answer::same) {
        ++passed;
        continue;
      }
    }
    // Other inputs are not faster.
    if (last.is_hopeless || (!inputs && !is_open)) break;
    ++failed;
  }
  return passed == wanted ? Verdict{.answer = Answer::same} : last;
}

/// Whether `before` calls a function of mathematics that `after` has expanded.
bool is_expanded(const Pair& pair) {
  const auto functions_of = [](const Ptr<PrimFunc>& func, const Ptr<IRModule>& module) {
    std::set<std::string_view> names;
    pre_order_visit(module ? Ref(module) : Ref(func), [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      const bool is_function = call && call->op.info().element_wise && call->dtype.is_float();
      if (is_function) names.insert(call->op.name());
      return true;
    });
    return names;
  };
  const auto before = functions_of(pair.before, pair.before_module);
  const auto after = functions_of(pair.after, pair.after_module);
  return !std::ranges::includes(after, before);
}

Verdict compare_by_running(const Pair& pair, const CompareOptions& options) {
  require_same_parameters(*pair.before, *pair.after);
  const bool has_host = calls_any(pair.before, pair.before_module, options.functions) ||
                        calls_any(pair.after, pair.after_module, options.functions);
  if (has_host) return compare_in_mode(pair, Mode::typed, options);
  Verdict verdict = compare_in_mode(pair, Mode::ring, options);
  // To the field, a polynomial is not what it stands for.
  const bool may_be_same = options.splits_powers || is_expanded(pair);
  if (verdict.answer != Answer::different || !may_be_same) return verdict;
  return compare_in_mode(pair, Mode::typed, options);
}

void throw_unless_same(const Verdict& verdict) {
  require(verdict.answer != Answer::different, ErrorKind::interp, "same_result",
          hint("the second program is not what the first one is"), {},
          "assert_same: the programs differ: {}", verdict.reason);
  require(verdict.answer == Answer::same, ErrorKind::interp, "comparable",
          hint("compare smaller programs, or run both yourself"), {}, "assert_same: undecided: {}",
          verdict.reason);
}

}  // namespace

Verdict compare(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after,
                const CompareOptions& options) {
  if (structural_equal(before, after)) return {.answer = Answer::same, .by_structure = true};
  return compare_by_running({before, after}, options);
}

Verdict compare(const Ptr<IRModule>& before, const Ptr<IRModule>& after,
                const CompareOptions& options) {
  if (structural_equal(before, after)) return {.answer = Answer::same, .by_structure = true};
  Verdict result{.answer = Answer::same};
  for (const auto& name : before->names) {
    const Ptr<PrimFunc> a = before->find(name->name_hint), b = after->find(name->name_hint);
    require(b.defined(), ErrorKind::interp, "same_functions",
            hint("compare modules of the same functions"), {},
            "the second module has no function {}", name->name_hint);
    result = compare_by_running({a, b, before, after, name->name_hint}, options);
    if (!result) {
      result.reason = fmt::format("{}: {}", name->name_hint, result.reason);
      return result;
    }
  }
  return result;
}

Verdict compare_code(const Ptr<PrimFunc>& before, const CompiledCode& call,
                     const CompareOptions& options) {
  return compare_in_mode({.before = before, .code = call}, Mode::typed, options);
}

void assert_same(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after,
                 const CompareOptions& options) {
  throw_unless_same(compare(before, after, options));
}

void assert_same(const Ptr<IRModule>& before, const Ptr<IRModule>& after,
                 const CompareOptions& options) {
  throw_unless_same(compare(before, after, options));
}

}  // namespace loopsmith::interp
