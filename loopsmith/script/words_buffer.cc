// SPDX-License-Identifier: Apache-2.0
// Buffers and memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

using Opened = ScriptValue::Definition::Opened;

/// A buffer as it is described, without name and pointer.
struct Description {
  Buffer parts;
  std::string scope;
  bool makes_offset = false;
};

/// Where the parameters of a buffer begin in a word's: shape, dtype, data, strides, elem_offset,
/// scope, align, offset_factor, buffer_type, axis_separators.
Description describe(Lowering& lowering, const Arguments& args, std::size_t first) {
  Description made;
  const auto at = [&](std::size_t i) -> const ScriptValue& { return args[first + i]; };
  const auto sizes = [&](const ScriptValue& value) {
    std::vector<Expr> result;
    for (const ScriptValue& item : lowering.items_or_one(lowering.named(value))) {
      // A text is a size that the buffer defines.
      const auto* name = item.as<std::string>();
      result.push_back(name ? lowering.size_named(*name) : lowering.expr(item));
    }
    return result;
  };
  if (!at(0).is_none()) made.parts.shape = sizes(at(0));
  made.parts.dtype = at(1).is_none() ? f32 : lowering.data_type(at(1), "dtype");
  if (made.parts.dtype.is_void()) made.parts.dtype = f32;
  if (!at(2).is_none()) {
    made.parts.data = Ptr<Var>::from(lowering.expr(at(2)));
    lowering.require_here(made.parts.data.defined(), "buffer_data_is_pointer",
                          hint("give a pointer: A.data, or what T.allocate gave"),
                          "data: {} is no pointer", lowering.describe(at(2)));
  }
  if (!at(3).is_none()) made.parts.strides = sizes(at(3));
  made.scope = at(5).is_none() ? "" : lowering.text(at(5), "scope");
  const std::int64_t align = at(6).is_none() ? 0 : lowering.integer(at(6), "align");
  made.parts.data_alignment = align > 0 ? align : 64;
  const std::int64_t factor = at(7).is_none() ? 0 : lowering.integer(at(7), "offset_factor");
  made.parts.offset_factor = factor > 0 ? factor : 1;
  if (!at(4).is_none()) {
    const auto* name = at(4).as<std::string>();
    made.parts.elem_offset = name ? lowering.size_named(*name) : lowering.expr(at(4));
  }
  made.makes_offset = factor > 1 && !args.has(first + 4);
  if (!at(8).is_none()) {
    const std::string type = lowering.text(at(8), "buffer_type");
    made.parts.auto_broadcast = type == "auto_broadcast" || type == "auto";
    lowering.require_here(type.empty() || type == "default" || made.parts.auto_broadcast,
                          "buffer_type_is_known", hint("default or auto_broadcast"),
                          "buffer_type: there is no '{}'", type);
  }
  if (!at(9).is_none()) {
    for (const ScriptValue& item : lowering.items(at(9), "axis_separators")) {
      made.parts.axis_separators.push_back(lowering.integer(item, "axis_separators"));
    }
  }
  return made;
}

Ptr<Buffer> named_buffer(Description made, const std::string& name) {
  made.parts.name = name;
  if (!made.parts.data.defined()) made.parts.data = pointer_var(name, made.parts.dtype, made.scope);
  if (made.makes_offset) made.parts.elem_offset = var(name + "_elem_offset");
  if (made.parts.auto_broadcast && made.parts.strides.empty()) {
    // With compact strides, an extent of 1 would be read beyond its one element.
    for (std::size_t d = 0; d < made.parts.shape.size(); ++d) {
      const DataType dtype = made.parts.shape[d].dtype();
      made.parts.strides.push_back(var(fmt::format("{}_stride_{}", name, d), dtype));
    }
  }
  return make(std::move(made.parts));
}

/// A type, or in a function, where `data` is given, a view that is declared for the rest of the
/// scope.
ScriptValue plain_buffer(Lowering& lowering, const Arguments& args, const Word&) {
  Description made = describe(lowering, args, 0);
  const bool is_view = made.parts.data.defined() && lowering.in_function();
  return ScriptValue::definition(
      [made, is_view, span = current_span](const std::string& name) {
        const SpanScope here(span);
        const Ptr<Buffer> buffer = named_buffer(made, name);
        Opened opened{{ScriptValue::node(buffer)}};
        if (is_view) {
          opened.wrap = [buffer](Stmt body) -> Stmt {
            return make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
          };
        }
        return opened;
      },
      "buffer");
}

ScriptValue alloc_buffer(Lowering& lowering, const Arguments& args, const Word&) {
  BlockState& state = lowering.block("T.alloc_buffer");
  return ScriptValue::definition(
      [made = describe(lowering, args, 0), &state, span = current_span](const std::string& name) {
        const SpanScope here(span);
        const Ptr<Buffer> buffer = named_buffer(made, name);
        state.alloc_buffers.push_back(buffer);
        return Opened{{ScriptValue::node(buffer)}};
      },
      "buffer");
}

/// A view of memory that exists; without `data`, with memory of its own.
ScriptValue decl_buffer_word(Lowering& lowering, const Arguments& args, const Word&) {
  lowering.function("T.decl_buffer");
  return ScriptValue::definition(
      [made = describe(lowering, args, 0), span = current_span](const std::string& name) {
        const SpanScope here(span);
        const bool allocates = !made.parts.data.defined();
        const Ptr<Buffer> buffer = named_buffer(made, name);
        return Opened{{ScriptValue::node(buffer)}, [buffer, allocates](Stmt body) -> Stmt {
                        Stmt declared = make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
                        if (!allocates) return declared;
                        return make(Allocate{.dtype = buffer->dtype,
                                             .extents = buffer->shape,
                                             .condition = true,
                                             .buffer_var = buffer->data,
                                             .body = std::move(declared)});
                      }};
      },
      "buffer");
}

/// The declared shape is that of the region, up to extents of 1 in front.
void check_view(Lowering& lowering, const Buffer& view, const BufferRegion& source) {
  const std::size_t rank = view.shape.size(), source_rank = source.region.size();
  lowering.require_here(rank <= source_rank, "view_has_rank_of_region",
                        hint("give the extents of the region"),
                        "the view has {} dimensions, the region {}", rank, source_rank);
  Analyzer analyzer;
  for (std::size_t i = 0; i < source_rank; ++i) {
    const Expr& extent = source.region[i]->extent;
    const std::size_t outer = source_rank - rank;
    const Expr declared = i < outer ? int_imm(extent.dtype(), 1) : view.shape[i - outer];
    const bool differs = analyzer.can_prove(cast(i64, extent) != cast(i64, declared));
    lowering.require_here(!differs, "view_has_shape_of_region",
                          hint("give the extents of the region"),
                          "the view has extent {} where the region has {}", declared, extent);
  }
}

ScriptValue match_buffer(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue source = lowering.named(args[0]);
  Description made = describe(lowering, args, 1);
  const auto param = source.node_as<Var>();
  if (param && param->dtype.is_handle()) {
    Lowering::Function& func = lowering.function("T.match_buffer");
    const auto place = std::ranges::find_if(
        func.params, [&](const Ptr<Var>& other) { return other.same_as(param); });
    lowering.require_here(place != func.params.end(), "match_is_of_parameter",
                          hint("give a parameter of the function, or a region in a block"),
                          "T.match_buffer: {} is no parameter", param->name);
    lowering.require_here(lowering.block("T.match_buffer").is_root, "match_is_at_top",
                          hint("match parameters at the top of the function"),
                          "T.match_buffer of a parameter stands in a block");
    lowering.require_here(!args[1].is_none(), "shape_is_given", hint("give its shape"),
                          "T.match_buffer: the shape is missing");
    const auto i = static_cast<std::size_t>(place - func.params.begin());
    lowering.require_here(!func.buffer_map[i], "matched_once", hint("use the buffer that it has"),
                          "T.match_buffer: parameter {} has a buffer already", param->name);
    return ScriptValue::definition(
        [made, &func, i, span = current_span](const std::string& name) {
          const SpanScope here(span);
          func.buffer_map[i] = named_buffer(made, name);
          return Opened{{ScriptValue::node(func.buffer_map[i])}};
        },
        "buffer");
  }
  lowering.require_here(!param.defined(), "match_is_of_handle",
                        hint("give a T.handle parameter or a region"),
                        "T.match_buffer: {} is {}, not a handle", param ? param->name : "",
                        param ? to_string(param->dtype) : "");
  BlockState& state = lowering.block_with_axes("T.match_buffer of a region");
  const Ptr<BufferRegion> region = lowering.region(source);
  if (args[1].is_none()) {
    for (const auto& range : region->region) made.parts.shape.push_back(range->extent);
  }
  if (!args.has(2)) made.parts.dtype = region->buffer->dtype;
  if (made.scope.empty()) made.scope = region->buffer->scope();
  check_view(lowering, made.parts, *region);
  return ScriptValue::definition(
      [made, &state, region, span = current_span](const std::string& name) {
        const SpanScope here(span);
        const Ptr<Buffer> buffer = named_buffer(made, name);
        state.match_buffers.push_back(make(MatchBufferRegion{.source = region, .buffer = buffer}));
        return Opened{{ScriptValue::node(buffer)}};
      },
      "buffer");
}

ScriptValue allocate(Lowering& lowering, const Arguments& args, const Word&) {
  lowering.function("T.allocate");
  Allocate parts{.dtype = lowering.data_type(args[1], "dtype"),
                 .extents = lowering.exprs(args[0]),
                 .condition = args[3].is_none() ? Expr(true) : lowering.expr(args[3]),
                 .annotations = lowering.attrs(args[4], "annotations")};
  const std::string scope = args[2].is_none() ? "" : lowering.text(args[2], "scope");
  return ScriptValue::definition(
      [parts, scope](const std::string& name) {
        const Ptr<Var> pointer = pointer_var(name, parts.dtype, scope);
        return Opened{{ScriptValue::node(pointer)}, [parts, pointer](Stmt body) -> Stmt {
                        Allocate node = parts;
                        node.buffer_var = pointer;
                        node.body = std::move(body);
                        return make(std::move(node));
                      }};
      },
      "p");
}

/// The elements of nested lists, row by row.
void flatten(Lowering& lowering, const ScriptValue& given, DataType type, std::vector<Expr>& data) {
  const ScriptValue value = lowering.named(given);
  if (value.as_shared<ScriptValue::List>() || value.as<std::shared_ptr<ForeignValue>>()) {
    for (const ScriptValue& item : lowering.items(value, "T.allocate_const")) {
      deep_call([&] { flatten(lowering, item, type, data); });
    }
    return;
  }
  if (const auto* text = value.as<std::string>()) {
    data.push_back(
        lowering.expr(lowering.call(ScriptValue::Data(type), {ScriptValue::text(*text)}, {})));
    return;
  }
  data.push_back(cast(type, lowering.expr(value, type)));
}

ScriptValue allocate_const(Lowering& lowering, const Arguments& args, const Word&) {
  lowering.function("T.allocate_const");
  AllocateConst parts{.dtype = lowering.data_type(args[1], "dtype"),
                      .annotations = lowering.attrs(args[3], "annotations")};
  flatten(lowering, args[0], parts.dtype, parts.data);
  for (const ScriptValue& extent : lowering.items_or_one(lowering.named(args[2]))) {
    parts.extents.push_back(lowering.integer(extent, "T.allocate_const"));
  }
  return ScriptValue::definition(
      [parts](const std::string& name) {
        const Ptr<Var> pointer = pointer_var(name, parts.dtype);
        return Opened{{ScriptValue::node(pointer)}, [parts, pointer](Stmt body) -> Stmt {
                        AllocateConst node = parts;
                        node.buffer_var = pointer;
                        node.body = std::move(body);
                        return make(std::move(node));
                      }};
      },
      "p");
}

template <std::size_t n, std::size_t m>
constexpr std::array<char, n + m - 1> joined(const char (&a)[n], const char (&b)[m]) {
  std::array<char, n + m - 1> text{};
  std::copy(a, a + n - 1, text.begin());
  std::copy(b, b + m, text.begin() + n - 1);
  return text;
}

constexpr char after_shape[] =
    "dtype: str = \"float32\", data: Expr | None = None, strides: Sequence[ExprLike] | None = "
    "None, elem_offset: ExprLike | None = None, scope: str = \"global\", align: int = -1, "
    "offset_factor: int = 0, buffer_type: str = \"default\", axis_separators: Sequence[int] | "
    "None = None";
constexpr auto buffer_parameters = joined("shape: Sequence[ExprLike] | ExprLike, ", after_shape);
constexpr auto match_parameters =
    joined("param: Any, shape: Sequence[ExprLike] | ExprLike | None = None, ", after_shape);

}  // namespace

std::span<const Word> buffer_words() {
  static constexpr std::string_view shape_first(buffer_parameters.data());
  static constexpr Word words[] = {
      {"T", "Buffer", shape_first, "Buffer", plain_buffer,
       "A buffer: the type of a parameter, or a view of memory that exists."},
      {"T", "buffer_decl", shape_first, "Buffer", plain_buffer, "The same as Buffer."},
      {"T", "alloc_buffer", shape_first, "Buffer", alloc_buffer,
       "A buffer that the block around it allocates."},
      {"T", "decl_buffer", shape_first, "Buffer", decl_buffer_word,
       "A view of memory; without data, of memory of its own."},
      {"T", "match_buffer", std::string_view(match_parameters.data()), "Buffer", match_buffer,
       "The buffer behind a parameter, or a view of a region."},
      {"T", "allocate",
       "extents: Sequence[ExprLike] | ExprLike, dtype: str, scope: str = \"global\", condition: "
       "ExprLike | None = None, annotations: dict[str, Any] | None = None",
       "Any", allocate, "Memory for the rest of the scope; gives its pointer."},
      {"T", "allocate_const",
       "data: Any, dtype: str, extents: Sequence[int], annotations: dict[str, Any] | None = None",
       "Any", allocate_const, "Constant memory for the rest of the scope; gives its pointer."},
  };
  return words;
}

}  // namespace loopsmith::parsing
