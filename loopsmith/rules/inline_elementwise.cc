// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/inline_elementwise.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/neighbour_reads.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/rules/vector_cost.h"
#include "loopsmith/schedule/primitives/compute_inline.h"

namespace loopsmith {
namespace {

/// An element costs as much to compute as this many additions, at most, to be computed again at
/// each of a few uses.
constexpr int cheap = 8;
/// What a call of a function like exp counts for.
constexpr int cost_of_call = 12;

/// Lowering sees what is inlined at several places at each of them: results of chains would grow
/// without bound.
constexpr std::int64_t max_operations = 384;

/// How many operations the value takes; those in indices are not counted.
int cost_of(const Expr& value) {
  int cost = 0;
  pre_order_visit(value, [&](const Ref& ref) {
    if (ref.is<Call>()) {
      cost += is_costly_call(ref) ? cost_of_call : 1;
    } else if (!ref.is<Var>() && !ref.is<IntImm>() && !ref.is<FloatImm>() && !ref.is<Buffer>()) {
      ++cost;
    }
    return !ref.is<BufferLoad>();
  });
  return cost;
}

bool calls_function(const Expr& value) {
  bool calls = false;
  pre_order_visit(value, [&](const Ref& ref) {
    calls = calls || is_costly_call(ref);
    return !calls && !ref.is<BufferLoad>();
  });
  return calls;
}

/// How many operations the value takes if what is shared in it is computed at each place.
std::int64_t operations_in(const Expr& value) {
  constexpr std::int64_t most = 1 << 20;
  std::unordered_map<const Object*, std::int64_t> known;
  post_order_visit(value, [&](const Ref& ref) {
    std::int64_t operations = 1;
    if (!ref.is<BufferLoad>()) {
      for_each_child(*ref.get(), [&](const Ref& child, Role) {
        const auto inside = known.find(child.get());
        if (inside != known.end()) operations = std::min(most, operations + inside->second);
      });
    }
    known[ref.get()] = operations;
  });
  return known[value.get()];
}

std::int64_t operations_in(const Nest& nest) {
  return operations_in(nest.body.as<BufferStore>()->value);
}

/// `buffer[axes] = value`, for each point once.
struct Producer {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  Expr value;
};

/// True when no point of `nest` loads an element of `buffer` that another point loads, too, at the
/// same place of its body.
bool reads_each_once(const Nest& nest, const Ptr<Buffer>& buffer) {
  for (const NestAccess& access : accesses_in(nest)) {
    if (access.is_store || !access.buffer.same_as(buffer)) continue;
    for (const Axis& axis : nest.axes) {
      if (is_const_int(axis.extent, 1)) continue;
      const bool used = std::ranges::any_of(
          access.indices, [&](const Expr& index) { return uses_variable(index, axis.var); });
      if (!used) return false;
    }
  }
  return true;
}

int count_loads(const Nest& nest, const Ptr<Buffer>& buffer) {
  return static_cast<int>(std::ranges::count_if(accesses_in(nest), [&](const NestAccess& access) {
    return !access.is_store && access.buffer.same_as(buffer);
  }));
}

/// Elements that are read in several places are one tree.
void replace_loads(Nest& nest, const Producer& producer) {
  std::vector<std::pair<Expr, Expr>> known;
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    if (!load.buffer.same_as(producer.buffer)) return rewrite.children(load);
    const Expr whole = Ptr<BufferLoad>(&load);
    const auto found = std::ranges::find_if(
        known, [&](const auto& each) { return structural_equal(each.first, whole); });
    if (found != known.end()) return found->second;
    Substitution values;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      if (producer.indices[i].is<Var>()) values[producer.indices[i]] = rewrite(load.indices[i]);
    }
    const Expr value = clone_with(producer.value, std::move(values));
    known.emplace_back(whole, value);
    return value;
  });
  nest.body = rewrite(nest.body);
  if (nest.init) nest.init = rewrite(nest.init);
}

/// Which statements of a program read and write which memory, by their numbers.
class Uses {
 public:
  explicit Uses(const Program& program) {
    for (std::size_t i = 0; i < program.parts.size(); ++i) {
      if (program.parts[i].nest) {
        add(i, *program.parts[i].nest);
      } else {
        last_opaque_ = i;
        add_opaque(program.parts[i].opaque);
      }
    }
  }

  void add(std::size_t part, const Nest& nest) {
    for (const NestAccess& access : accesses_in(nest)) {
      (access.is_store ? writers_ : readers_)[access.buffer->data.get()].insert(part);
    }
  }
  const std::set<std::size_t>& readers(const Buffer& buffer) { return readers_[buffer.data.get()]; }
  const std::set<std::size_t>& writers(const Buffer& buffer) { return writers_[buffer.data.get()]; }
  bool by_opaque(const Buffer& buffer) const { return opaque_.contains(buffer.data.get()); }
  /// True when all statements behind that one are nests, none of which writes the buffer.
  bool stays_behind(std::size_t part, const Buffer& buffer) {
    return (!last_opaque_ || *last_opaque_ < part) &&
           writers(buffer).upper_bound(part) == writers(buffer).end();
  }

 private:
  void add_opaque(const Stmt& stmt) {
    pre_order_visit(stmt, [&](const Ref& ref) {
      if (const auto* buffer = ref.as<Buffer>()) opaque_.insert(buffer->data.get());
      if (ref.is<Var>()) opaque_.insert(ref.get());
      return true;
    });
  }

  std::unordered_map<const Object*, std::set<std::size_t>> readers_, writers_;
  std::set<const Object*> opaque_;
  std::optional<std::size_t> last_opaque_;
};

std::optional<Producer> producer_of(const Nest& nest, const Program& program, const Uses& uses) {
  const auto* store = nest.body.as<BufferStore>();
  if (!store || nest.init || !nest.reduction().empty()) return std::nullopt;
  if (!program.is_local(store->buffer) || uses.by_opaque(*store->buffer)) return std::nullopt;
  if (reads(nest, store->buffer)) return std::nullopt;
  for (const Expr& index : store->indices) {
    const bool is_axis =
        std::ranges::any_of(nest.axes, [&](const Axis& axis) { return index.same_as(axis.var); });
    if (!is_axis && !as_int(index)) return std::nullopt;
  }
  return Producer{store->buffer, store->indices, store->value};
}

/// Buffers that the value is computed from keep what they hold until the last use of it.
bool sources_stay(const Producer& producer, std::size_t place, Uses& uses) {
  bool stay = true;
  pre_order_visit(producer.value, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>())
      stay = stay && uses.stays_behind(place, *load->buffer);
    return stay;
  });
  return stay;
}

bool fills_vectors(const Nest& nest, const CpuModel& machine) {
  const std::optional<Axis> column = contiguous_axis(nest);
  return nest.reduction().empty() && nest.body.is<BufferStore>() && column &&
         constant_extent(*column).value_or(0) >= 2 * lanes_of(nest, machine);
}

/// Smaller intermediates are in the first cache.
constexpr std::int64_t min_image_bytes = std::int64_t{1} << 16;
/// Estimates that differ by less say nothing.
constexpr double min_gain = 0.9;

/// Whether the readers of large intermediates are faster where they compute what they read; all
/// producers are read by nests that are among `readers` alone.
bool saves_images(const std::vector<const Nest*>& own, const std::vector<Producer>& producers,
                  const std::set<std::size_t>& readers, const Program& program,
                  const CpuModel& machine) {
  const auto fills = [&](std::size_t reader) {
    return fills_vectors(*program.parts[reader].nest, machine);
  };
  if (!std::ranges::all_of(readers, fills)) return false;
  const bool are_filters =
      std::ranges::any_of(own, [](const Nest* nest) { return reads_neighbours(*nest); }) ||
      std::ranges::any_of(readers, [&](std::size_t reader) {
        return reads_neighbours(*program.parts[reader].nest);
      });
  // Rows of what computes each element of the same elements are fused, and stay near.
  if (!are_filters) return false;
  double apart = 0, together = 0;
  for (const Nest* nest : own) {
    const auto points = point_count(nest->axes);
    const std::int64_t bytes =
        points ? *points * nest->body.as<BufferStore>()->buffer->dtype.bytes() : 0;
    if (bytes < min_image_bytes || !fills_vectors(*nest, machine)) return false;
    apart +=
        static_cast<double>(*points) * (vector_cost(*nest, machine) + keeping_cost(bytes, machine));
  }
  for (const std::size_t reader : readers) {
    const Nest& nest = *program.parts[reader].nest;
    const auto points = point_count(nest.axes);
    if (!points) return false;
    Nest joined = nest;
    for (const Producer& producer : producers) {
      if (calls_function(producer.value) && count_loads(nest, producer.buffer) > 1) return false;
      replace_loads(joined, producer);
      if (operations_in(joined) > max_operations) return false;
    }
    apart += static_cast<double>(*points) * vector_cost(nest, machine);
    together += static_cast<double>(*points) * vector_cost(joined, machine);
  }
  return together < min_gain * apart;
}

/// Whether inlining leaves the readers small, or puts the value at one place of them alone.
bool stays_small(const Producer& producer, const std::set<std::size_t>& readers,
                 const Program& program) {
  return std::ranges::all_of(readers, [&](std::size_t reader) {
    const Nest& nest = *program.parts[reader].nest;
    if (!nest.body.is<BufferStore>()) return true;
    Nest joined = nest;
    replace_loads(joined, producer);
    const std::int64_t operations = operations_in(joined);
    return operations <= max_operations ||
           operations <= operations_in(nest) + operations_in(producer.value);
  });
}

bool is_worth_inlining(const Producer& producer, const Program& program, std::size_t place,
                       Uses& uses, const CpuModel& machine) {
  // A second nest that fills the buffer, or one that reads it before: not a producer.
  const std::set<std::size_t>& readers = uses.readers(*producer.buffer);
  if (uses.writers(*producer.buffer).size() > 1 || readers.empty() || *readers.begin() < place) {
    return false;
  }
  int loads = 0;
  bool each_once = true;
  for (const std::size_t reader : readers) {
    const Nest& nest = *program.parts[reader].nest;
    loads += count_loads(nest, producer.buffer);
    each_once = each_once && reads_each_once(nest, producer.buffer);
  }
  const int cost = cost_of(producer.value);
  if (!each_once) return cost <= 1;
  if (loads <= 1) return stays_small(producer, readers, program);
  return cost * loads <= cheap ||
         saves_images({&*program.parts[place].nest}, {producer}, readers, program, machine);
}

/// Chooses the blocks that are to be inlined, and does so in its own program.
class InlineChoice {
 public:
  InlineChoice(Program program, const CpuModel& machine)
      : program_(std::move(program)), machine_(machine), uses_(program_) {}

  /// In this order.
  std::vector<BlockRV> run() {
    for (std::size_t place = 0; place < program_.parts.size(); ++place) {
      const auto producer = producer_at(place);
      if (producer && is_worth_inlining(*producer, program_, place, uses_, machine_)) {
        inline_at(place, *producer);
      }
    }
    for (std::size_t reader = 0; reader < program_.parts.size(); ++reader) {
      while (inline_all_of(reader)) {
      }
    }
    return blocks_;
  }

 private:
  std::optional<Producer> producer_at(std::size_t place) {
    const Part& part = program_.parts[place];
    if (!part.nest || is_gone_.contains(place)) return std::nullopt;
    auto producer = producer_of(*part.nest, program_, uses_);
    return producer && sources_stay(*producer, place, uses_) ? std::move(producer) : std::nullopt;
  }

  void inline_at(std::size_t place, const Producer& producer) {
    blocks_.push_back(program_.parts[place].nest->block);
    is_gone_.insert(place);
    for (const std::size_t reader : uses_.readers(*producer.buffer)) {
      Nest& nest = *program_.parts[reader].nest;
      replace_loads(nest, producer);
      uses_.add(reader, nest);
    }
  }

  /// The parts before that write what the nest reads, in their order.
  std::set<std::size_t> producers_of(const Nest& nest, std::size_t reader) {
    std::set<std::size_t> places;
    for (const NestAccess& access : accesses_in(nest)) {
      if (access.is_store) continue;
      const std::set<std::size_t>& writers = uses_.writers(*access.buffer);
      places.insert(writers.begin(), writers.lower_bound(reader));
    }
    return places;
  }

  /// Inlines all that is computed for one nest alone, if that pays together: what they read, they
  /// may share.
  bool inline_all_of(std::size_t reader) {
    const auto& nest = program_.parts[reader].nest;
    if (!nest || is_gone_.contains(reader)) return false;
    std::vector<std::size_t> places;
    std::vector<const Nest*> own;
    std::vector<Producer> producers;
    for (const std::size_t place : producers_of(*nest, reader)) {
      const auto producer = producer_at(place);
      if (!producer) continue;
      std::set<std::size_t> readers = uses_.readers(*producer->buffer);
      std::erase_if(readers, [&](std::size_t each) { return is_gone_.contains(each); });
      if (readers != std::set{reader} || uses_.writers(*producer->buffer).size() > 1) continue;
      places.push_back(place);
      own.push_back(&*program_.parts[place].nest);
      producers.push_back(*producer);
    }
    if (places.size() < 2 || !saves_images(own, producers, {reader}, program_, machine_)) {
      return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) inline_at(places[i], producers[i]);
    return true;
  }

  Program program_;
  const CpuModel& machine_;
  Uses uses_;
  std::set<std::size_t> is_gone_;
  std::vector<BlockRV> blocks_;
};

}  // namespace

void inline_elementwise(Schedule& schedule, const CpuModel& machine) {
  for (const BlockRV block : InlineChoice(program_of(schedule), machine).run()) {
    if (!compute_inline.can_apply(schedule, {block})) continue;
    compute_inline(schedule, look_up(schedule, block));
  }
}

}  // namespace loopsmith
