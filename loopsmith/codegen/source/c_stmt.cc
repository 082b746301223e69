// SPDX-License-Identifier: Apache-2.0
// Statements. Loops stay loops; the body of a parallel one becomes a function.
#include <algorithm>
#include <cctype>

#include "loopsmith/codegen/captures.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/source.h"
#include "loopsmith/transform/pragmas.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith::detail {
namespace {

/// Words of C, and names that the text around the functions uses.
constexpr std::string_view taken_names[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while", "bool", "true", "false", "asm", "typeof", "context",
    "arguments", "closure", "given", "begin", "end", "l", "main", "NAN", "INFINITY", "NULL",
    "errno", "I", "unix", "linux", "memcpy", "isinf", "isnan", "isfinite",
    // Of OpenCL C and CUDA C++.
    "kernel", "global", "local", "constant", "private", "generic", "half", "uchar", "ushort",
    "uint", "ulong", "image", "event_t", "sampler_t", "barrier", "class", "new", "delete", "this",
    "template", "typename", "namespace", "operator", "public", "protected", "friend", "virtual",
    "using", "try", "catch", "throw", "and", "or", "not", "xor", "export", "explicit", "mutable",
    "wchar_t", "nullptr", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "vec",
    "pipe"};

}  // namespace

CWriter::CWriter(CModule& module, std::string function_name,
                 const std::unordered_set<std::string>& names)
    : module_(module), function_name_(std::move(function_name)), names_(names) {
  for (const std::string_view name : taken_names) names_.emplace(name);
  for (const MathFunction& function : all_math_functions()) {
    if (function.c.empty()) continue;
    names_.emplace(function.c);
    names_.insert(fmt::format("{}f", function.c));
  }
}

std::string CWriter::new_name(std::string_view wish) {
  std::string name;
  for (const char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // Leading underscores and ls_ are others'.
  if (name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) ||
      name.starts_with("ls_") || name.starts_with("LS_")) {
    name.insert(0, "v_");
  }
  std::string unique = name;
  for (int n = 1; module_.function_names.contains(unique) || !names_.insert(unique).second; ++n)
    unique = fmt::format("{}_{}", name, n);
  return unique;
}

void CWriter::line(std::string_view text) {
  out_.append(static_cast<std::size_t>(indent_) * 2, ' ').append(text);
  if (marked_line_ != 0) out_ += fmt::format("{0}{1}{0}", c_line_mark, marked_line_);
  out_ += '\n';
}

void CWriter::block(const std::string& head, const std::function<void()>& body) {
  line(head + " {");
  const auto known = known_;
  const auto names = names_;
  ++indent_;
  body();
  --indent_;
  known_ = known;
  names_ = names;
  line("}");
}

std::string CWriter::captured(const std::function<void()>& emit) {
  const auto known = known_;
  std::string outer = std::exchange(out_, {});
  ++indent_;
  emit();
  --indent_;
  known_ = known;
  return std::exchange(out_, std::move(outer));
}

void CWriter::for_each_lane(int lanes, const std::vector<Expr>& roots,
                            const std::function<void(const CLane&)>& emit) {
  bool needs_constants = false;
  for (const Expr& root : roots) {
    regroup_inside(root);
    pre_order_visit(root, [&](const Ref& node) {
      const auto* call = node.as<Call>();
      const auto* shuffle = node.as<Shuffle>();
      const bool moves = call && (call->op == op("vectorhigh") || call->op == op("vectorcombine"));
      needs_constants = needs_constants || moves || (shuffle && !even_lanes(*shuffle));
      return true;
    });
  }
  if (needs_constants) {
    for (int lane = 0; lane < lanes; ++lane) emit({std::to_string(lane), lanes});
    return;
  }
  const std::string lane = new_name("lane");
  block(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", lane, lanes),
        [&] { emit({lane, lanes}); });
}

void CWriter::statement(const Stmt& stmt) {
  uses_.clear();
  known_.clear();
  const std::uint32_t outer = marked_line_;
  if (module_.lines) {
    const auto line = module_.lines->find(stmt.get());
    if (line != module_.lines->end()) marked_line_ = line->second;
  }
  deep_call([&] { new_statement(stmt); });
  marked_line_ = outer;
}

/// Shows the block and the user's line, where they are others than before.
void CWriter::remark(const Object& node) {
  if (!node.span.known()) return;
  std::string file = source_name(node.span.source);
  file.erase(0, file.rfind('/') + 1);
  std::string text = fmt::format("{}:{}", file, node.span.line);
  const std::string block = source_block(node.span.source);
  if (!block.empty()) text += fmt::format(" (block {})", block);
  if (text == remarked_) return;
  remarked_ = text;
  std::string source = source_line(node.span.source, node.span.line);
  source.erase(0, source.find_first_not_of(" \t"));
  if (!source.empty()) text += ": " + source;
  // A line that ends with a backslash would go on; control characters could end it.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  while (text.ends_with('\\') || text.ends_with('/')) text.pop_back();
  line("// " + text);
}

void CWriter::new_statement(const Stmt& stmt) {
  const Object& node = *stmt.get();
  // What stands in this statement itself, not in its bodies.
  for_each_child(node, [&](const Ref& child, Role) { count_uses(Expr::from(child)); });
  switch (node.kind) {
    case kind_of<SeqStmt>:
      for (const Stmt& each : static_cast<const SeqStmt&>(node).seq) statement(each);
      return;
    case kind_of<LetStmt>: return let(static_cast<const LetStmt&>(node));
    case kind_of<AttrStmt>:
      if (static_cast<const AttrStmt&>(node).attr_key == async_scope) {
        return start_copies(static_cast<const AttrStmt&>(node));
      }
      if (static_cast<const AttrStmt&>(node).attr_key == products_in_flight) {
        return multiply_in_flight(static_cast<const AttrStmt&>(node));
      }
      return statement(static_cast<const AttrStmt&>(node).body);
    case kind_of<AssertStmt>: return check_assertion(static_cast<const AssertStmt&>(node));
    case kind_of<BufferStore>: remark(node); return store(static_cast<const BufferStore&>(node));
    case kind_of<Allocate>: return allocate(static_cast<const Allocate&>(node));
    case kind_of<AllocateConst>: return allocate_constant(static_cast<const AllocateConst&>(node));
    case kind_of<DeclBuffer>: return statement(static_cast<const DeclBuffer&>(node).body);
    case kind_of<Evaluate>: {
      const Expr& expr = static_cast<const Evaluate&>(node).value;
      if (expr.is<IntImm>()) return;
      const auto* call = expr.as<Call>();
      if (call && call->op == op("ret")) return leave_with(*stmt.get(), call->args[0]);
      remark(node);
      if (call && call->op == op("tvm_storage_sync") && module_.dialect.is_device) {
        return wait_for_threads(*call);
      }
      const bool is_of_copies =
          call && (call->op == op("ptx_commit_group") || call->op == op("ptx_wait_group"));
      if (is_of_copies && module_.dialect.has_instructions) return wait_for_copies(*call);
      if (call && call->op == op("dma_copy") && module_.dialect.has_instructions) {
        return copy_tile(*call);
      }
      if (call && is_packed_call(call->op) && !module_.dialect.is_device) {
        call_host(*call, LS_NONE);
        return;
      }
      const CText text = value(expr);
      if (text.text != "0")
        line(expr.dtype().is_void() ? text.text + ";" : fmt::format("(void)({});", text.text));
      if (call && multiplies_in_warpgroups(*call)) wait_for_products(*call);
      return;
    }
    case kind_of<IfThenElse>: return if_then_else(static_cast<const IfThenElse&>(node));
    case kind_of<For>: return loop(static_cast<const For&>(node));
    case kind_of<While>: return loop_while(static_cast<const While&>(node));
    case kind_of<Break>: return jump(/*to_end=*/true, stmt);
    case kind_of<Continue>: return jump(/*to_end=*/false, stmt);
    case kind_of<Return>: return leave_with(node, static_cast<const Return&>(node).value);
    default: break;
  }
  check(false, "codegen", "a statement {} was not lowered", node_info(node).name);
}

void CWriter::let(const LetStmt& let) {
  const DataType dtype = let.var->dtype;
  const std::string name = new_name(let.var->name);
  if (dtype.is_vector()) {
    line(fmt::format("{} {}[{}];", c_type(dtype.element()), name, dtype.lanes));
    fill(name, let.value);
    bind(let.var, {name, dtype, c_type(dtype.element())});
  } else if (dtype.is_index()) {
    const CText text = index(let.value);
    const bool is_narrow = module_.dialect.is_device && dtype.bits == 32 && !text.is_wide;
    const std::string type = is_narrow ? "int32_t" : "int64_t";
    line(fmt::format("const {} {} = {};", type, name, text.text));
    bind(let.var, {name, dtype, type, text.bound, !is_narrow});
    if (module_.dialect.is_device) {
      named_indices_[let.var] = substitute(let.value, named_indices_);
    }
  } else {
    const bool is_pointer = dtype.is_handle() && let.var->pointer;
    if (dtype.is_handle() && !module_.dialect.global_space.empty()) {
      refuse_on_device(let, "a name for a pointer", "use the buffer, or a view of it");
    }
    const std::string type =
        is_pointer ? c_memory_type(let.var->pointer->element.element()) + "*" : c_type(dtype);
    const CText text = value(let.value);
    line(is_pointer ? fmt::format("{0} {1} = ({0}){2};", type, name, text.in(CLevel::unary))
                    : fmt::format("const {} {} = {};", type, name, text.text));
    bind(let.var, {name, dtype, type, text.bound});
  }
  statement(let.body);
}

void CWriter::check_assertion(const AssertStmt& assertion) {
  if (module_.dialect.is_device) {
    refuse_on_device(assertion, "an assertion", "check it before the kernel is launched");
  }
  remark(assertion);
  leave_if("!" + value(assertion.condition).in(CLevel::unary),
           fmt::format("LS_ASSERTION, -1, -1, 0, 0, {}", value(assertion.message).text));
  statement(assertion.body);
}

void CWriter::if_then_else(const IfThenElse& branch) {
  if (const std::int64_t* constant = as_int(branch.condition)) {
    if (*constant != 0) return statement(branch.then_case);
    if (branch.else_case) statement(branch.else_case);
    return;
  }
  const std::string condition = value(branch.condition).text;
  block(fmt::format("if ({})", condition), [&] { statement(branch.then_case); });
  if (!branch.else_case) return;
  out_.pop_back();
  out_ += " else {\n";
  ++indent_;
  statement(branch.else_case);
  --indent_;
  line("}");
}

void CWriter::loop(const For& loop) {
  require_few_loops(loop, loop_depth_);
  require_no_thread(loop);
  ++loop_depth_;
  const std::int64_t* extent = as_int(loop.extent);
  const bool is_parallel = loop.kind == ForKind::parallel && !module_.dialect.is_device;
  const bool is_alone = (extent && *extent == 1) || is_const_int(parallel_condition(loop), 0);
  if (is_parallel && !is_alone) {
    parallel_loop(loop);
  } else {
    count_loop(loop, "0", index(loop.extent).text);
  }
  --loop_depth_;
}

/// Tells the C compiler to unroll the loop that follows.
void CWriter::hint_unrolling(const For& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  if (!loop.annotations.contains(unroll_later) || !extent || *extent < 1) return;
  // No compiler takes more.
  line(fmt::format("#pragma {}unroll {}", module_.dialect.is_device ? "" : "GCC ",
                   std::min<std::int64_t>(*extent, 65534)));
}

/// The iterations begin, ..., end - 1, with the memory that they share.
void CWriter::count_loop(const For& loop, const std::string& begin, const std::string& end) {
  const std::vector<const Allocate*> shared = shared_by_iterations(loop);
  if (shared.empty()) return count_iterations(loop, begin, end);
  block(fmt::format("if ({} < {})", begin, end), [&] {
    for (const Allocate* each : shared) {
      take(*each);
      taken_.insert(each);
    }
    count_iterations(loop, begin, end);
    for (const Allocate* each : shared) {
      taken_.erase(each);
      give_back();
    }
  });
}

void CWriter::count_iterations(const For& loop, const std::string& begin, const std::string& end) {
  const DataType dtype = loop.loop_var->dtype;
  const std::string name = new_name(loop.loop_var->name);
  const CText min = index(loop.min), extent = index(loop.extent), step = index(loop.step);
  // The last value is min + (extent - 1) * step; a loop variable does not leave its type.
  const ConstIntBound last =
      arith::multiply(arith::subtract(extent.bound, arith::point(1)), step.bound);
  const ConstIntBound all = arith::all_of(dtype);
  ConstIntBound bound =
      arith::intersect(arith::add(min.bound, arith::unite(last, arith::point(0))), all);
  if (bound.is_empty()) bound = all;
  exits_.push_back({held_.size(), is_loop_body_ && exits_.empty()});
  const auto bind_to = [&](bool is_wide) {
    bind(loop.loop_var, {name, dtype, is_wide ? "int64_t" : c_type(dtype), bound, is_wide});
  };
  if (is_const_int(loop.step, 1) && dtype.is_index()) {
    // Counted in 32 bits where that is known to do.
    const ConstIntBound ends = arith::unite(bound, arith::add(min.bound, extent.bound));
    const bool is_narrow = module_.dialect.is_device && dtype.bits == 32 && fits_int32(ends);
    const auto from_min = [&](const std::string& count, CLevel level) {
      if (min.text == "0") return count;
      if (count == "0") return min.text;
      return fmt::format("{} + {}", min.in(CLevel::sum), CText{count, level}.in(CLevel::product));
    };
    const std::string first = from_min(begin, CLevel::atom);
    const std::string limit = from_min(end, end == extent.text ? extent.level : CLevel::atom);
    bind_to(!is_narrow);
    hint_unrolling(loop);
    block(fmt::format("for ({3} {0} = {1}; {0} < {2}; ++{0})", name, first, limit,
                      is_narrow ? "int32_t" : "int64_t"),
          [&] { statement(loop.body); });
  } else {
    const std::string count = new_name(name + "_count");
    hint_unrolling(loop);
    block(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", count, begin, end), [&] {
      const std::string wide =
          fmt::format("{} + {} * {}", min.in(CLevel::sum), count, step.in(CLevel::unary));
      line(dtype.is_index()
               ? fmt::format("const int64_t {} = {};", name, wide)
               : fmt::format("const {} {} = {};", c_type(dtype), name, c_wrapped(dtype, wide)));
      bind_to(dtype.is_index());
      statement(loop.body);
    });
  }
  exits_.pop_back();
}

void CWriter::loop_while(const While& loop) {
  CText condition;
  const std::string before = captured([&] { condition = value(loop.condition); });
  exits_.push_back({held_.size(), false});
  ++loop_depth_;
  if (before.empty()) {
    block(fmt::format("while ({})", condition.text), [&] { statement(loop.body); });
  } else {
    block("for (;;)", [&] {
      out_ += before;
      line(fmt::format("if (!({})) break;", condition.text));
      statement(loop.body);
    });
  }
  --loop_depth_;
  exits_.pop_back();
}

/// context->parallel_for(data, 0, extent, body, &closure), whose code is this function's.
void CWriter::parallel_loop(const For& loop) {
  const std::vector<Ref> used =
      captured_by({loop.min, loop.extent, loop.step, loop.body},
                  [&](const Object* var) { return variables_.contains(var); });
  const std::string name = new_name(function_name_ + "_" + loop.loop_var->name);
  module_.function_names.insert(name);
  CWriter inner(module_, name, names_);
  inner.is_loop_body_ = true;
  inner.loop_depth_ = loop_depth_;
  inner.remarked_ = remarked_;
  std::string fields = "  ls_context* context;\n", values = "context";
  for (const Ref& var : used) {
    const CVariable& known = variables_.at(var.get());
    const std::string type = known.dtype.is_vector() ? "const " + known.type + "*" : known.type;
    fields += fmt::format("  {} {};\n", type, known.name);
    values += ", " + known.name;
    inner.bind(var, known);
    inner.line(fmt::format("{} const {} = given->{};", type, known.name, known.name));
  }
  inner.line("ls_context* const context = given->context;");
  inner.count_loop(loop, "begin", "end");
  inner.line("return LS_OK;");
  module_.functions += fmt::format(
      "struct {0} {{\n{1}}};\n\n"
      "static int32_t {0}(void* closure, int64_t begin, int64_t end) {{\n"
      "  const struct {0}* given = (const struct {0}*)closure;\n{2}}}\n\n",
      name, fields, inner.take_text());

  const std::string closure = new_name("closure");
  const std::string status = new_name("status");
  // Pointers to constant data lose their `const` here, and are only read there.
  line(fmt::format("struct {} {} = {{{}}};", name, closure, values));
  const std::string extent = index(loop.extent).text;
  std::string run = fmt::format("context->parallel_for(context->parallel_for_data, 0, {}, {}, &{})",
                                extent, name, closure);
  if (const Expr condition = parallel_condition(loop); !is_const_int(condition, 1)) {
    run = fmt::format("{} ? {} : {}(&{}, 0, {})", value(condition).in(CLevel::compare), run, name,
                      closure, extent);
  }
  line(fmt::format("const int32_t {} = {};", status, run));
  block(fmt::format("if ({} != LS_OK)", status), [&] { leave(status); });
}

void CWriter::jump(bool to_end, const Stmt& stmt) {
  const bool is_parallel = !exits_.empty() && exits_.back().is_parallel;
  require(!exits_.empty() && !(is_parallel && to_end), "break_in_loop",
          hint("a parallel loop has no order in which it could be left"), "{} leaves {}",
          node_info(*stmt.get()).name, exits_.empty() ? "no loop" : "a parallel loop");
  release_to(exits_.back().held);
  line(to_end ? "break;" : "continue;");
}

void CWriter::leave_with(const Object& at, const Expr& result) {
  if (module_.dialect.is_device) {
    refuse_on_device(at, "a return", "put what follows under a condition");
  }
  require(!is_loop_body_, "return_in_parallel_loop", hint("make the loop serial"),
          "Return leaves a parallel loop");
  if (!result_.empty() && result.defined()) {
    line(fmt::format("*{} = {};", result_, value(result).text));
  } else {
    require(!result.defined() || is_const_int(result, 0), "return_has_no_value",
            hint("write results into a buffer, or call it from another function of the module"),
            "Return gives a value, which a host cannot take");
  }
  leave("LS_OK");
}

void CWriter::leave(const std::string& code) {
  release_to(0);
  line(fmt::format("return {};", code));
}

void CWriter::leave_if(const std::string& condition, const std::string& error) {
  block(fmt::format("if ({})", condition), [&] {
    const std::string status = new_name("status");
    line(fmt::format("const int32_t {} = {}(context, {});", status, module_.helpers.fail(), error));
    leave(status);
  });
}

}  // namespace loopsmith::detail
