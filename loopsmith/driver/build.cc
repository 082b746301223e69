// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"

#include <unistd.h>

#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/codegen/processor.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/codegen/source/c_text.h"
#include "loopsmith/driver/export.h"
#include "loopsmith/driver/metadata.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/runtime/cpus.h"
#include "loopsmith/transform/expand_llvm_intrinsics.h"
#include "loopsmith/transform/link_calls.h"

namespace loopsmith {
namespace {

void require_built(const Target& target) {
  const bool is_built = target.kind() == TargetKind::llvm || target.kind() == TargetKind::c;
  require(is_built, "target_not_built", hint("build for llvm or c"),
          "build: code for {} is not generated yet", to_string(target.kind()));
}

/// C compilers make vectors of loops as well as we do; what people read should be loops.
constexpr int c_vector_bits = 256;

/// By measurement: a page is too near, four pages gain nothing more.
constexpr int prefetch_bytes = 8192;

/// What the second cache of this machine holds, for code that may run here.
std::int64_t core_cache_bytes(const Target& target) {
  const bool runs_here = target.kind() == TargetKind::c || !is_foreign(target);
  const long bytes = runs_here ? sysconf(_SC_LEVEL2_CACHE_SIZE) : 0;
  return bytes > 0 ? bytes : Machine().core_cache_bytes;
}

int vector_bits_of(const Target& target) {
  return target.kind() == TargetKind::c ? c_vector_bits : preferred_vector_bits(target);
}

Ptr<PrimFunc> without_vectors(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const auto same = rewrite.children(loop);
    if (loop.kind != ForKind::vectorized) return same;
    For serial = *same;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

/// In place of code for another machine.
std::int32_t refuse_to_run(ls_context* context, const ls_argument*) {
  const ls_error error = {
      .code = LS_ASSERTION,
      .parameter = -1,
      .dimension = -1,
      .message = "the code is for another machine: export it, and run it there"};
  return context->fail(context, &error);
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

/// `tir`, `llvm` and `assembly` or `c`, and `json`, which `export` reads; for each, all functions
/// in one text.
std::vector<SourceText> sources_of(const CodeRequest& request) {
  const auto tir = [request] {
    std::string text;
    for (const Ptr<PrimFunc>& func : request.helpers) text += script(func) + "\n";
    for (const Ptr<PrimFunc>& func : request.functions) text += script(without_trace(func)) + "\n";
    return text;
  };
  const SourceText json{"json", [request] { return request_text(request); }};
  if (request.target.kind() == TargetKind::c) {
    return {{"tir", tir}, {"c", [request] { return c_text(request); }}, json};
  }
  return {{"tir", tir},
          {"llvm", [request] { return llvm_text(request); }},
          {"assembly", [request] { return assembly_text(request); }},
          json};
}

/// `lower`, for a function that is known to be well-formed.
Ptr<PrimFunc> lower_known(const Ptr<PrimFunc>& func, const Target& target,
                          const BuildOptions& options) {
  const FloatOptions floats = allow({}, options.fast_math);
  const bool is_c = target.kind() == TargetKind::c;
  const Ptr<PrimFunc> known = expand_llvm_intrinsics(func, [&](std::string_view features) {
    return !is_c && has_features(target, std::string(features));
  });
  return lower_function(is_c ? without_vectors(known) : known,
                        {.vector_bits = vector_bits_of(target),
                         .fast_math = floats.approximate,
                         .on_pass = options.on_pass});
}

Module build_functions(const std::vector<Ptr<PrimFunc>>& functions, const Target& target,
                       const BuildOptions& options) {
  require_built(target);
  FloatOptions floats = allow({.contract = options.contract}, options.fast_math);
  CodeRequest request{{}, target, floats};
  for (const Ptr<PrimFunc>& func : functions) verify_well_formed(func);
  const LinkedFunctions linked = link_calls(functions);
  for (const Ptr<PrimFunc>& func : linked.entries) {
    request.functions.push_back(
        lower_known(schedule_by_rule(func, target, options), target, options));
  }
  for (const Ptr<PrimFunc>& func : linked.helpers) {
    request.helpers.push_back(lower_known(func, target, options));
  }
  std::vector<CompiledFunction> compiled;
  if (target.kind() == TargetKind::llvm && is_foreign(target)) {
    for (const Ptr<PrimFunc>& func : request.functions) {
      compiled.push_back({.signature = signature_of(*func), .address = refuse_to_run});
    }
    return Module(std::move(compiled), options.runtime, sources_of(request));
  }
  const auto code = std::make_shared<const LoadedObject>(
      target.kind() == TargetKind::c ? compile_c(c_text(request)) : compile_object(request));
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
  const bool has_many_registers =
      target.kind() == TargetKind::llvm && has_features(target, "+avx512vl");
  const bool is_x86 = target.kind() == TargetKind::llvm && x86_vector_bits(target) > 0;
  const int vector_bytes = vector_bits_of(target) / 8;
  return default_schedule(func, {.vector_bytes = vector_bytes,
                                 .vector_registers = has_many_registers ? 32 : 16,
                                 .cores = pool ? pool->num_threads() : default_num_threads(),
                                 .core_cache_bytes = core_cache_bytes(target),
                                 .streamed_bytes = is_x86 ? vector_bytes : 0,
                                 .prefetch_bytes = is_x86 ? prefetch_bytes : 0});
}

Ptr<PrimFunc> lower(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  require_built(target);
  verify_well_formed(func);
  return lower_known(func, target, options);
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
