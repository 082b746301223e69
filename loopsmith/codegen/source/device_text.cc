// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/device_text.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/split_host_device.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace detail {
namespace {

KernelArgument argument_of(const Var& parameter) {
  if (parameter.dtype.is_handle()) return KernelArgument::memory;
  if (!parameter.dtype.is_float()) return KernelArgument::int64;
  return parameter.dtype.bits == 64 ? KernelArgument::float64 : KernelArgument::float32;
}

/// The pointers that a kernel writes through.
bool writes(const Stmt& body, const Ptr<Var>& pointer) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto* call = ref.as<Call>();
    const auto* element =
        call && call->op == op("address_of") ? call->args[0].as<BufferLoad>() : nullptr;
    found = found || (store && store->buffer->data.same_as(pointer)) ||
            (element && element->buffer->data.same_as(pointer));
    return !found;
  });
  return found;
}

/// The launch that a kernel is.
Launch launch_in(const PrimFunc& kernel) {
  Stmt body = kernel.body;
  while (const auto* decl = body.as<DeclBuffer>()) body = decl->body;
  return launch_of(body);
}

/// Writes one kernel.
class KernelWriter {
 public:
  KernelWriter(CModule& module, const PrimFunc& func)
      : module_(module), dialect_(module.dialect), func_(func), writer_(module, func.name(), {}) {}

  void write() {
    const Launch launch = launch_in(func_);
    std::string parameters;
    for (const Ptr<Var>& parameter : func_.params) {
      parameters += (parameters.empty() ? "" : ", ") + declared(parameter, func_.body);
    }
    std::int64_t threads = 1;
    for (const auto* loops : {&launch.blocks, &launch.threads}) {
      for (const Ptr<For>& loop : *loops) name_index(*loop);
    }
    for (const Ptr<For>& loop : launch.threads) {
      const std::int64_t* extent = as_int(loop->extent);
      threads = extent ? threads * *extent : 0;
    }
    Stmt inside = launch.body;
    for (std::size_t i = launch.memory.size(); i-- > 0;) {
      inside = with_body_of(launch.memory[i], std::move(inside));
    }
    writer_.begin_kernel(inside);
    writer_.statement(inside);
    module_.functions += fmt::format("{}{}({}) {{\n{}}}\n\n", head(threads),
                                     c_identifier(func_.name()), parameters, writer_.take_text());
  }

 private:
  static Stmt with_body_of(const Stmt& around, Stmt body) {
    if (const auto* allocate = around.as<Allocate>()) {
      Allocate copy = *allocate;
      copy.body = std::move(body);
      return make(std::move(copy));
    }
    return make(DeclBuffer{.buffer = around.as<DeclBuffer>()->buffer, .body = std::move(body)});
  }

  std::string head(std::int64_t threads) const {
    std::string text(dialect_.kernel_head);
    const std::size_t place = text.find("{}");
    if (place == std::string::npos) return text;
    if (threads > 0) return text.replace(place, 2, std::to_string(threads));
    // Their number is not known here.
    const std::size_t begin = text.find("__launch_bounds__");
    return text.erase(begin);
  }

  /// A parameter as C declares it, which is a variable of the kernel from here on.
  std::string declared(const Ptr<Var>& parameter, const Stmt& body) {
    const std::string name = writer_.new_name(parameter->name);
    const DataType dtype = parameter->dtype;
    if (dtype.is_handle()) {
      const std::string memory = c_memory_type(parameter->pointer->element.element());
      const std::string type = (writes(body, parameter) ? "" : "const ") + memory + "*";
      const bool no_alias = func_.attrs.get_int("tir.noalias", 0) != 0;
      writer_.bind(
          parameter,
          {.name = name, .dtype = handle_type, .type = type, .space = dialect_.global_space});
      return fmt::format("{}{}{} {}", dialect_.global_space, type,
                         no_alias ? dialect_.no_alias : "", name);
    }
    if (dtype.is_float()) {
      const bool is_narrow = is_narrow_float(dtype);
      const std::string own = is_narrow ? writer_.new_name(name + "_bits") : name;
      if (is_narrow) {
        writer_.line(fmt::format("const {} {} = {}({});", c_type(dtype), own,
                                 module_.helpers.conversion(f32, dtype), name));
      }
      writer_.bind(parameter, {own, dtype, c_type(dtype)});
      return fmt::format("const {} {}", dtype.bits == 64 ? "double" : "float", name);
    }
    if (dtype.is_index()) {
      ConstIntBound bound = arith::all_of(dtype);
      if (parameter->is_size) bound.min_value = 0;
      writer_.bind(parameter, {name, dtype, "int64_t", bound, /*is_wide=*/true});
    } else {
      const std::string own = writer_.new_name(name + "_value");
      writer_.line(dtype.is_bool()
                       ? fmt::format("const bool {} = {} != 0;", own, name)
                       : fmt::format("const {0} {1} = ({0}){2};", c_type(dtype), own, name));
      const ConstIntBound bound = arith::all_of(dtype);
      writer_.bind(parameter, {own, dtype, c_type(dtype), bound});
    }
    return "const int64_t " + name;
  }

  /// Names the index of a thread or a block.
  void name_index(const For& loop) {
    const ThreadAxis axis = thread_axis_of(loop);
    const std::string pattern(is_block_axis(axis) ? dialect_.block_index : dialect_.thread_index);
    const int dimension = dimension_of(axis);
    const std::string index =
        fmt::format(fmt::runtime(pattern), dimension, static_cast<char>('x' + dimension));
    const std::string name = writer_.new_name(loop.loop_var->name);
    const std::int64_t* extent = as_int(loop.extent);
    const DataType dtype = loop.loop_var->dtype;
    const std::int64_t last = extent ? std::max<std::int64_t>(*extent - 1, 0) : INT32_MAX;
    const bool is_wide = dtype.bits > 32;
    const std::string type = is_wide ? "int64_t" : "int32_t";
    writer_.line(fmt::format("const {0} {1} = ({0}){2};", type, name, index));
    writer_.bind(loop.loop_var, {name, dtype, type, {0, last}, is_wide});
  }

  CModule& module_;
  const CDialect& dialect_;
  const PrimFunc& func_;
  CWriter writer_;
};

std::int64_t shared_pool_bytes(const PrimFunc& kernel) {
  return bytes_in_shared_pool(launch_in(kernel));
}

std::vector<Ptr<PrimFunc>> all_kernels(const CodeRequest& request) {
  std::vector<Ptr<PrimFunc>> kernels;
  for (const Ptr<PrimFunc>& func : request.functions) {
    const SplitFunction split = split_host_device(func);
    kernels.insert(kernels.end(), split.kernels.begin(), split.kernels.end());
  }
  return kernels;
}

std::string written_kernels(const CodeRequest& request, const StatementLines* lines) {
  CModule module{
      .floats = request.floats, .lines = lines, .dialect = dialect_of(request.target.kind())};
  module.helpers.set_has_instructions(module.dialect.has_instructions);
  for (const Ptr<PrimFunc>& kernel : all_kernels(request)) KernelWriter(module, *kernel).write();
  return std::string(module.dialect.prologue) + module.declarations + module.helpers.text() +
         module.functions;
}

}  // namespace
}  // namespace detail

std::string device_text(const CodeRequest& request) {
  return detail::written_kernels(request, nullptr);
}

TextWithLines device_lines(const CodeRequest& request, const StatementLines& lines) {
  return detail::without_marks(detail::written_kernels(request, &lines));
}

std::vector<KernelInfo> kernels_of(const CodeRequest& request) {
  std::vector<KernelInfo> infos;
  for (const Ptr<PrimFunc>& kernel : detail::all_kernels(request)) {
    KernelInfo& info = infos.emplace_back();
    info.name = kernel->name();
    info.symbol = detail::c_identifier(kernel->name());
    const bool has_pool = !detail::dialect_of(request.target.kind()).shared_pool.empty();
    if (has_pool) info.shared_pool_bytes = detail::shared_pool_bytes(*kernel);
    for (const Ptr<Var>& parameter : kernel->params) {
      info.arguments.push_back(detail::argument_of(*parameter));
    }
  }
  return infos;
}

}  // namespace loopsmith
