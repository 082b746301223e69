// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"
#include "loopsmith/runtime/module.h"
#include "loopsmith/te/schedule.h"
#include "loopsmith/transform/pass_record.h"

namespace loopsmith {

struct CpuModel;

/// What a build may do, and its observers.
struct BuildOptions {
  bool contract = true;                ///< `a * b + c` may be rounded once.
  std::vector<std::string> fast_math;  ///< What else may go; see codegen/options.h.
  bool default_schedule = true;        ///< Schedule by rule what has no schedule.
  bool cut_loops = true;               ///< Cut loops where guards come to hold.
  bool profile = false;    ///< Time loops while they run; see Function::loop_counters. Target llvm.
  RuntimeOptions runtime;  ///< Threads and memory of the module.
  std::function<void(const PassRecord&)> on_pass = {};  ///< Called after each pass.
  ExtraPass after_pass = {};                            ///< Passes of one's own.
};

/// What is known of the processor of a target, and how many threads a build with these options has.
CpuModel cpu_model_of(const Target& target, const BuildOptions& options = {});

/// What `build` makes of a function before it lowers it: scheduled by rule, unless the options or
/// its attribute `tir.is_scheduled` say that it is to stay as it is.
Ptr<PrimFunc> schedule_by_rule(const Ptr<PrimFunc>& func,
                               const Target& target = Target("llvm -mcpu=native"),
                               const BuildOptions& options = {});

/// The function as a code generator takes it, as it is scheduled.
Ptr<PrimFunc> lower(const Ptr<PrimFunc>& func, const Target& target = Target("llvm -mcpu=native"),
                    const BuildOptions& options = {});

/// Compiles a function, or those of a module, and loads the code.
Module build(const Ptr<PrimFunc>& func, const Target& target = Target("llvm -mcpu=native"),
             const BuildOptions& options = {});
Module build(const Ptr<IRModule>& module, const Target& target = Target("llvm -mcpu=native"),
             const BuildOptions& options = {});

/// The same for a schedule of tensor expressions, as the function whose parameters are `args`.
Ptr<PrimFunc> lower(const te::Schedule& schedule, const std::vector<Ref>& args,
                    const Target& target = Target("llvm -mcpu=native"),
                    const BuildOptions& options = {});
Module build(const te::Schedule& schedule, const std::vector<Ref>& args,
             const Target& target = Target("llvm -mcpu=native"), const BuildOptions& options = {});

}  // namespace loopsmith
