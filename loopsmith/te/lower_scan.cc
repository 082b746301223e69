// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/evaluate.h"
#include "loopsmith/te/lower_ops.h"

namespace loopsmith::te {
namespace {

bool is_state(const ScanOp& scan, const Tensor& tensor) {
  for (const auto& state : scan.state_placeholder) {
    if (Tensor(state) == tensor) return true;
  }
  return false;
}

/// Stops where row t would read row t, or a later one, of the state: they are not computed yet.
void require_earlier_row(const ScanOp& scan, const ComputeOp& step, const Expr& row) {
  const Ptr<Var>& time = step.axis[0]->var;
  for (const std::int64_t t : {1000, 1001}) {
    const auto read = evaluate(row, {{time.get(), Number{.whole = t}}});
    require(!read || read->whole < t, ErrorKind::user, "scan_reads_earlier_rows",
            hint("read the state at t - 1, or earlier"), row.span(),
            "scan {}: {} reads row {} of the state to compute row {}", scan.name, step.name,
            read ? read->whole : 0, t);
  }
}

/// Steps read one another in the row that they compute, the state in earlier ones.
void require_rows(const ScanOp& scan, const std::vector<Ptr<ComputeOp>>& steps) {
  const auto is_step = [&](const Tensor& tensor) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const auto& step) { return step.same_as(tensor->op); });
  };
  for (const auto& step : steps) {
    require(!step->axis.empty(), ErrorKind::user, "scan_step_has_time",
            hint("give it the time as its first dimension"), step.span(),
            "scan {}: {} reads the state but has no time axis", scan.name, step->name);
    for (const Expr& body : step->body) {
      pre_order_visit(body, [&](const Ref& ref) {
        const auto* load = ref.as<ProducerLoad>();
        if (!load) return !ref.is<loopsmith::Tensor>();
        const Tensor producer(load->producer);
        if (is_state(scan, producer)) require_earlier_row(scan, *step, load->indices[0]);
        require(!is_step(producer) || load->indices[0].same_as(step->axis[0]->var), ErrorKind::user,
                "scan_steps_share_row", hint("make it a state, to read its earlier rows"),
                step.span(), "scan {}: {} reads {} at another time than its own", scan.name,
                step->name, producer.name());
        return true;
      });
    }
  }
}

/// for t in rows:
///   for i in n:
///     to[t, i] = from[t, i]
Stmt copy_rows(const Tensor& from, const Ptr<Buffer>& to, const Ptr<Range>& rows,
               const TimeLoop* time, const std::string& name, LowerContext& context) {
  const Ptr<Buffer> source = context.buffers.get(from);
  if (source.same_as(to)) return no_op();
  Block block{.name_hint = context.block_name(name)};
  std::vector<Expr> indices;
  std::vector<Expr> values;
  std::vector<std::pair<Ptr<Var>, Ptr<Range>>> loops;
  for (std::size_t i = 0; i < from.ndim(); ++i) {
    const Ptr<Range> domain =
        i == 0 ? rows : range(zero_of(from.shape()[i].dtype()), from.shape()[i]);
    const DataType type = domain->extent.dtype();
    const bool is_time = i == 0 && time;
    auto axis = var(fmt::format("v_i{}", i), type);
    indices.emplace_back(axis);
    block.iter_vars.push_back(
        make(loopsmith::IterVar{.dom = domain,
                                .var = std::move(axis),
                                .iter_type = is_time ? IterType::ordered : IterType::data_par}));
    if (!is_time) loops.emplace_back(var(fmt::format("i{}", i), type), domain);
    values.push_back(is_time ? cast(type, time->loop_var) : Expr(loops.back().first));
  }
  block.body = store(to, load(source, indices), indices);
  Stmt nest = make(BlockRealize{.iter_values = std::move(values),
                                .block = detect_regions(make(std::move(block)))});
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    nest = for_loop(loop->first, loop->second->min, loop->second->extent, nest);
  }
  return nest;
}

}  // namespace

Stmt lower_scan(const Ptr<ScanOp>& op, const std::vector<Ptr<ComputeOp>>& steps,
                LowerContext& context) {
  require_rows(*op, steps);
  const Ptr<Range>& domain = op->scan_axis->dom;
  const TimeLoop time{var(op->scan_axis->var->name, op->scan_axis->var->dtype), domain};
  const Ptr<Range> first_rows = range(zero_of(domain->min.dtype()), domain->min);

  std::vector<Stmt> before;
  std::vector<Stmt> body;
  for (const auto& step : steps) {
    const SpanScope scope(step.span());
    body.push_back(lower_compute(*step, step, context, &time));
  }
  for (std::size_t i = 0; i < op->update.size(); ++i) {
    const Ptr<Buffer> state = context.buffers.get(output(op, i));
    const std::string name = output(op, i).name();
    before.push_back(copy_rows(op->init[i], state, first_rows, nullptr, name + "_init", context));
    body.push_back(copy_rows(op->update[i], state, domain, &time, name, context));
  }
  before.push_back(for_loop(time.loop_var, domain->min, domain->extent, seq(std::move(body))));
  return seq(std::move(before));
}

}  // namespace loopsmith::te
