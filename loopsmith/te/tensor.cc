// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/tensor.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

/// The tensors read by `expr`, in order; what they are made from is not entered.
void collect_reads(const Expr& expr, std::vector<Tensor>& reads) {
  pre_order_visit(expr, [&](const Ref& ref) {
    if (const auto* load = ref.as<ProducerLoad>()) reads.emplace_back(load->producer);
    return !ref.is<loopsmith::Tensor>();
  });
}

std::vector<Tensor> all_reads(const Ref& op) {
  std::vector<Tensor> reads;
  if (const auto* compute = op.as<ComputeOp>()) {
    for (const Expr& body : compute->body) collect_reads(body, reads);
  } else if (const auto* scan = op.as<ScanOp>()) {
    reads.assign(scan->init.begin(), scan->init.end());
    reads.insert(reads.end(), scan->update.begin(), scan->update.end());
    reads.insert(reads.end(), scan->inputs.begin(), scan->inputs.end());
  } else if (const auto* external = op.as<ExternOp>()) {
    reads.assign(external->inputs.begin(), external->inputs.end());
  }
  return reads;
}

/// How deep the operations are does not matter: the path is kept here, not on the stack.
struct Visit {
  Ref op;
  std::vector<Tensor> reads;
  std::size_t next = 0;
};

}  // namespace

Span span_of(const Place& place) {
  if (current_span.known() || place.line() == 0) return current_span;
  return Span{.source = source_id(place.file_name()),
              .line = place.line(),
              .column = static_cast<std::uint16_t>(place.column())};
}

Expr Tensor::at(std::vector<Expr> indices) const {
  const std::vector<Expr>& extents = shape();
  require(indices.size() == extents.size(), ErrorKind::bounds, "one_index_a_dimension",
          hint("give one index for each dimension"), current_span,
          "tensor {} has {} dimensions, {} indices were given", name(), extents.size(),
          indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    require(indices[i].defined() && indices[i].dtype().is_integer(), ErrorKind::type_mismatch,
            "index_is_integer", hint("cast the index to int32 or int64"), current_span,
            "tensor {}: index {} is {}, not an integer", name(), i,
            indices[i].defined() ? to_string(indices[i].dtype()) : "missing");
    const std::int64_t* index = as_int(indices[i]);
    const std::int64_t* extent = as_int(extents[i]);
    require(!index || (*index >= 0 && (!extent || *index < *extent)), ErrorKind::bounds,
            "index_in_range", hint("indices count from 0 to the extent less 1"), current_span,
            "tensor {}: index {} is {}, out of the range of extent {}", name(), i,
            index ? *index : 0, extent ? std::to_string(*extent) : "unknown");
  }
  return make(ProducerLoad{.producer = *this, .indices = std::move(indices)});
}

std::string Tensor::name() const {
  std::string name(name_of((*this)->op));
  if (output_count((*this)->op) > 1) name += ".v" + std::to_string((*this)->value_index);
  return name;
}

IterVar Tensor::axis(std::size_t i) const {
  const auto* compute = (*this)->op.as<ComputeOp>();
  const std::size_t count = compute ? compute->axis.size() : 0;
  require(i < count, ErrorKind::bounds, "axis_in_range", hint("only results of compute have axes"),
          current_span, "tensor {} has {} axes, axis {} was asked for", name(), count, i);
  return compute->axis[i];
}

bool operator==(const Tensor& a, const Tensor& b) {
  return a.same_as(b) ||
         (a.defined() && b.defined() && a->op.same_as(b->op) && a->value_index == b->value_index);
}

Tensor placeholder(std::vector<Expr> shape, DataType dtype, std::string name, const Place& place) {
  const SpanScope scope(span_of(place));
  detail::require_shape("placeholder", name, shape, dtype);
  const Ref op =
      make(PlaceholderOp{.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
  return output(op, 0);
}

IterVar reduce_axis(const Expr& begin, const Expr& end, std::string name, const Place& place) {
  const SpanScope scope(span_of(place));
  for (const Expr& bound : {begin, end}) {
    require(bound.defined() && bound.dtype().is_integer() && bound.dtype().is_scalar(),
            ErrorKind::type_mismatch, "domain_is_integer", hint("give int32 or int64"),
            current_span, "reduce_axis {}: a bound is {}, not an integer", name,
            bound.defined() ? to_string(bound.dtype()) : "missing");
  }
  auto [low, high] = match_types(begin, end);
  const Expr extent = high - low;
  const std::int64_t* size = as_int(extent);
  require(!size || *size >= 0, ErrorKind::bounds, "extent_is_not_negative",
          hint("give (begin, end) with an end that is not below the begin"), current_span,
          "reduce_axis {}: the extent is {}, negative", name, size ? *size : 0);
  auto variable = var(std::move(name), extent.dtype());
  return make(loopsmith::IterVar{
      .dom = range(low, extent), .var = std::move(variable), .iter_type = IterType::comm_reduce});
}

std::string_view name_of(const Ref& op) {
  if (const auto* placeholder = op.as<PlaceholderOp>()) return placeholder->name;
  if (const auto* compute = op.as<ComputeOp>()) return compute->name;
  if (const auto* scan = op.as<ScanOp>()) return scan->name;
  if (const auto* external = op.as<ExternOp>()) return external->name;
  check(false, "name_of", "not an operation");
  return {};
}

std::size_t output_count(const Ref& op) {
  if (const auto* compute = op.as<ComputeOp>()) return compute->body.size();
  if (const auto* scan = op.as<ScanOp>()) return scan->update.size();
  if (const auto* external = op.as<ExternOp>()) return external->output_placeholders.size();
  return 1;
}

Tensor output(const Ref& op, std::size_t index) {
  require(index < output_count(op), ErrorKind::bounds, "output_in_range", hint("count from 0"),
          current_span, "operation {} has {} outputs, output {} was asked for", name_of(op),
          output_count(op), index);
  loopsmith::Tensor tensor{.op = op, .value_index = static_cast<std::int64_t>(index)};
  if (const auto* placeholder = op.as<PlaceholderOp>()) {
    tensor.dtype = placeholder->dtype;
    tensor.shape = placeholder->shape;
  } else if (const auto* compute = op.as<ComputeOp>()) {
    tensor.dtype = compute->body[index].dtype();
    for (const auto& axis : compute->axis) tensor.shape.push_back(axis->dom->extent);
  } else if (const auto* scan = op.as<ScanOp>()) {
    tensor.dtype = scan->state_placeholder[index]->dtype;
    tensor.shape = scan->state_placeholder[index]->shape;
  } else {
    const auto& buffer = op.as<ExternOp>()->output_placeholders[index];
    tensor.dtype = buffer->dtype;
    tensor.shape = buffer->shape;
  }
  return make(std::move(tensor));
}

std::vector<Tensor> input_tensors(const Ref& op) {
  std::vector<Tensor> inputs;
  for (const Tensor& read : all_reads(op)) {
    if (std::find(inputs.begin(), inputs.end(), read) == inputs.end()) inputs.push_back(read);
  }
  return inputs;
}

std::vector<Ref> post_order(const std::vector<Tensor>& tensors) {
  std::vector<Ref> order;
  std::unordered_set<const Object*> seen;
  std::vector<Visit> path;
  const auto enter = [&](const Ref& op) {
    if (seen.insert(op.get()).second) path.push_back({op, all_reads(op)});
  };
  for (const Tensor& tensor : tensors) {
    enter(tensor->op);
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next < visit.reads.size()) {
        enter(visit.reads[visit.next++]->op);
      } else {
        order.push_back(visit.op);
        path.pop_back();
      }
    }
  }
  return order;
}

namespace detail {

void require_shape(std::string_view what, std::string_view name, const std::vector<Expr>& shape,
                   DataType dtype) {
  require(!dtype.is_void() && !dtype.is_handle(), ErrorKind::type_mismatch, "tensor_of_numbers",
          hint("give a numeric type, as float32"), current_span,
          "{} {}: its elements are {}, not numbers", what, name, to_string(dtype));
  std::int64_t bytes = dtype.bytes();
  bool is_empty = false;
  bool overflows = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    require(shape[i].defined() && shape[i].dtype().is_integer() && !shape[i].dtype().is_bool() &&
                shape[i].dtype().is_scalar(),
            ErrorKind::type_mismatch, "shape_is_integer", hint("give sizes as int32 or int64"),
            current_span, "{} {}: dimension {} of the shape is {}, not an integer", what, name, i,
            shape[i].defined() ? to_string(shape[i].dtype()) : "missing");
    const std::int64_t* extent = as_int(shape[i]);
    if (!extent) continue;
    require(*extent >= 0, ErrorKind::bounds, "shape_is_not_negative", hint("sizes are 0 or more"),
            current_span, "{} {}: dimension {} of the shape is {}, negative", what, name, i,
            *extent);
    is_empty |= *extent == 0;
    overflows |= __builtin_mul_overflow(bytes, *extent, &bytes);
  }
  require(!overflows || is_empty, ErrorKind::bounds, "size_fits_int64",
          hint("the bytes of a tensor are counted in an int64"), current_span,
          "{} {}: the shape overflows, it has more than 2^63 bytes", what, name);
}

}  // namespace detail

}  // namespace loopsmith::te
