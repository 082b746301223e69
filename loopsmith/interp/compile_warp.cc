// SPDX-License-Identifier: Apache-2.0
// Instructions that all threads of a warp run together, by the values that they exchange.
#include <fmt/format.h>

#include <cstdlib>

#include "loopsmith/interp/access.h"
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/control.h"
#include "loopsmith/interp/threads.h"
#include "loopsmith/ir/fragment_layout.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"

namespace loopsmith::interp::detail {
namespace {

const BufferLoad* element_behind(const Expr& pointer) {
  const auto* address = pointer.as<Call>();
  return address && address->op == op("address_of") ? address->args[0].as<BufferLoad>() : nullptr;
}

/// The place of an element of a tile in shared memory of so many rows, swizzled.
Expr place_in_tile(const Expr& row, const Expr& column, std::int64_t rows) {
  constexpr int columns_of_row = 64, rows_in_turn = 8, columns_of_part = 8;
  const Expr turn = floormod(row, rows_in_turn);
  const Expr part = floordiv(floormod(column, columns_of_row), columns_of_part);
  return floordiv(column, columns_of_row) * int_imm(i64, rows * columns_of_row) +
         row * columns_of_row + call(i64, op("bitwise_xor"), {part, turn}) * columns_of_part +
         floormod(column, columns_of_part);
}

/// What tensor cores take of an operand: of float32 11 bits, to nearest, ties away from zero.
Expr as_operand(const Expr& value) {
  if (value.dtype() != f32) return value;
  const Expr bits = reinterpret(u32, value) + int_imm(u32, 0x1000);
  const Expr rounded = call(u32, op("bitwise_and"), {bits, int_imm(u32, 0xFFFFE000)});
  return select(value == value, reinterpret(f32, rounded), value);
}

}  // namespace

/// The number of a thread in its warp.
Register Compiler::lane_of_thread(const Call& call) {
  const auto found = threads_.find(ThreadAxis::thread_x);
  if (found == threads_.end()) unsupported(call, "a warp instruction where no threads are along x");
  return operation(binary_handler(kind_of<FloorMod>, i64, options_), i64, i64,
                   {{found->second.index}, {integer(Team::warp_size)}})
      .reg;
}

/// The number of a thread's warp in its block, where 32 threads lie along x.
Register Compiler::warp_of_thread() {
  Expr number = int_imm(i64, 0), warps = int_imm(i64, 1);
  for (const ThreadAxis axis : {ThreadAxis::thread_y, ThreadAxis::thread_z}) {
    const auto found = threads_.find(axis);
    if (found == threads_.end()) continue;
    const Ptr<Var> index = var("index", i64), extent = var("extent", i64);
    values_[index.get()] = {found->second.index};
    values_[extent.get()] = {found->second.extent};
    number = number + warps * index;
    warps = warps * extent;
  }
  meanings_.push_back(number);
  return expr(number).reg;
}

/// `count` elements from where a pointer leads, as a buffer of their own.
Ptr<Buffer> Compiler::elements_behind(const Value& pointer, std::int64_t count, DataType type) {
  Ptr<Buffer> elements = decl_buffer({int_imm(i32, count)}, type, "elements");
  define_buffer(elements, {.data = pointer.reg, .shape = {integer(count)}});
  kept_.push_back(elements->data);
  return elements;
}

/// What lane `lane` of the warp has given.
Value Compiler::taken_from(const Expr& lane, DataType type) {
  return operation(shuffle_handler(Shuffling::direct), type, i64,
                   {expr(lane), {integer(Team::warp_size)}});
}

void Compiler::give_to_warp(const Ptr<Buffer>& elements, int count) {
  const Register published = fresh(count);
  for (int i = 0; i < count; ++i) {
    copy_to(published + i, expr(loopsmith::load(elements, {int_imm(i32, i)})), 1);
  }
  emit({.run = publish_handler(),
        .a = published,
        .b = count,
        .c = static_cast<Register>(Wait::lanes)});
}

/// ptx_mma of m16n8k16: with thread t of a warp, `results[r] += sum of left * right` over 16 steps.
/// Left are 8 elements of a thread, right 4; which ones they are says fragment_layout.h. Of 32 bits
/// it is m16n8k8, with half of these.
Value Compiler::multiply_tiles(const Call& call) {
  const BufferLoad* tiles[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t argument = 6 + 2 * i;
    tiles[i] = argument < call.args.size() ? element_behind(call.args[argument]) : nullptr;
    if (!tiles[i]) unsupported(call, "ptx_mma of anything but elements of buffers");
  }
  const auto* shape = call.args[0].as<StringImm>();
  if (shape && shape->value.starts_with("m64n")) return multiply_shared_tiles(call, shape->value);
  const DataType type = tiles[0]->buffer->dtype, sum = tiles[2]->buffer->dtype;
  const int steps = type.bits == 32 ? 8 : 16, together = neighbours_of_thread(type);
  if (!shape || shape->value != fmt::format("m16n8k{}", steps)) {
    unsupported(call, "ptx_mma of another shape");
  }
  const Ptr<Var> lane = var("lane", i64);
  values_[lane.get()] = {lane_of_thread(call)};
  const Ptr<Buffer> left = elements_behind(expr(call.args[6]), steps / 2, type);
  const Ptr<Buffer> right = elements_behind(expr(call.args[8]), steps / 4, type);
  const Ptr<Buffer> results = elements_behind(expr(call.args[10]), 4, sum);
  std::vector<Value> of_row, of_column[2];  // By the thread of a group that holds them.
  give_to_warp(left, steps / 2);
  for (int q = 0; q < 4; ++q) {
    of_row.push_back(taken_from(floordiv(Expr(lane), 4) * 4 + q, type.with_lanes(steps / 2)));
  }
  give_to_warp(right, steps / 4);
  for (int c = 0; c < 2; ++c) {
    for (int q = 0; q < 4; ++q) {
      const Expr group = floormod(Expr(lane), 4) * 2 + c;
      of_column[c].push_back(taken_from(group * 4 + q, type.with_lanes(steps / 4)));
    }
  }
  for (int r = 0; r < 4; ++r) {
    Value total = expr(loopsmith::load(results, {int_imm(i32, r)}));
    for (int k = 0; k < steps; ++k) {
      // Four threads hold the neighbours of a part of the steps, then those of the next.
      const int in_part = k % (4 * together), part = k / (4 * together);
      const int q = in_part / together, neighbour = in_part % together;
      const int a = neighbour + (r / 2 + part * 2) * together, b = neighbour + part * together;
      const auto so_far = var("so_far", sum), x = var("x", type), y = var("y", type);
      values_[so_far.get()] = total;
      values_[x.get()] = {of_row[static_cast<std::size_t>(q)].reg + a};
      values_[y.get()] = {of_column[r % 2][static_cast<std::size_t>(q)].reg + b};
      const Expr next = so_far + cast(sum, as_operand(x)) * cast(sum, as_operand(y));
      meanings_.push_back(next);
      total = expr(next);
    }
    Access& access = new_access(results, {int_imm(i32, r)}, nullptr, call, true);
    Instr store{.run = store_handler(access, options_), .a = total.reg, .type = sum};
    store.access = &access;
    emit(store);
  }
  return {integer(0), 0};
}

/// ptx_mma of m64n{columns}k{steps}, which four warps do together: thread t of the first has the
/// results of rows 0 to 15 of the 64, and so on. Operands lie in shared memory, swizzled.
Value Compiler::multiply_shared_tiles(const Call& call, std::string_view shape) {
  const int columns = std::atoi(shape.data() + 4);
  const int steps = std::atoi(shape.data() + shape.find('k') + 1);
  const BufferLoad& left_tile = *element_behind(call.args[6]);
  const DataType type = left_tile.buffer->dtype, sum = element_behind(call.args[10])->buffer->dtype;
  const auto is_text = [&](std::size_t i, std::string_view text) {
    return call.args[i].as<StringImm>()->value == text;
  };
  const Ptr<Var> lane = var("lane", i64), warp = var("warp", i64);
  values_[lane.get()] = {lane_of_thread(call)};
  values_[warp.get()] = {warp_of_thread()};
  const Ptr<Buffer> left = elements_behind(expr(call.args[6]), 64 * steps, type);
  const Ptr<Buffer> right = elements_behind(expr(call.args[8]), columns * steps, type);
  const Ptr<Buffer> results = elements_behind(expr(call.args[10]), columns / 2, sum);
  const Ptr<Var> r = var("r", i64), k = var("k", i64);
  const FragmentLayout layout = fragment_layout(FragmentUse::results, sum, false, lane, r);
  const Expr row = floormod(Expr(warp), 4) * 16 + layout.row;
  const Expr a = is_text(1, "row") ? place_in_tile(row, k, 64) : place_in_tile(k, row, steps);
  const Expr b = is_text(2, "col") ? place_in_tile(layout.column, k, columns)
                                   : place_in_tile(k, layout.column, steps);
  const Expr product =
      cast(sum, loopsmith::load(left, {a})) * cast(sum, loopsmith::load(right, {b}));
  const Stmt update = loopsmith::store(results, loopsmith::load(results, {r}) + product, {r});
  const Expr none = int_imm(i64, 0);
  loops_of_instructions_.push_back(
      for_loop(r, none, int_imm(i64, columns / 2), for_loop(k, none, int_imm(i64, steps), update)));
  stmt(loops_of_instructions_.back());
  return {integer(0), 0};
}

/// ptx_ldmatrix: lanes say where rows of 16 bytes lie, 8 of them for each matrix. Thread t gets two
/// neighbours of row t / 4 as 16 bits each; transposed, one of each of two rows.
Value Compiler::load_matrices(const Call& call) {
  const BufferLoad* into = call.args.size() == 7 ? element_behind(call.args[3]) : nullptr;
  const BufferLoad* row = into ? element_behind(call.args[5]) : nullptr;
  if (!row) unsupported(call, "ptx_ldmatrix of anything but elements of buffers");
  const DataType type = row->buffer->dtype;
  const bool is_transposed = is_const_int(call.args[0], 1);
  const auto count = static_cast<int>(*as_int(call.args[1]));
  const int together = neighbours_of_thread(type);
  const Ptr<Var> lane = var("lane", i64);
  values_[lane.get()] = {lane_of_thread(call)};
  const Ptr<Buffer> registers = elements_behind(expr(call.args[3]), count * together, type);
  const Value address = expr(call.args[5]);
  const Register published = fresh(2);
  copy_to(published, address, 2);
  emit({.run = publish_handler(), .a = published, .b = 2, .c = static_cast<Register>(Wait::lanes)});
  for (int m = 0; m < count; ++m) {
    for (int e = 0; e < together; ++e) {
      const Expr group = floordiv(Expr(lane), 4), place = floormod(Expr(lane), 4);
      const Expr from = is_transposed ? place * 2 + e : group;
      const Value begin = taken_from(from + m * 8, i64.with_lanes(2));
      const Ptr<Buffer> elements = elements_behind(begin, 16 / type.bytes(), type);
      const Expr index = is_transposed ? group : place * together + e;
      const Expr value = loopsmith::load(elements, {index});
      meanings_.push_back(value);
      Access& access = new_access(registers, {int_imm(i32, m * together + e)}, nullptr, call, true);
      const Value taken = expr(value);
      Instr store{.run = store_handler(access, options_), .a = taken.reg, .type = type};
      store.access = &access;
      emit(store);
    }
  }
  return {integer(0), 0};
}

/// dma_copy(tile, source, map, barrier, rows, stride, ...): so many rows of 128 bytes, `stride`
/// elements from each other, into a tile from which four warps multiply.
Value Compiler::copy_tile(const Call& call) {
  const BufferLoad* into = call.args.size() > 6 ? element_behind(call.args[0]) : nullptr;
  if (!into || !as_int(call.args[4])) unsupported(call, "dma_copy of anything but elements");
  const std::int64_t rows = *as_int(call.args[4]);
  const DataType type = into->buffer->dtype;
  const int columns = 128 / type.bytes();
  const Ptr<Var> row = var("row", i64), column = var("column", i64), stride = var("stride", i64);
  values_[stride.get()] = expr(call.args[5]);
  const Ptr<Buffer> tile = elements_behind(expr(call.args[0]), rows * columns, type);
  const Ptr<Buffer> source = elements_behind(expr(call.args[1]), INT32_MAX, type);
  const Stmt copy = loopsmith::store(tile, loopsmith::load(source, {row * stride + column}),
                                     {place_in_tile(row, column, rows)});
  const Expr none = int_imm(i64, 0);
  loops_of_instructions_.push_back(
      for_loop(row, none, int_imm(i64, rows), for_loop(column, none, int_imm(i64, columns), copy)));
  stmt(loops_of_instructions_.back());
  return {integer(0), 0};
}

}  // namespace loopsmith::interp::detail
