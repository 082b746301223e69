// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/random_inputs.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/interp/arguments.h"
#include "loopsmith/interp/memory.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/ir/solved_sizes.h"

namespace loopsmith::interp {
namespace {

/// What may not be exceeded by all tensors together, in bytes.
constexpr std::int64_t max_bytes = std::int64_t{1} << 30;

/// The buffers that are read to find an index, an extent or a condition's bound.
std::unordered_set<const Object*> buffers_in_indices(const Stmt& body) {
  std::unordered_set<const Object*> found;
  const auto add = [&](const Expr& index) {
    if (!index.defined()) return;
    pre_order_visit(index, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) found.insert(load->buffer->data.get());
      return true;
    });
  };
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) std::ranges::for_each(load->indices, add);
    if (const auto* store = ref.as<BufferStore>()) std::ranges::for_each(store->indices, add);
    if (const auto* realize = ref.as<BlockRealize>()) {
      std::ranges::for_each(realize->iter_values, add);
    }
    if (const auto* loop = ref.as<For>()) add(loop->min), add(loop->extent);
    if (const auto* let = ref.as<LetStmt>()) add(let->value);
    return true;
  });
  return found;
}

}  // namespace

bool has_open_sizes(const PrimFunc& func) {
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    if (!buffer) return true;
    for (const Expr& extent : buffer->shape) {
      if (!as_int(extent)) return true;
    }
  }
  return false;
}

Inputs Inputs::copy(const std::vector<bool>& is_shared) const {
  Inputs result;
  result.sizes = sizes;
  result.mode = mode;
  for (std::size_t p = 0; p < arguments.size(); ++p) {
    if (arguments[p].kind != LS_TENSOR) {
      result.arguments.push_back(arguments[p]);
      continue;
    }
    const DrawnTensor& source = tensors[result.tensors.size()];
    DrawnTensor& tensor = result.tensors.emplace_back();
    tensor.name = source.name;
    tensor.element = source.element;
    tensor.shape = source.shape;
    tensor.strides = source.strides;
    tensor.tensor = source.tensor;
    if (p >= is_shared.size() || !is_shared[p]) {
      tensor.bytes = source.bytes;
      tensor.tensor.data = tensor.bytes.data();
    }
    tensor.tensor.shape = tensor.shape.data();
    tensor.tensor.strides = tensor.strides.data();
    result.arguments.push_back(&tensor.tensor);
  }
  return result;
}

InputDrawer::InputDrawer(const PrimFunc& func, std::uint64_t seed, std::int64_t largest_size,
                         std::int64_t largest_int, Mode mode)
    : func_(func),
      random_(seed),
      largest_size_(largest_size),
      largest_int_(largest_int),
      mode_(mode),
      index_buffers_(buffers_in_indices(func.body)) {}

std::int64_t InputDrawer::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

std::optional<std::int64_t> InputDrawer::value_of(const Expr& size) {
  if (const std::int64_t* value = as_int(size)) return *value;
  const Expr known = Analyzer().simplify(substitute(size, symbols_));
  const std::int64_t* value = as_int(known);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<Inputs> InputDrawer::draw(std::string& reason) {
  Inputs inputs;
  inputs.mode = mode_;
  // Where they are few, sizes may be none.
  const std::int64_t least = largest_size_ <= 3 ? 0 : 1;
  const auto draw_symbol = [&](const Expr& symbol) {
    const auto* var = symbol.as<Var>();
    if (!var || !var->dtype.is_integer() || symbols_.contains(symbol)) return;
    const std::int64_t value = var->dtype.is_bool()
                                   ? between(0, 1)
                                   : between(least, std::min(largest_size_, max_int(var->dtype)));
    symbols_[symbol] = int_imm(var->dtype, value);
    inputs.sizes += fmt::format("{}{} = {}", inputs.sizes.empty() ? "" : ", ", var->name, value);
  };
  for (std::size_t i = 0; i < func_.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func_.buffer_map[i];
    if (!buffer) {
      draw_symbol(func_.params[i]);
      continue;
    }
    for (const Expr& extent : buffer->shape) draw_symbol(extent);
  }
  for (const SolvedSize& size : solved_sizes(func_)) draw_symbol(size.variable);

  // Shapes first: what indices are drawn from depends on all of them.
  std::int64_t smallest = largest_size_, bytes = 0;
  for (std::size_t i = 0; i < func_.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func_.buffer_map[i];
    if (!buffer) continue;
    DrawnTensor& tensor = inputs.tensors.emplace_back();
    tensor.name = buffer->name;
    tensor.element = buffer->dtype.element();
    std::int64_t last = 0;
    for (const Expr& extent : buffer->shape) {
      const auto value = value_of(extent);
      if (!value || *value < 0) {
        reason = fmt::format("an extent of {} cannot be drawn", buffer->name);
        return std::nullopt;
      }
      tensor.shape.push_back(*value);
      smallest = std::min(smallest, std::max<std::int64_t>(*value, 1));
    }
    tensor.strides.assign(tensor.shape.size(), 1);
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {
      if (d + 1 < tensor.shape.size()) {
        const auto too_large = __builtin_mul_overflow(
            tensor.strides[d + 1], std::max<std::int64_t>(tensor.shape[d + 1], 1),
            &tensor.strides[d]);
        if (too_large) tensor.strides[d] = max_bytes;
      }
      const auto declared = buffer->strides.empty() ? std::nullopt : value_of(buffer->strides[d]);
      if (declared) tensor.strides[d] = *declared;
      if (tensor.strides[d] < 0) {
        reason = fmt::format("buffer {} has a negative stride", buffer->name);
        return std::nullopt;
      }
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(std::max<std::int64_t>(tensor.shape[d] - 1, 0), tensor.strides[d],
                                 &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        last = max_bytes;
      }
    }
    const bool is_field = tensor.element.is_float() && mode_ == Mode::ring;
    const int bits = is_field ? 64 : stored_bits(tensor.element);
    const std::int64_t size =
        last >= max_bytes ? max_bytes + 1 : ((last + 1) * buffer->dtype.lanes * bits + 7) / 8;
    bytes += std::min(size, max_bytes + 1);
    if (bytes > max_bytes) {
      reason = fmt::format("the arguments take more than {} bytes", max_bytes);
      return std::nullopt;
    }
    tensor.bytes.resize(static_cast<std::size_t>(size));
    tensor.tensor = {.data = tensor.bytes.data(),
                     .device = {kDLCPU, 0},
                     .ndim = static_cast<std::int32_t>(tensor.shape.size()),
                     .dtype = dlpack_type(buffer->dtype, mode_),
                     .shape = tensor.shape.data(),
                     .strides = tensor.strides.data(),
                     .byte_offset = 0};
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < func_.params.size(); ++i) {
    if (const Ptr<Buffer>& buffer = func_.buffer_map[i]) {
      DrawnTensor& tensor = inputs.tensors[next++];
      fill(tensor, *buffer, smallest);
      inputs.arguments.push_back(&tensor.tensor);
      continue;
    }
    const DataType type = func_.params[i]->dtype;
    if (type.is_handle()) {
      reason = fmt::format("parameter {} is a pointer", func_.params[i]->name);
      return std::nullopt;
    }
    if (type.is_float()) {
      inputs.arguments.emplace_back(static_cast<double>(between(-64, 64)) / 8);
    } else {
      inputs.arguments.emplace_back(*as_int(symbols_.at(func_.params[i])));
    }
  }
  return inputs;
}

/// Field elements of any value; integers that may serve as indices where they do, else small ones
/// where an overflow would be an error, else any.
void InputDrawer::fill(DrawnTensor& tensor, const Buffer& buffer, std::int64_t smallest) {
  const DataType element = tensor.element;
  if (element.is_float() && mode_ == Mode::ring) {
    // splitmix64 (Steele, Lea and Flood, 2014): tensors of programs that are sampled are large.
    std::uint64_t state = random_();
    for (std::size_t b = 0; b < tensor.bytes.size(); b += 8) {
      std::uint64_t mixed = state += 0x9e3779b97f4a7c15;
      mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
      const std::uint64_t value = ring::reduce(mixed ^ mixed >> 31);
      std::copy_n(reinterpret_cast<const std::byte*>(&value), 8, &tensor.bytes[b]);
    }
    return;
  }
  const auto count = static_cast<std::int64_t>(tensor.bytes.size()) * 8 / stored_bits(element);
  const bool is_index = index_buffers_.contains(buffer.data.get());
  for (std::int64_t i = 0; i < count; ++i) {
    if (element.is_float()) {
      constexpr std::int64_t largest = 8;
      const auto number = static_cast<double>(between(-largest, largest));
      store_element(tensor.bytes.data(), element, i, {.f = number});
      continue;
    }
    std::int64_t value = static_cast<std::int64_t>(random_());
    if (element.is_bool()) {
      value &= 1;
    } else if (is_index) {
      value = between(0, std::min(smallest - 1, max_int(element)));
    } else if (element.is_index()) {
      value = between(-largest_int_, largest_int_);
    }
    store_element(tensor.bytes.data(), element, i, {.i = wrap_to(element, value)});
  }
}

}  // namespace loopsmith::interp
