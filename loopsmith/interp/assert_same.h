// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/host_function.h"

namespace loopsmith::interp {

/// Whether two programs compute the same.
enum class Answer {
  same,       ///< By structure; or on random inputs, where chance hides a difference once in 2^60.
  different,  ///< On inputs that were found, or one of them may not run.
  undecided,  ///< They could not be run: too large, or `before` itself makes a mistake.
};

/// What was found out, and how.
struct Verdict {
  Answer answer = Answer::undecided;
  std::string reason = {};  ///< The first difference; what kept them from being run; of programs
                            ///< that are too large for that, how many elements were sampled.
  bool by_structure = false;
  bool is_hopeless = false;  ///< Undecided on any inputs: too large, or nothing that can be run.
  // Of the first element that differs; empty where something else does.
  std::string buffer = {};
  std::vector<std::int64_t> index = {};

  explicit operator bool() const { return answer == Answer::same; }
};

/// How `compare` works, and how far it goes.
struct CompareOptions {
  std::uint64_t seed = 1;
  int runs = 2;   ///< With inputs of their own, where all sizes are constants.
  int draws = 5;  ///< Of sizes, where some are not.
  /// Of `before`, in each run. Of `after` too, which may take 40 times what `before` took as well.
  std::int64_t max_statements = 50'000'000;
  /// Called once in about a million statements; what it throws ends the comparison.
  std::function<void()> on_pause = {};
  /// Functions of the host. Programs that call one of them are run in their own types on small
  /// whole numbers, and compared up to rounding.
  HostFunctions functions = {};
  /// The two may differ by exp(a + b) = exp(a) exp(b), which the field does not know: where it
  /// distinguishes them, they are run in their own types, too, and compared up to rounding.
  bool splits_powers = false;
  /// As in `Options`: neither program is lowered yet.
  bool implies_barriers = false;
};

/// Compares what two functions of the same parameters write, in exact-ring mode: by structure
/// first, then on random inputs and small sizes; of programs too large to be run, elements here and
/// there. Where one has expanded a function of mathematics that the other calls, they are compared
/// as if they called the host. Tensors are compared whether they are outputs or not. Throws an
/// error of kind `interp` when their parameters are not the same.
Verdict compare(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after,
                const CompareOptions& options = {});

/// The same for each function of two modules, by name.
Verdict compare(const Ptr<IRModule>& before, const Ptr<IRModule>& after,
                const CompareOptions& options = {});

/// The same for code that was compiled, where `call` calls it on arguments. Both are run in their
/// own types, on small whole numbers, and compared up to rounding; sizes may not get too large to
/// be run.
Verdict compare_code(const Ptr<PrimFunc>& before,
                     const std::function<void(std::span<const CallArgument>)>& call,
                     const CompareOptions& options = {});

/// Throws an error of kind `interp` unless the two compute the same: with the code `same_result`
/// where they differ, `comparable` where nothing could be found out.
void assert_same(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after,
                 const CompareOptions& options = {});
void assert_same(const Ptr<IRModule>& before, const Ptr<IRModule>& after,
                 const CompareOptions& options = {});

}  // namespace loopsmith::interp
