// SPDX-License-Identifier: Apache-2.0
// How long dependence analysis takes: the first look at a program, exact questions, the table that
// a schedule keeps between its steps, and what that saves a schedule. Times are of the processor,
// the least of several runs.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/primitives.h"

using namespace loopsmith;

namespace {

using Loops = std::vector<Ptr<Var>>;

struct Program {
  std::string name;
  Stmt root;
  Loops loops;  ///< Each is asked for.
  Loops order;  ///< A permutation to be checked.
};

Loops vars(const std::vector<std::string>& names) {
  Loops result;
  for (const std::string& name : names) result.push_back(var(name));
  return result;
}

Stmt nest(const Loops& loops, const std::vector<Expr>& extents, Stmt body) {
  for (std::size_t i = loops.size(); i-- > 0;) {
    body = for_loop(loops[i], 0, extents[i], std::move(body));
  }
  return body;
}

Program matmul(bool symbolic) {
  const Loops l = vars({"i", "j", "k"});
  const Expr n = symbolic ? Expr(var("n")) : Expr(512);
  const auto a = decl_buffer({n, n}), b = decl_buffer({n, n}), c = decl_buffer({n, n});
  const Stmt init = store(c, float_imm(f32, 0), {l[0], l[1]});
  const Stmt update =
      store(c, load(c, {l[0], l[1]}) + load(a, {l[0], l[2]}) * load(b, {l[2], l[1]}), {l[0], l[1]});
  return {symbolic ? "matmul, n" : "matmul",
          nest({l[0], l[1]}, {n, n}, seq({init, for_loop(l[2], 0, n, update)})),
          l,
          {l[1], l[0]}};
}

Program seidel() {
  const Loops l = vars({"t", "i", "j"});
  const Expr n = var("n"), i = Expr(l[1]) + 1, j = Expr(l[2]) + 1;
  const auto a = decl_buffer({n, n});
  const Expr sum = load(a, {i - 1, j}) + load(a, {i, j - 1}) + load(a, {i, j}) +
                   load(a, {i + 1, j}) + load(a, {i, j + 1});
  return {"Gauss-Seidel, n", nest(l, {10, n - 2, n - 2}, store(a, sum, {i, j})), l, {l[2], l[1]}};
}

Program ring() {
  const Loops l = vars({"y", "x", "u"});
  const auto a = decl_buffer({100, 100}), t = decl_buffer({3, 100}), b = decl_buffer({100, 100});
  const Expr y = l[0];
  const Stmt fill = store(t, load(a, {y, l[1]}), {floormod(y, 3), l[1]});
  const Stmt use = store(b,
                         load(t, {floormod(y, 3), l[2]}) + load(t, {floormod(y + 1, 3), l[2]}) +
                             load(t, {floormod(y + 2, 3), l[2]}),
                         {y, l[2]});
  return {"ring of rows",
          for_loop(l[0], 0, 100, seq({for_loop(l[1], 0, 100, fill), for_loop(l[2], 0, 100, use)})),
          {l[0], l[1]},
          {}};
}

Program cholesky() {
  const Loops l = vars({"k", "i", "p", "q"});
  const Expr n = var("n"), k = l[0], i = l[1], p = l[2], q = l[3];
  const auto a = decl_buffer({n, n});
  const auto at = [&](const Expr& x, const Expr& y) { return load(a, {x, y}); };
  const Expr rows = n - 1 - k;
  const Stmt root = store(a, call(op("sqrt"), {at(k, k)}), {k, k});
  const Stmt column =
      for_loop(l[1], 0, rows, store(a, at(k + 1 + i, k) / at(k, k), {k + 1 + i, k}));
  const Stmt rest = nest({l[2], l[3]}, {rows, p + 1},
                         store(a, at(k + 1 + p, k + 1 + q) - at(k + 1 + p, k) * at(k + 1 + q, k),
                               {k + 1 + p, k + 1 + q}));
  return {"Cholesky, n", for_loop(l[0], 0, n, seq({root, column, rest})), l, {l[3], l[2]}};
}

/// Ten statements: scores, their maximum, exponentials, sum, and the weighted values.
Program attention() {
  const Expr b = var("b"), s = var("s");
  const Loops l = vars({"n", "h", "q", "k0", "d0", "k1", "k2", "k3", "d1", "k4"});
  const auto buffer = [&](int rank) {
    return decl_buffer(std::vector<Expr>(static_cast<std::size_t>(rank), s));
  };
  const auto query = buffer(4), keys = buffer(4), values = buffer(4), score = buffer(4),
             most = buffer(3), weight = buffer(4), total = buffer(3), out = buffer(4);
  const Expr n = l[0], h = l[1], q = l[2];
  const auto zero = float_imm(f32, 0);
  const auto row = [&](const Ptr<Buffer>& of, const Expr& x) { return load(of, {n, h, q, x}); };
  const auto one = [&](const Ptr<Buffer>& of) { return load(of, {n, h, q}); };
  const Stmt body = seq({
      for_loop(
          l[3], 0, s,
          seq({store(score, zero, {n, h, q, l[3]}),
               for_loop(l[4], 0, 64,
                        store(score,
                              row(score, l[3]) + row(query, l[4]) * load(keys, {n, h, l[3], l[4]}),
                              {n, h, q, l[3]})),
               store(score, row(score, l[3]) * float_imm(f32, 0.125), {n, h, q, l[3]})})),
      store(most, zero, {n, h, q}),
      for_loop(l[5], 0, s, store(most, max(one(most), row(score, l[5])), {n, h, q})),
      store(total, zero, {n, h, q}),
      for_loop(l[6], 0, s,
               seq({store(weight, call(op("exp"), {row(score, l[6]) - one(most)}), {n, h, q, l[6]}),
                    store(total, one(total) + row(weight, l[6]), {n, h, q})})),
      for_loop(l[8], 0, 64,
               seq({store(out, zero, {n, h, q, l[8]}),
                    for_loop(l[9], 0, s,
                             store(out,
                                   row(out, l[8]) + row(weight, l[9]) / one(total) *
                                                        load(values, {n, h, l[9], l[8]}),
                                   {n, h, q, l[8]}))})),
  });
  return {"attention, 10 statements",
          nest({l[0], l[1], l[2]}, {b, 8, s}, body),
          {l[0], l[1], l[2], l[3], l[8], l[9]},
          {l[2], l[0]}};
}

double microseconds(const std::function<void()>& body, int repeat, int rounds = 5) {
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const std::clock_t start = std::clock();
    for (int i = 0; i < repeat; ++i) body();
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC * 1e6 / repeat;
    best = std::min(best, taken);
  }
  return best;
}

/// The program as a function of all that it uses.
Ptr<PrimFunc> function_of(const Stmt& root) {
  PrimFunc func{.body = root};
  for (const Ptr<Var>& size : free_variables(root)) {
    if (!size->dtype.is_index()) continue;
    func.params.push_back(size);
    func.buffer_map.push_back(nullptr);
  }
  pre_order_visit(root, [&](const Ref& ref) {
    const auto buffer = Ptr<Buffer>::from(ref);
    const auto is_it = [&](const Ptr<Buffer>& known) { return known.same_as(buffer); };
    if (buffer && std::ranges::none_of(func.buffer_map, is_it)) {
      func.params.push_back(var(buffer->name, handle_type));
      func.buffer_map.push_back(buffer);
    }
    return !buffer;
  });
  return make(std::move(func));
}

/// What a schedule saves by what it knows: whether each loop may be parallel, asked twice; then of
/// the loops that are left when the outermost was split.
void print_questions_of_schedules(const Program& program) {
  const auto func = function_of(program.root);
  const auto ask = [&](const Schedule& schedule, std::size_t first) {
    for (std::size_t i = first; i < program.loops.size(); ++i) {
      (void)carried_by(schedule, schedule.loops_named(0, program.loops[i]->name)[0]);
    }
  };
  const auto least = [](const auto& start, const auto& body) {
    double best = 1e300;
    for (int round = 0; round < 5; ++round) {
      const Schedule schedule = start();
      best = std::min(best, microseconds([&] { body(schedule); }, 1, 1));
    }
    return best;
  };
  const auto fresh = [&] { return Schedule(func, 1); };
  const auto asked = [&] {
    Schedule schedule(func, 1);
    ask(schedule, 0);
    return schedule;
  };
  const auto stepped = [&] {
    Schedule schedule = asked();
    split(schedule, schedule.loops_named(0, program.loops[0]->name)[0], {infer, 4});
    return schedule;
  };
  const auto forgetful = [&] { return Schedule(stepped().func(), 1); };
  const auto ask_all = [&](const Schedule& schedule) { ask(schedule, 0); };
  const auto ask_rest = [&](const Schedule& schedule) { ask(schedule, 1); };
  fmt::print("{:26} {:10.0f} us {:10.1f} us {:13.0f} us {:13.1f} us\n", program.name,
             least(fresh, ask_all), least(asked, ask_all), least(forgetful, ask_rest),
             least(stepped, ask_rest));
}

}  // namespace

int main() {
  fmt::print("{:26} {:>5} {:>5} {:>11} {:>15} {:>13} {:>16}\n", "", "deps", "exact", "first look",
             "all questions", "table reads", "table updates");
  const Program programs[] = {matmul(false), matmul(true), seidel(),
                              ring(),        cholesky(),   attention()};
  for (const Program& program : programs) {
    std::size_t deps = 0, exact = 0;
    const auto ask_all = [&] {
      Dependences dependences(program.root);
      for (const Ptr<Var>& loop : program.loops) (void)dependences.parallelizable(loop);
      if (!program.order.empty()) (void)dependences.permutable(program.order);
      deps = dependences.dependence_count();
      exact = dependences.exact_questions();
    };
    const double first = microseconds([&] { Dependences dependences(program.root); }, 50);
    const double all = microseconds(ask_all, 5);

    const DistanceTable table = Dependences(program.root).distances();
    const double reads = microseconds(
        [&] {
          for (const Ptr<Var>& loop : program.loops) (void)table.is_parallel(loop);
          if (!program.order.empty()) (void)table.can_reorder(program.order);
        },
        20000);
    const auto outer = var("o"), inner = var("s"), fused = var("f");
    DistanceTable kept = table;
    const double updates = microseconds(
        [&] {
          kept.split(program.loops[0], outer, inner, 4, 1000);
          kept.fuse(outer, inner, program.loops[0], 4);
        },
        5000);
    const double questions = static_cast<double>(program.loops.size() + !program.order.empty());
    fmt::print("{:26} {:5} {:5} {:8.0f} us {:12.0f} us {:8.2f} us/1 {:10.2f} us/2\n", program.name,
               deps, exact, first, all, reads / questions, updates);
  }
  fmt::print("\n{:26} {:>13} {:>13} {:>16} {:>16}\n", "questions of a schedule", "first", "again",
             "split, afresh", "split, known");
  for (const Program& program : programs) print_questions_of_schedules(program);
}
