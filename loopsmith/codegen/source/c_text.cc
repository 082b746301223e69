// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_text.h"

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/imports.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_helper.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/runtime/kernel/sources.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace detail {
namespace {

/// The entry of a function: its parameters out of the arguments, which were checked; the sizes that
/// are expressions are checked here.
class CEntry {
 public:
  CEntry(CModule& module, const PrimFunc& func)
      : module_(module),
        func_(func),
        symbol_(entry_symbol(func.name())),
        writer_(module, func.name(), {}) {}

  void write() {
    const Signature signature = signature_of(func_);
    tensors_.resize(func_.params.size());
    for (std::size_t i = 0; i < func_.params.size(); ++i) {
      bind_parameter(i, signature.spec().parameters[i].writable, signature.spec().noalias);
    }
    for (std::size_t i = 0; i < func_.params.size(); ++i) {
      if (func_.buffer_map[i]) bind_layout(i);
    }
    for (const SolvedSize& size : solved_sizes(func_)) {
      bind_size(size.extent,
                fmt::format("{}->shape[{}]", tensors_[size.parameter], size.dimension));
      bind_size(size.variable, fmt::format("({})", writer_.index(size.value).text));
    }
    for (const Check& check : checks_) require_equal(check);
    writer_.statement(func_.body);
    writer_.leave("LS_OK");
    module_.functions += fmt::format(
        "int32_t {0}(ls_context* context, const ls_argument* arguments);\n"
        "int32_t {0}(ls_context* context, const ls_argument* arguments) {{\n"
        "{1}}}\n\n",
        symbol_, writer_.take_text());
  }

 private:
  struct Check {
    Expr expected;
    std::string actual;
    std::size_t parameter;
    std::size_t dimension;
    const char* status;
  };

  void bind_parameter(std::size_t i, bool is_written, bool noalias) {
    const Ptr<Var>& param = func_.params[i];
    const std::string given = fmt::format("arguments[{}].value", i);
    const DataType dtype = param->dtype;
    const auto declare = [&](const std::string& type, const std::string& name,
                             const std::string& value) {
      writer_.line(fmt::format("{} {} = {};", type, name, value));
    };
    if (!dtype.is_handle()) {
      const std::string name = writer_.new_name(param->name);
      const bool is_wide = dtype.is_index();
      const std::string type = is_wide ? "int64_t" : c_type(dtype);
      if (dtype.is_float()) {
        const bool is_narrow = is_narrow_float(dtype);
        const std::string value = given + ".as_float";
        declare("const " + type, name,
                is_narrow ? fmt::format("{}({})", module_.helpers.conversion(f64, dtype), value)
                          : fmt::format("({}){}", type, value));
      } else {
        declare(
            "const " + type, name,
            dtype.is_bool() ? given + ".as_int != 0" : fmt::format("({}){}.as_int", type, given));
      }
      ConstIntBound bound = dtype.is_integer() ? arith::all_of(dtype) : ConstIntBound{};
      if (param->is_size) bound.min_value = 0;
      return writer_.bind(param, {name, dtype, type, bound, is_wide});
    }
    if (!func_.buffer_map[i]) {
      const bool is_typed = param->pointer.defined();
      const std::string type =
          is_typed ? c_memory_type(param->pointer->element.element()) + "*" : "void*";
      const std::string name = writer_.new_name(param->name);
      declare(type, name, fmt::format("({}){}.as_handle", type, given));
      return writer_.bind(param, {name, dtype, type});
    }
    const Buffer& buffer = *func_.buffer_map[i];
    tensors_[i] = writer_.new_name(buffer.name + "_tensor");
    writer_.line(fmt::format("DLTensor* const {} = {}.as_tensor;", tensors_[i], given));
    writer_.bind(param, {tensors_[i], dtype, "DLTensor*"});
    const std::string type =
        (is_written ? "" : "const ") + c_memory_type(buffer.dtype.element()) + "*";
    const std::string name = writer_.new_name(buffer.data->name);
    declare(type + (noalias ? " restrict" : ""), name,
            fmt::format("({0})((char*){1}->data + {1}->byte_offset)", type, tensors_[i]));
    writer_.bind(buffer.data, {name, handle_type, type});
  }

  void bind_layout(std::size_t i) {
    const Buffer& buffer = *func_.buffer_map[i];
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      if (as_int(buffer.shape[d])) continue;
      bind_or_check(buffer.shape[d],
                    {{}, fmt::format("{}->shape[{}]", tensors_[i], d), i, d, "LS_SHAPE"});
    }
    for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
      if (as_int(buffer.strides[d])) continue;
      bind_or_check(buffer.strides[d], {{}, stride_of(i, d), i, d, "LS_STRIDES"});
    }
    // The data's address has the offset in it.
    const auto offset = Ptr<Var>::from(buffer.elem_offset);
    if (offset && !writer_.is_bound(offset)) bind_size(offset, "0");
  }

  void bind_size(const Ptr<Var>& var, const std::string& value, bool may_be_negative = false) {
    const std::string name = writer_.new_name(var->name);
    const bool is_wide = var->dtype.is_index();
    const std::string type = is_wide ? "int64_t" : c_type(var->dtype);
    writer_.line(fmt::format("const {0} {1} = ({0}){2};", type, name, value));
    writer_.bind(var, {name,
                       var->dtype,
                       type,
                       {may_be_negative ? min_int(var->dtype) : 0, max_int(var->dtype)},
                       is_wide});
  }

  void bind_or_check(const Expr& expr, Check check) {
    const auto var = Ptr<Var>::from(expr);
    if (var.defined() && !writer_.is_bound(var)) {
      bind_size(var, check.actual, std::string_view(check.status) == "LS_STRIDES");
    } else if (!var.defined()) {
      check.expected = expr;
      checks_.push_back(check);
    }
  }

  /// From the tensor, or of a compact one where it has none.
  std::string stride_of(std::size_t i, std::size_t dimension) {
    const Buffer& buffer = *func_.buffer_map[i];
    std::string compact = "1";
    for (std::size_t d = buffer.shape.size(); d > dimension + 1; --d) {
      compact += fmt::format(" * {}->shape[{}]", tensors_[i], d - 1);
    }
    std::string stride =
        fmt::format("({0}->strides ? {0}->strides[{1}] : {2})", tensors_[i], dimension, compact);
    if (!buffer.auto_broadcast) return stride;
    return fmt::format("({}->shape[{}] == 1 ? 0 : {})", tensors_[i], dimension, stride);
  }

  void require_equal(const Check& check) {
    const CText expected = writer_.index(check.expected);
    writer_.leave_if(fmt::format("{} != {}", expected.in(CLevel::compare), check.actual),
                     fmt::format("{}, {}, {}, {}, {}, NULL", check.status, check.parameter,
                                 check.dimension, expected.text, check.actual));
  }

  CModule& module_;
  const PrimFunc& func_;
  std::string symbol_;
  CWriter writer_;
  std::vector<std::string> tensors_;
  std::vector<Check> checks_;
};

}  // namespace
}  // namespace detail

std::string c_prologue() {
  return std::string(detail::dialect_of(TargetKind::c).prologue) + kernel_header() + "\n";
}

namespace {

std::string written(const CodeRequest& request, const StatementLines* lines) {
  detail::CModule module{.floats = request.floats, .lines = lines};
  for (const ImportedCode& code : imported_code(request, import_c)) {
    module.imported += code.text + "\n";
  }
  for (const ImportedCode& code : imported_code(request, import_llvm)) {
    require(false, ErrorKind::lower, "target_takes_code", hint("import C by pragma_import_c"),
            code.span, "{}: target c takes no LLVM IR", import_llvm);
  }
  for (const Ptr<PrimFunc>& func : request.helpers) detail::write_helper(module, *func);
  for (const Ptr<PrimFunc>& func : request.functions) detail::CEntry(module, *func).write();
  return c_prologue() + module.imported + module.declarations + "\n" + module.helpers.text() +
         module.functions;
}

}  // namespace

std::string c_text(const CodeRequest& request) {
  return written(request, nullptr);
}

TextWithLines c_lines(const CodeRequest& request, const StatementLines& lines) {
  return detail::without_marks(written(request, &lines));
}

namespace detail {

TextWithLines without_marks(const std::string& marked) {
  TextWithLines made;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] == c_line_mark) {
      number = 0;
      while (marked[++i] != c_line_mark) {
        number = number * 10 + static_cast<std::uint32_t>(marked[i] - '0');
      }
      continue;
    }
    made.text += marked[i];
    if (marked[i] == '\n') made.lines.push_back(std::exchange(number, 0));
  }
  return made;
}

}  // namespace detail
}  // namespace loopsmith
