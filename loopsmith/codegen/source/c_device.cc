// SPDX-License-Identifier: Apache-2.0
// What kernels do and other functions do not: memory of threads, barriers, updates in one step.
#include <algorithm>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/codegen/source/cuda_instructions.h"
#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith::detail {
namespace {

/// What vectors of four floats need.
constexpr int alignment_on_device = 16;

/// Names of updates in the two ways of the languages: `atomic_add` gives `add` and `Add`.
std::string plain_name(Op atomic) {
  return std::string(atomic.name().substr(std::string_view("atomic_").size()));
}
std::string capital_name(Op atomic) {
  std::string name = plain_name(atomic);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

/// The type of as many bytes, if there is one.
std::string_view type_of_bytes(int bytes) {
  switch (bytes) {
    case 2: return "short";
    case 4: return "int";
    case 8: return "int2";
    case 16: return "int4";
    default: return {};
  }
}

}  // namespace

void CWriter::refuse_on_device(const Object& node, std::string_view what,
                               std::string_view instead) const {
  fail(ErrorKind::lower, "kernel_can_do_it", hint(instead), node.span,
       "target {}: {} cannot stand in a kernel ({})", module_.dialect.name, what, function_name_);
}

void CWriter::begin_kernel(const Stmt& body) {
  const std::vector<Ptr<Buffer>> operands = operands_of_warpgroups(body);
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    stores_operands_ =
        stores_operands_ || (store && std::ranges::any_of(operands, [&](const auto& each) {
                               return each->data.same_as(store->buffer->data);
                             }));
    return !stores_operands_;
  });
}

/// tvm_storage_sync(scope).
void CWriter::wait_for_threads(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  const MemoryScope scope = name ? memory_scope(name->value) : MemoryScope::shared;
  // Products of four warps see shared memory in another way than threads do.
  if (stores_operands_) line(module_.helpers.instruction("ls_fence_for_products") + "();");
  const CDialect& dialect = module_.dialect;
  if (scope == MemoryScope::warp && !dialect.warp_barrier.empty())
    return line(dialect.warp_barrier);
  line(scope == MemoryScope::global ? dialect.global_barrier : dialect.barrier);
}

void CWriter::allocate_on_device(const Allocate& allocate) {
  const DataType element = allocate.dtype.element();
  if (shares_bytes(element) || has_odd_bytes(element)) {
    refuse_on_device(allocate, fmt::format("memory of {}", to_string(element)),
                     "store it as int8, or as int32");
  }
  std::int64_t count = allocate.dtype.lanes;
  for (const Expr& extent : allocate.extents) {
    const std::int64_t* number = as_int(extent);
    const bool fits = number && *number >= 0 && !__builtin_mul_overflow(count, *number, &count);
    if (!fits) {
      refuse_on_device(
          allocate, fmt::format("{}, memory without a constant size,", allocate.buffer_var->name),
          "allocate it outside of the kernel, or cache a tile of constant size");
    }
  }
  const MemoryScope scope = memory_scope(*allocate.buffer_var);
  const bool is_shared = is_shared_by_threads(scope);
  const std::string type = c_memory_type(element);
  const std::string name = new_name(allocate.buffer_var->name);
  if (scope == MemoryScope::shared_dynamic && !module_.dialect.shared_pool.empty()) {
    if (shared_pool_.empty()) {
      shared_pool_ = new_name("shared_memory");
      line(fmt::format(fmt::runtime(module_.dialect.shared_pool), shared_pool_));
    }
    const std::int64_t offset = allocate.annotations.get_int(pool_offset_key, pool_bytes_);
    line(fmt::format("{0}* const {1} = ({0}*)({2} + {3});", type, name, shared_pool_, offset));
    pool_bytes_ = std::max(pool_bytes_, offset + bytes_in_shared_pool(allocate));
    bind(allocate.buffer_var, {name, handle_type, type + "*"});
    return statement(allocate.body);
  }
  line(fmt::format("{}LS_ALIGNED({}) {} {}[{}];", is_shared ? module_.dialect.shared_memory : "",
                   alignment_on_device, type, name, std::max<std::int64_t>(count, 1)));
  CVariable variable{name, handle_type, type + "*"};
  if (is_shared) variable.space = module_.dialect.shared_space;
  bind(allocate.buffer_var, std::move(variable));
  statement(allocate.body);
}

/// Where neighbours begin that one instruction may load or store; null where there is none.
const Ramp* CWriter::neighbours(const Buffer& buffer, const std::vector<Expr>& indices,
                                const Expr& predicate) const {
  const auto* ramp = indices.size() == 1 ? indices[0].as<Ramp>() : nullptr;
  const bool is_whole = !predicate.defined() || is_const_int(predicate, 1);
  if (!ramp || !is_whole || !buffer.dtype.is_scalar() || !is_const_int(ramp->stride, 1)) {
    return nullptr;
  }
  const int lanes = ramp->dtype.lanes;
  const bool is_even = lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
  if (!is_even || type_of_bytes(lanes * buffer.dtype.bytes()).empty()) return nullptr;
  const Expr first = substitute(ramp->base, named_indices_);
  return Analyzer().can_prove(floormod(first, lanes) == 0) ? ramp : nullptr;
}

/// The loads of neighbours that `value` does whatever its conditions say.
std::vector<Ptr<BufferLoad>> CWriter::loads_of_neighbours(const Expr& value) const {
  std::vector<Ptr<BufferLoad>> loads;
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    if ((call && call->op == op("if_then_else")) || ref.is<And>() || ref.is<Or>()) return false;
    const auto* load = ref.as<BufferLoad>();
    if (load && neighbours(*load->buffer, load->indices, load->predicate)) loads.emplace_back(load);
    return !load;
  });
  return loads;
}

std::string CWriter::address_of_first(const Ptr<Buffer>& buffer, const Ramp& ramp) {
  const Place at = place(buffer, {ramp.base}, {});
  return fmt::format("&{}[{}]", at.memory, at.index.text);
}

void CWriter::copy_neighbours(const std::string& into, const std::string& from, const Ramp& ramp,
                              DataType element) {
  const int lanes = ramp.dtype.lanes;
  line(fmt::format(fmt::runtime(module_.dialect.copy), lanes, into, from,
                   type_of_bytes(lanes * element.bytes())));
}

/// A vector of neighbours, loaded and stored at once where memory is aligned for it. False where
/// nothing is.
bool CWriter::store_neighbours(const BufferStore& store) {
  const DataType element = store.buffer->dtype;
  const Ramp* into = neighbours(*store.buffer, store.indices, store.predicate);
  const auto* source = store.value.as<BufferLoad>();
  const Ramp* from = into && source && source->buffer->dtype == element
                         ? neighbours(*source->buffer, source->indices, source->predicate)
                         : nullptr;
  if (from) {
    const std::string target = address_of_first(store.buffer, *into);
    copy_neighbours(target, address_of_first(source->buffer, *from), *into, element);
    return true;
  }
  const std::vector<Ptr<BufferLoad>> loads = loads_of_neighbours(store.value);
  if (!into && loads.empty()) return false;
  const auto array = [&](std::string_view wish, DataType dtype) {
    const std::string name = new_name(wish);
    line(fmt::format("LS_ALIGNED({}) {} {}[{}];", alignment_on_device, c_memory_type(dtype), name,
                     store.value.dtype().lanes));
    return name;
  };
  for (const Ptr<BufferLoad>& load : loads) {
    if (loaded_.contains(load.get())) continue;
    const std::string name = array(load->buffer->name, load->buffer->dtype);
    const Ramp& ramp = *load->indices[0].as<Ramp>();
    copy_neighbours(name, address_of_first(load->buffer, ramp), ramp, load->buffer->dtype);
    loaded_[load.get()] = name;
  }
  if (into) {
    const std::string made = array("made", element);
    for_each_lane(store.value.dtype().lanes, {store.value}, [&](const CLane& lane) {
      line(fmt::format("{}[{}] = {};", made, lane.text, value(store.value, lane).text));
    });
    copy_neighbours(address_of_first(store.buffer, *into), made, *into, element);
  } else {
    store_lanes(store);
  }
  loaded_.clear();
  return true;
}

/// Copies in `async_scope`.
void CWriter::start_copies(const AttrStmt& copies) {
  const bool outer = std::exchange(starts_copies_, module_.dialect.has_instructions);
  statement(copies.body);
  starts_copies_ = outer;
}

/// Starts a copy of 4, 8 or 16 bytes from global into shared memory; what is behind a condition
/// that does not hold becomes zero. False where no instruction does it.
bool CWriter::start_copy(const BufferStore& store) {
  const DataType element = store.buffer->dtype;
  const int lanes = store.value.dtype().lanes;
  const int bytes = lanes * element.bytes();
  const auto copy = copy_into_shared(store);
  const bool is_moved =
      copy && element.is_scalar() && (!copy->exists.defined() || copy->exists.dtype().is_scalar());
  if (!is_moved || (bytes != 4 && bytes != 8 && bytes != 16)) return false;
  const auto address = [&](const Ptr<Buffer>& buffer, const std::vector<Expr>& indices,
                           const Expr& predicate) -> std::string {
    const bool is_whole = !predicate.defined() || is_const_int(predicate, 1);
    if (lanes > 1) {
      const Ramp* ramp = neighbours(*buffer, indices, predicate);
      return ramp ? address_of_first(buffer, *ramp) : "";
    }
    if (!is_whole) return "";
    const Place at = place(buffer, indices, {});
    return fmt::format("&{}[{}]", at.memory, at.index.text);
  };
  const std::string into = address(store.buffer, store.indices, store.predicate);
  const std::string from =
      address(copy->source->buffer, copy->source->indices, copy->source->predicate);
  if (into.empty() || from.empty()) return false;
  const std::string exists = copy->exists.defined() ? value(copy->exists).text : "true";
  const std::string name = module_.helpers.instruction(fmt::format("ls_copy_async_{}", bytes));
  line(fmt::format("{}({}, {}, {});", name, into, from, exists));
  return true;
}

/// ptx_commit_group(), ptx_wait_group(n).
void CWriter::wait_for_copies(const Call& call) {
  if (call.op == op("ptx_commit_group")) {
    return line(module_.helpers.instruction("ls_commit_copies") + "();");
  }
  const std::int64_t* groups = as_int(call.args[0]);
  if (!groups || *groups < 0) {
    refuse_on_device(call, "a wait for a number of groups of copies that is no constant",
                     "give ptx_wait_group a number");
  }
  line(fmt::format("{}({});", module_.helpers.instruction("ls_wait_for_copies"), *groups));
}

/// dma_copy(into, from, map, barrier, rows, stride, place...): rows of 128 bytes.
void CWriter::copy_tile(const Call& call) {
  constexpr std::size_t first_place = 6;
  const std::int64_t* rows = call.args.size() > first_place ? as_int(call.args[4]) : nullptr;
  if (!rows) refuse_on_device(call, "a copy of a number of rows that is no constant", "copy tiles");
  std::string places;
  for (std::size_t i = first_place; i < call.args.size(); ++i) {
    places += ", (int)" + value(call.args[i]).in(CLevel::unary);
  }
  const std::string name =
      module_.helpers.instruction(fmt::format("ls_copy_tile_{}d", call.args.size() - first_place));
  line(fmt::format("{}({}, {}, {}, {}{});", name, value(call.args[0]).text,
                   value(call.args[2]).text, value(call.args[3]).text, *rows * 128, places));
}

/// What stands under `products_in_flight`.
void CWriter::multiply_in_flight(const AttrStmt& product) {
  const std::int64_t* count = as_int(product.value);
  const std::int64_t outer = std::exchange(products_in_flight_, count ? *count : 0);
  statement(product.body);
  products_in_flight_ = outer;
}

/// After a product of four warps has been started.
void CWriter::wait_for_products(const Call& product) {
  if (products_in_flight_ > 0) {
    return line(fmt::format("{}({});", module_.helpers.instruction("ls_wait_for_products"),
                            products_in_flight_));
  }
  const std::string& shape = product.args[0].as<StringImm>()->value;
  const std::string name =
      module_.helpers.instruction("ls_finish_" + shape.substr(0, shape.find('k')));
  line(fmt::format("{}({});", name, value(product.args[10]).text));
}

/// ptx_mma(shape, "row", "col", types of left, right and results, left, 0, right, 0, results, 0,
/// ...) and ptx_ldmatrix(transposed, count, ".b16", registers, 0, row, 0).
CText CWriter::warp_instruction_call(const Call& call) {
  const auto text = [&](std::size_t i) {
    const auto* word = i < call.args.size() ? call.args[i].as<StringImm>() : nullptr;
    return word ? word->value : std::string();
  };
  std::string name;
  std::vector<std::size_t> operands;
  if (call.op == op("ptx_mma")) {
    name = fmt::format("ls_mma_{}_{}_{}", text(0), text(3), text(5));
    if (multiplies_in_warpgroups(call)) name += fmt::format("_{}_{}", text(1), text(2));
    operands = {10, 6, 8};
  } else {
    name = fmt::format("ls_load_matrix_x{}{}", value(call.args[1]).text,
                       is_const_int(call.args[0], 1) ? "_trans" : "");
    operands = {3, 5};
  }
  if (!cuda_instruction(name)) {
    refuse_on_device(call,
                     fmt::format("{}, which is no instruction that is known,", name.substr(3)),
                     "use the tensor intrinsics wmma_...");
  }
  std::string arguments;
  for (const std::size_t i : operands) {
    arguments += (arguments.empty() ? "" : ", ") + value(call.args[i]).text;
  }
  return {.text = fmt::format("{}({})", module_.helpers.instruction(name), arguments)};
}

/// tvm_warp_shuffle[_up, _down](mask, value, lane or distance, width, warp size). All lanes take
/// part.
CText CWriter::shuffle_lanes(const Call& call) {
  const DataType type = call.args[1].dtype();
  if (!type.is_scalar()) {
    refuse_on_device(call, fmt::format("{} of {}", call.op.name(), to_string(type)),
                     "exchange elements one by one");
  }
  const std::string_view how = call.op == op("tvm_warp_shuffle_up")     ? "up_"
                               : call.op == op("tvm_warp_shuffle_down") ? "down_"
                                                                        : "";
  // Values of fewer bits travel as int.
  const bool is_narrow = type.bits < 32;
  std::string given = value(call.args[1]).text;
  if (is_narrow) given = "(int)(" + given + ")";
  const std::string text = fmt::format(fmt::runtime(module_.dialect.shuffle), how, given,
                                       value(call.args[2]).text, value(call.args[3]).text);
  CText made{.text = text, .is_wide = type == i64};
  if (is_narrow) {
    made = {.text = fmt::format("({}){}", c_type(type), text), .level = CLevel::unary};
  }
  if (type.is_integer()) made.bound = arith::all_of(type);
  return made;
}

CText CWriter::atomic_update(const Call& call) {
  const DataType type = call.args[1].dtype();
  const CDialect& dialect = module_.dialect;
  const auto* address = call.args[0].as<Call>();
  const auto* element =
      address && address->op == op("address_of") ? address->args[0].as<BufferLoad>() : nullptr;
  const bool is_word = type.bits == 32 || type.bits == 64;
  if (!element || !is_word || (type.is_float() && !dialect.adds_floats)) {
    refuse_on_device(call, fmt::format("{} of {}", call.op.name(), to_string(type)),
                     "update integers of 32 or 64 bits, or reduce over the threads instead");
  }
  const Place at = place(element->buffer, element->indices, {});
  const std::string_view space = variables_.at(element->buffer->data.get()).space;
  std::string name = c_type(type);
  // Of the same bits: CUDA has no addition of int64_t, and other types of 64 bits than these.
  if (type.is_integer()) {
    const bool is_signed = type.is_int() && !(type.bits == 64 && call.op == op("atomic_add"));
    const bool is_opencl = !dialect.global_space.empty();
    name = type.bits == 32 ? (is_signed   ? "int"
                              : is_opencl ? "uint"
                                          : "unsigned int")
           : is_opencl     ? (is_signed ? "long" : "ulong")
                           : (is_signed ? "long long" : "unsigned long long");
  }
  const std::string pointer = fmt::format("{}{}*)&{}[{}]", space, name, at.memory, at.index.text);
  const std::string operand = fmt::format("({}){}", name, value(call.args[1]).in(CLevel::unary));
  std::string text(type.bits == 64 ? dialect.atomic_64 : dialect.atomic);
  const auto put = [&](std::string_view key, const std::string& with) {
    for (std::size_t found = text.find(key); found != std::string::npos; found = text.find(key)) {
      text.replace(found, key.size(), with);
    }
  };
  put("{0})", pointer);
  put("{1}", operand);
  put("{3}", plain_name(call.op));
  put("{4}", capital_name(call.op));
  CText made{.text = fmt::format("({}){}", c_type(type), text), .level = CLevel::unary};
  if (type.is_integer()) made.bound = arith::all_of(type);
  made.is_wide = type == i64;
  return made;
}

}  // namespace loopsmith::detail
