// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"

#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/codegen/processor.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/runtime/cpus.h"

namespace loopsmith {
namespace {

void require_built(const Target& target) {
  require(target.kind() == TargetKind::llvm, "target_not_built", hint("build for llvm"),
          "build: code for {} is not generated yet", to_string(target.kind()));
}

/// How many bytes the tensors of constant shape have: what a call reads and writes at least.
double bytes_of(const PrimFunc& func) {
  double bytes = 0;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (!buffer) continue;
    double size = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) {
      const std::int64_t* constant = as_int(extent);
      size *= constant ? static_cast<double>(*constant) : 0;
    }
    bytes += size;
  }
  return bytes;
}

/// `tir`, `llvm` and `assembly`; for each, all functions in one text.
std::vector<SourceText> sources_of(const CodeRequest& request) {
  const auto tir = [request] {
    std::string text;
    for (const Ptr<PrimFunc>& func : request.functions) text += script(func);
    return text;
  };
  return {{"tir", tir},
          {"llvm", [request] { return llvm_text(request); }},
          {"assembly", [request] { return assembly_text(request); }}};
}

Module build_functions(const std::vector<Ptr<PrimFunc>>& functions, const Target& target,
                       const BuildOptions& options) {
  require_built(target);
  FloatOptions floats = allow({.contract = options.contract}, options.fast_math);
  CodeRequest request{{}, target, floats};
  for (const Ptr<PrimFunc>& func : functions) {
    verify_well_formed(func);
    request.functions.push_back(lower(schedule_by_rule(func, target, options), target, options));
  }
  const auto code = std::make_shared<const LoadedObject>(compile_object(request));
  std::vector<CompiledFunction> compiled;
  for (const Ptr<PrimFunc>& func : request.functions) {
    auto* address = reinterpret_cast<ls_packed_function>(code->find(code_symbol(*func)));
    compiled.push_back({.signature = signature_of(*func),
                        .address = address,
                        .code = code,
                        .bytes = bytes_of(*func)});
  }
  return Module(std::move(compiled), options.runtime, sources_of(request));
}

}  // namespace

Ptr<PrimFunc> schedule_by_rule(const Ptr<PrimFunc>& func, const Target& target,
                               const BuildOptions& options) {
  require_built(target);
  if (!options.default_schedule) return func;
  const ThreadPool* pool = options.runtime.pool.get();
  return default_schedule(func, {.vector_bytes = preferred_vector_bits(target) / 8,
                                 .vector_registers = has_features(target, "+avx512vl") ? 32 : 16,
                                 .cores = pool ? pool->num_threads() : default_num_threads()});
}

Ptr<PrimFunc> lower(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  require_built(target);
  const FloatOptions floats = allow({}, options.fast_math);
  return lower_function(func, {.vector_bits = preferred_vector_bits(target),
                               .fast_math = floats.approximate,
                               .on_pass = options.on_pass});
}

Module build(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  return build_functions({func}, target, options);
}

Module build(const Ptr<IRModule>& module, const Target& target, const BuildOptions& options) {
  require(!module->functions.empty(), "module_has_functions", hint("add a function to the module"),
          "build: the module has no functions");
  std::vector<Ptr<PrimFunc>> functions;
  for (std::size_t i = 0; i < module->functions.size(); ++i) {
    functions.push_back(
        with_attr(module->functions[i], "global_symbol", string_imm(module->names[i]->name_hint)));
  }
  return build_functions(functions, target, options);
}

}  // namespace loopsmith
