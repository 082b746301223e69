// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/sample.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/interp/difference.h"
#include "loopsmith/interp/interp.h"
#include "loopsmith/interp/random_inputs.h"
#include "loopsmith/interp/slice.h"

namespace loopsmith::interp {
namespace {

constexpr int wanted_samples = 30;
/// Samples that take long are enough when they are so many.
constexpr int least_samples = 4;

/// Races are searched for in so many.
constexpr int searched_samples = 2;

/// An element of a parameter, and its tensor among the inputs.
struct Sample {
  std::size_t parameter;
  std::size_t tensor;
  std::vector<std::int64_t> element;
};

/// One of the two programs, with arrays of its own.
struct Side {
  Side(const Ptr<PrimFunc>& func, const Inputs& original) : slicer(func), original(original) {}

  /// Computes an element; gives how many statements that took.
  std::int64_t run(const Sample& sample, const Options& options, std::size_t kept) {
    Slice slice = slicer.slice(sample.parameter, sample.element, kept);
    written = std::move(slice.written);
    return interp::run(slice.func, inputs.arguments, options).statements;
  }

  /// Makes the arrays what they were before the last run.
  void restore() {
    std::size_t tensor = 0;
    for (std::size_t p = 0; p < written.size(); ++p) {
      if (inputs.arguments[p].kind != LS_TENSOR) continue;
      if (written[p]) restore(inputs.tensors[tensor], original.tensors[tensor], *written[p]);
      ++tensor;
    }
  }

  Slicer slicer;
  const Inputs& original;
  Inputs inputs;
  std::vector<std::optional<Box>> written;  ///< By the last run.

 private:
  static void restore(DrawnTensor& tensor, const DrawnTensor& original, const Box& box) {
    // A row of the last dimension at a time; where rows are not compact, all of it.
    const int bits = tensor.tensor.dtype.bits * tensor.tensor.dtype.lanes;
    const std::size_t rank = tensor.shape.size();
    const auto count = static_cast<std::int64_t>(tensor.bytes.size()) * 8 / bits;
    if (box.size() != rank && bits % 8 == 0 && count > 0) {
      const std::int64_t low = std::clamp<std::int64_t>(box[0].min_value, 0, count - 1);
      const std::int64_t high = std::clamp<std::int64_t>(box[0].max_value, 0, count - 1);
      std::copy_n(original.bytes.begin() + low * bits / 8, (high - low + 1) * bits / 8,
                  tensor.bytes.begin() + low * bits / 8);
      return;
    }
    if (rank == 0 || bits % 8 != 0 || tensor.strides[rank - 1] != 1) {
      tensor.bytes = original.bytes;
      tensor.tensor.data = tensor.bytes.data();
      return;
    }
    std::vector<std::int64_t> low, high;
    for (std::size_t d = 0; d < rank; ++d) {
      low.push_back(std::clamp<std::int64_t>(box[d].min_value, 0, tensor.shape[d] - 1));
      high.push_back(std::clamp<std::int64_t>(box[d].max_value, 0, tensor.shape[d] - 1));
    }
    const std::int64_t row_bytes = (high[rank - 1] - low[rank - 1] + 1) * bits / 8;
    std::vector<std::int64_t> index = low;
    for (;;) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < rank; ++d) place += index[d] * tensor.strides[d];
      std::copy_n(original.bytes.begin() + place * bits / 8, row_bytes,
                  tensor.bytes.begin() + place * bits / 8);
      std::size_t d = rank - 1;
      while (d > 0 && ++index[d - 1] > high[d - 1]) {
        --d;
        index[d] = low[d];
      }
      if (d == 0) return;
    }
  }
};

/// Gives both sides arrays; they share those that none of them writes.
void give_inputs(Side& first, Side& second) {
  std::vector<bool> is_shared;
  for (std::size_t p = 0; p < first.original.arguments.size(); ++p) {
    is_shared.push_back(!first.slicer.writes(p) && !second.slicer.writes(p));
  }
  for (Side* side : {&first, &second}) side->inputs = side->original.copy(is_shared);
}

/// The first and the last element of each result, then any.
std::vector<Sample> draw_samples(const PrimFunc& func, const Side& before, const Side& after,
                                 std::uint64_t seed) {
  std::vector<Sample> results;
  std::size_t tensor = 0;
  for (std::size_t p = 0; p < func.params.size(); ++p) {
    if (!func.buffer_map[p]) continue;
    const std::vector<std::int64_t>& shape = before.inputs.tensors[tensor].shape;
    const bool is_written = before.slicer.writes(p) || after.slicer.writes(p);
    const bool is_empty = std::ranges::count(shape, 0) > 0;
    if (is_written && !is_empty) results.push_back({p, tensor, {}});
    ++tensor;
  }
  std::mt19937_64 random(seed);
  std::vector<Sample> samples;
  for (int i = 0; i < wanted_samples && !results.empty(); ++i) {
    Sample sample = results[static_cast<std::size_t>(i) % results.size()];
    const std::size_t turn = static_cast<std::size_t>(i) / results.size();
    for (const std::int64_t extent : before.inputs.tensors[sample.tensor].shape) {
      const auto any = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
      sample.element.push_back(turn == 0 ? 0 : turn == 1 ? extent - 1 : any);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Compares one element, the innermost `kept` loops around memory not counting apart. `is_lost`
/// becomes true where memory was read that an earlier iteration may have written.
Verdict compare_at(const Sample& sample, Side& before, Side& after, Options options,
                   std::size_t kept, std::int64_t& statements, bool& is_lost) {
  const auto note = [&](const UserError& error) {
    is_lost = error.code() == "element_was_written";
    return is_limit(error);
  };
  std::int64_t expected = 0;
  try {
    expected = before.run(sample, options, kept);
  } catch (const UserError& error) {
    return {.reason = "before: " + error.problem(), .is_hopeless = note(error)};
  }
  options.max_statements = max_after(expected, options.max_statements);
  try {
    statements += expected + after.run(sample, options, kept);
  } catch (const UserError& error) {
    const bool is_open = note(error);
    return {.answer = is_open ? Answer::undecided : Answer::different,
            .reason = "after: " + error.problem(),
            .is_hopeless = is_open};
  }
  return difference_at(before.inputs.tensors[sample.tensor], after.inputs.tensors[sample.tensor],
                       sample.element);
}

/// The same; where memory that was moved into loops has lost what it held, it is moved less. A
/// slice that reads nothing lost is exact.
Verdict compare_sample(const Sample& sample, Side& before, Side& after, const Options& options,
                       std::int64_t& statements) {
  Verdict verdict;
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, std::size_t{2}, all_loops}) {
    bool is_lost = false;
    verdict = compare_at(sample, before, after, options, kept, statements, is_lost);
    before.restore();
    after.restore();
    if (!is_lost) break;
  }
  return verdict;
}

}  // namespace

bool is_limit(const UserError& error) {
  for (const std::string_view code :
       {"statement_limit", "memory_limit", "interpretable", "index_is_exact"}) {
    if (error.code() == code) return true;
  }
  return false;
}

std::int64_t max_after(std::int64_t before, std::int64_t most) {
  return std::max(1'000'000 + 40 * before, most);
}

double run_time(const Ptr<PrimFunc>& func) {
  return Slicer(func).work();
}

Verdict compare_samples(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after, Mode mode,
                        const CompareOptions& options) {
  // Integers whose products fit.
  constexpr std::int64_t largest_ints[] = {100, 9, 2, 1};
  Verdict last;
  for (const std::int64_t largest_int : largest_ints) {
    const std::optional<Inputs> inputs =
        InputDrawer(*before, options.seed, 1, largest_int, mode).draw(last.reason);
    if (!inputs) return last;
    Side first(before, *inputs), second(after, *inputs);
    for (const Side* side : {&first, &second}) {
      const std::string& obstacle = side->slicer.obstacle();
      if (!obstacle.empty()) {
        return {.reason = fmt::format("too large to be run, and {}", obstacle),
                .is_hopeless = true};
      }
    }
    give_inputs(first, second);
    Options run_options{.mode = mode,
                        .implies_barriers = options.implies_barriers,
                        .seed = options.seed,
                        .max_statements = options.max_statements,
                        .on_pause = options.on_pause,
                        .functions = options.functions};
    std::int64_t statements = 0;
    int compared = 0;
    // To make memory takes about an eighth of a statement's time an element.
    const auto memory = static_cast<std::int64_t>(
        std::min(1e15, (first.slicer.elements() + second.slicer.elements()) / 8));
    const std::vector<Sample> samples = draw_samples(*before, first, second, options.seed);
    if (samples.empty()) {
      return {.reason = "too large to be run, and no element is written", .is_hopeless = true};
    }
    for (const Sample& sample : samples) {
      if (statements > options.max_statements / 4 && compared >= least_samples) break;
      // To search for races costs time in proportion to the arguments.
      run_options.check_races = compared < searched_samples;
      last = compare_sample(sample, first, second, run_options, statements);
      statements += memory;
      if (!last) break;
      ++compared;
    }
    if (last.answer == Answer::same) {
      last.reason = fmt::format("{} elements were sampled", compared);
      return last;
    }
    if (last.answer == Answer::different || last.is_hopeless) return last;
  }
  return last;
}

}  // namespace loopsmith::interp
