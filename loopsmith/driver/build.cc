// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"

#include <fmt/ranges.h>

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/codegen/profile_symbol.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/device_text.h"
#include "loopsmith/driver/back_ends.h"
#include "loopsmith/driver/costs.h"
#include "loopsmith/driver/export.h"
#include "loopsmith/driver/inspect.h"
#include "loopsmith/driver/metadata.h"
#include "loopsmith/driver/native_arch.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/gpu/schedule_for_gpu.h"
#include "loopsmith/runtime/cpus.h"
#include "loopsmith/runtime/device_program.h"
#include "loopsmith/runtime/profile.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/to_tir.h"
#include "loopsmith/transform/check_bounds.h"
#include "loopsmith/transform/check_launches.h"
#include "loopsmith/transform/link_calls.h"
#include "loopsmith/transform/outputs.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/profile_loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

constexpr std::string_view for_another_machine =
    "the code is for another machine: export it, and run it there";
constexpr std::string_view for_another_processor =
    "the code is for a processor with instructions that this machine's does not have: export it, "
    "and run it there, or build it for llvm -mcpu=native";

std::string tir_text(const CodeRequest& request) {
  std::string text;
  for (const Ptr<PrimFunc>& func : request.helpers) text += script(func) + "\n";
  for (const Ptr<PrimFunc>& func : request.functions) text += script(without_notes(func)) + "\n";
  return text;
}

/// `tir`, the forms of the back end, and `json`, which `export` reads; for each, all functions in
/// one text.
std::vector<SourceText> sources_of(const CodeRequest& request, const BackEnd& back_end) {
  std::vector<SourceText> sources{{"tir", [request] { return tir_text(request); }}};
  for (const TextForm& form : back_end.forms()) {
    sources.push_back({form.name, [request, &form] { return form.text(request); }});
  }
  sources.push_back({"json", [request] { return request_text(request); }});
  return sources;
}

/// `lower`, for a function that is known to be well-formed.
Ptr<PrimFunc> lower_known(const Ptr<PrimFunc>& func, const Target& target,
                          const BuildOptions& options) {
  const FloatOptions floats = allow({}, options.fast_math);
  const BackEnd& back_end = back_end_of(target);
  const bool is_gpu = target.is_gpu();
  const auto warp_size = is_gpu ? gpu_limits(target).warp_size : 1;
  const bool has_async_copies = is_gpu && gpu_limits(target).has_async_copies;
  // The engine serves products of four warps, and came with them.
  const bool has_copy_engine = is_gpu && gpu_limits(target).has_warpgroup_products;
  const bool has_tensor_cores = is_gpu && gpu_limits(target).has_tensor_cores;
  const Ptr<PrimFunc> lowered =
      lower_function(back_end.adapted(func, target), {.vector_bits = back_end.vector_bits(target),
                                                      .is_for_device = is_gpu,
                                                      .warp_size = static_cast<int>(warp_size),
                                                      .async_copies = has_async_copies,
                                                      .copy_engine = has_copy_engine,
                                                      .tensor_cores = has_tensor_cores,
                                                      .fast_math = floats.approximate,
                                                      .has_ldexp = back_end.has_ldexp(target),
                                                      .cut_loops = options.cut_loops,
                                                      .profile = options.profile,
                                                      .on_pass = options.on_pass,
                                                      .after_pass = options.after_pass});
  if (target.is_gpu()) check_launches(*lowered, target);
  return lowered;
}

/// The code of a request, ready to run. With names for each loop where a profiler wants them.
std::shared_ptr<const LoadedObject> loaded_code(const CodeRequest& request,
                                                const BackEnd& back_end) {
  if (!wants_names_for_perf()) {
    return std::make_shared<const LoadedObject>(back_end.object(request, nullptr));
  }
  const ProgramLines lines = program_lines(request);
  return std::make_shared<const LoadedObject>(back_end.object(request, &lines.statements),
                                              lines.loops);
}

/// The counters in loaded code of the statements of a function that are timed, by their numbers.
std::vector<LoopCounters*> counters_in(const PrimFunc& func, const LoadedObject& code) {
  std::vector<LoopCounters*> counters;
  pre_order_visit(func.body, [&](const Ref& ref) {
    const auto* timed = ref.as<AttrStmt>();
    if (timed && timed->attr_key == profile_key) {
      const auto number = static_cast<std::size_t>(*as_int(timed->value));
      counters.resize(std::max(counters.size(), number + 1));
      counters[number] = static_cast<LoopCounters*>(code.find(profile_symbol(*timed)));
    }
    return !is_expr(*ref.get());
  });
  return counters;
}

/// The kernels of a request, for the device that its target names.
std::shared_ptr<const DeviceProgram> device_program(const CodeRequest& request) {
  if (!request.target.is_gpu()) return nullptr;
  const auto kind = request.target.kind() == TargetKind::cuda ? kDLCUDA : kDLOpenCL;
  const auto number = static_cast<std::int32_t>(request.target.get_int("device", 0));
  return std::make_shared<const DeviceProgram>(DLDevice{kind, number}, device_text(request),
                                               kernels_of(request));
}

/// The function with the promise of `tir.noalias` where a step of a schedule has changed it, which
/// rests on arguments that are apart, and its attributes say nothing else.
Ptr<PrimFunc> with_promise_of_steps(const Ptr<PrimFunc>& func) {
  constexpr std::int64_t unsaid = -1;
  if (func->attrs.get_int("tir.noalias", unsaid) != unsaid) return func;
  bool has_steps = false;
  pre_order_visit(func->body, [&](const Ref& ref) {
    has_steps = has_steps || ref.get()->span.step > 0;
    return !has_steps;
  });
  return has_steps ? with_attr(func, "tir.noalias", Expr(true)) : func;
}

/// Refuses a function that comes with threads and uses memory of theirs outside of them; what a
/// schedule hands over was asked.
void require_memory_of_threads(const Ptr<PrimFunc>& func) {
  if (func->attrs.get_int("tir.is_scheduled", 0) != 0 || !has_launch(func->body)) return;
  require_no_obligations(Schedule(func, 1), "build");
}

Module build_functions(const std::vector<Ptr<PrimFunc>>& functions, const Target& target,
                       const BuildOptions& options) {
  const BackEnd& back_end = back_end_of(target);
  require(!options.profile || target.kind() == TargetKind::llvm, "profile_is_for_llvm",
          hint("measure it with module.time, or with the tools of the device"),
          "build: target {} has no code that times loops", target.text());
  FloatOptions floats = allow({.contract = options.contract}, options.fast_math);
  CodeRequest request{{}, target, floats};
  for (const Ptr<PrimFunc>& func : functions) verify_well_formed(func);
  const LinkedFunctions linked = link_calls(functions);
  require(!target.is_gpu() || linked.helpers.empty(), ErrorKind::lower, "functions_are_apart",
          hint("write what the other function does in its place"), {},
          "build: function {} is called by another one, which target {} has no code for",
          linked.helpers.empty() ? "" : linked.helpers[0]->name(), target.text());
  for (const Ptr<PrimFunc>& func : linked.entries) {
    const std::vector<SizeCheck> checks = check_bounds(*func);
    if (target.is_gpu()) require_memory_of_threads(func);
    const Ptr<PrimFunc> scheduled = schedule_by_rule(with_promise_of_steps(func), target, options);
    const Ptr<PrimFunc> lowered = with_size_checks(lower_known(scheduled, target, options), checks);
    request.functions.push_back(
        with_attr(lowered, outputs_attribute, with_outputs(func)->attrs.get(outputs_attribute)));
  }
  for (const Ptr<PrimFunc>& func : linked.helpers) {
    check_bounds(*func);
    request.helpers.push_back(lower_known(func, target, options));
  }
  std::vector<CompiledFunction> compiled;
  const auto refused = [&](std::string_view why) {
    for (const Ptr<PrimFunc>& func : request.functions) {
      compiled.push_back({.signature = signature_of(*func), .refusal = std::string(why)});
    }
    return Module(std::move(compiled), options.runtime, sources_of(request, back_end));
  };
  if (!back_end.foreign_triple(target).empty()) return refused(for_another_machine);
  if (!back_end.has_instructions_of(target)) return refused(for_another_processor);
  const std::shared_ptr<const LoadedObject> code = loaded_code(request, back_end);
  if (!code->missing().empty()) {
    return refused(
        fmt::format("this process has no function {}: load the library that has it, and "
                    "build again, or export the code, and link it there",
                    fmt::join(code->missing(), ", ")));
  }
  const auto program = device_program(request);
  RuntimeOptions runtime = options.runtime;
  if (program) runtime.call_host = launcher(program, runtime.call_host);
  for (std::size_t i = 0; i < request.functions.size(); ++i) {
    const Ptr<PrimFunc>& func = request.functions[i];
    auto* address = reinterpret_cast<ls_packed_function>(code->find(entry_symbol(func->name())));
    compiled.push_back({.signature = signature_of(*func),
                        .address = address,
                        .code = code,
                        .flops = flops_of(*linked.entries[i]),
                        .bytes = bytes_of(*func),
                        .device = program,
                        .loop_counters = counters_in(*func, *code)});
  }
  return Module(std::move(compiled), std::move(runtime), sources_of(request, back_end));
}

}  // namespace

CpuModel cpu_model_of(const Target& target, const BuildOptions& options) {
  CpuModel machine = back_end_of(target).machine_of(target);
  const ThreadPool* pool = options.runtime.pool.get();
  machine.cores = pool ? pool->num_threads() : default_num_threads();
  const bool may_flush = options.contract && allow({}, options.fast_math).no_denormals;
  if (!may_flush) machine.bfloat16_product = nullptr;
  return machine;
}

Ptr<PrimFunc> schedule_by_rule(const Ptr<PrimFunc>& func, const Target& target,
                               const BuildOptions& options) {
  const CpuModel machine = cpu_model_of(target, options);
  if (!options.default_schedule) return func;
  if (target.is_gpu())
    return recorded_func(schedule_for_gpu(func, gpu_limits(with_native_arch(target))));
  return with_default_schedule(func, machine);
}

Ptr<PrimFunc> lower(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  verify_well_formed(func);
  return lower_known(func, with_native_arch(target), options);
}

Module build(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  return build_functions({func}, with_native_arch(target), options);
}

Module build(const Ptr<IRModule>& module, const Target& target, const BuildOptions& options) {
  require(!module->functions.empty(), "module_has_functions", hint("add a function to the module"),
          "build: the module has no functions");
  std::vector<Ptr<PrimFunc>> functions;
  for (std::size_t i = 0; i < module->functions.size(); ++i) {
    functions.push_back(
        with_attr(module->functions[i], "global_symbol", string_imm(module->names[i]->name_hint)));
  }
  return build_functions(functions, with_native_arch(target), options);
}

namespace {

/// The function of a schedule, marked as scheduled by its user; `operation` asks for it.
Ptr<PrimFunc> function_of(const te::Schedule& schedule, const std::vector<Ref>& args,
                          std::string_view operation) {
  const Schedule steps = te::to_tir(schedule, args);
  require_no_obligations(steps, operation);
  return with_attr(recorded_func(steps), "tir.is_scheduled", Expr(1));
}

}  // namespace

Ptr<PrimFunc> lower(const te::Schedule& schedule, const std::vector<Ref>& args,
                    const Target& target, const BuildOptions& options) {
  return lower(function_of(schedule, args, "lower"), target, options);
}

Module build(const te::Schedule& schedule, const std::vector<Ref>& args, const Target& target,
             const BuildOptions& options) {
  return build(function_of(schedule, args, "build"), target, options);
}

}  // namespace loopsmith
