// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/trace.h"
#include "loopsmith/support/error.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "loopsmith/ir/json.h"
#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/python_text.h"

namespace loopsmith {
namespace {

using Json = nlohmann::json;

/// What a handle is called in a trace: `l`, `b` or `v`, and its number there.
using Key = std::pair<char, std::uint32_t>;

std::optional<Key> key_of(const Argument& argument) {
  if (const auto* loop = argument.as<LoopRV>()) return Key{'l', loop->index};
  if (const auto* block = argument.as<BlockRV>()) return Key{'b', block->index};
  if (const auto* hole = argument.as<ExprRV>()) return Key{'v', hole->index};
  return {};
}

/// Calls `visit` for each handle in an argument, in order.
template <class Visit>
void each_handle(const Argument& argument, Visit&& visit) {
  if (const auto key = key_of(argument)) visit(*key);
  if (const auto* list = argument.as<Argument::List>()) {
    for (const Argument& item : *list) each_handle(item, visit);
  }
}

bool is_postproc(const Step& step) {
  return step.primitive->name == "enter_postproc";
}

/// Names of handles, by what a trace has made so far.
class TraceNames {
 public:
  std::string define(Key key) { return names_[key] = fmt::format("{}{}", key.first, count_++); }
  std::string use(Key key) const {
    const auto found = names_.find(key);
    return found == names_.end() ? fmt::format("_{}{}", key.first, key.second) : found->second;
  }

 private:
  std::map<Key, std::string> names_;
  std::size_t count_ = 0;
};

/// What stands left of the call: `b0 = `, `l1, l2 = `, nothing.
std::string targets_of(const Argument& result, TraceNames& naming) {
  if (const auto key = key_of(result)) return naming.define(*key) + " = ";
  const auto* list = result.as<Argument::List>();
  if (!list || list->empty()) return {};
  std::vector<std::string> names;
  for (const Argument& item : *list) names.push_back(naming.define(*key_of(item)));
  return fmt::format("{}{} = ", fmt::join(names, ", "), names.size() == 1 ? "," : "");
}

std::string line_of(const Step& step, TraceNames& naming) {
  const auto parameters = step.primitive->parameters();
  std::vector<std::string> arguments;
  const auto name = [&](const Argument& handle) { return naming.use(*key_of(handle)); };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_left_out = !parameters[i].required && step.arguments[i].is_none() &&
                             parameters[i].default_value.is_none();
    if (is_left_out) continue;
    arguments.push_back(
        fmt::format("{}={}", parameters[i].name, python_text(step.arguments[i], name)));
  }
  const std::string call =
      fmt::format("sch.{}({})", step.primitive->name, fmt::join(arguments, ", "));
  return targets_of(step.result, naming) + call;
}

// ---- JSON ----

/// `split`, `compute_at` as `Split`, `ComputeAt`.
std::string kind_of_step(std::string_view name) {
  std::string kind;
  bool is_start = true;
  for (const char letter : name) {
    if (letter == '_') {
      is_start = true;
    } else {
      kind += is_start ? static_cast<char>(std::toupper(letter)) : letter;
      is_start = false;
    }
  }
  return kind;
}

const PrimitiveBase* primitive_of_kind(std::span<const PrimitiveBase* const> primitives,
                                       std::string_view kind) {
  for (const PrimitiveBase* primitive : primitives) {
    if (kind_of_step(primitive->name) == kind) return primitive;
  }
  return nullptr;
}

/// Handles are bare names, texts are quoted inside their quotes, nodes are objects.
Json json_of(const Argument& argument, const TraceNames& naming) {
  if (const auto key = key_of(argument)) return naming.use(*key);
  if (const auto* flag = argument.as<bool>()) return *flag;
  if (const auto* number = argument.as<std::int64_t>()) return *number;
  if (const auto* real = argument.as<double>()) return *real;
  if (const auto* text = argument.as<std::string>()) return quoted_text(*text);
  if (const auto* node = argument.as<Ref>()) return Json{{"node", to_json(*node)}};
  if (const auto* list = argument.as<Argument::List>()) {
    Json items = Json::array();
    for (const Argument& item : *list) items.push_back(json_of(item, naming));
    return items;
  }
  return "None";
}

/// Handles by the names that a file gives them.
using Named = std::map<std::string, Argument>;

[[noreturn]] void refuse_json(std::string_view problem) {
  fail(ErrorKind::format, "trace_is_readable", hint("pass what as_json has written"), {},
       "trace: {}", problem);
}

Argument argument_of(const Json& json, const Named& named) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_array()) {
    Argument::List list;
    for (const Json& item : json) list.push_back(argument_of(item, named));
    return list;
  }
  if (json.is_object() && json.contains("node") && json["node"].is_string()) {
    return from_json(json["node"].get<std::string>());
  }
  if (!json.is_string()) refuse_json("an argument is of an unknown form");
  const auto text = json.get<std::string>();
  if (text == "None") return {};
  if (text.starts_with('"')) {
    const Json inner = Json::parse(text, nullptr, false);
    if (!inner.is_string()) refuse_json("a text is not quoted");
    return inner.get<std::string>();
  }
  const auto found = named.find(text);
  if (found == named.end()) refuse_json(fmt::format("{} is used before it is made", text));
  return found->second;
}

std::optional<std::size_t> decision_place(const PrimitiveBase& primitive) {
  const auto parameters = primitive.parameters();
  if (parameters.empty() || parameters.back().name != "decision") return {};
  return parameters.size() - 1;
}

bool is_handle_type(std::string_view type) {
  return type.find("RV") != std::string_view::npos ||
         type.find("IndexMap") != std::string_view::npos;
}

/// Applies a step, its arguments given as values.
Argument call(Schedule& schedule, const PrimitiveBase& primitive,
              const std::vector<Argument>& arguments) {
  std::vector<const Argument*> given;
  for (const Argument& argument : arguments) given.push_back(&argument);
  return primitive.call(schedule, given);
}

/// Pairs the handles of what a step gave once with those that it gives now.
template <class Pair>
void pair_results(const Argument& before, const Argument& now, Pair&& pair) {
  if (const auto key = key_of(before)) return pair(*key, now);
  const auto* old_list = before.as<Argument::List>();
  const auto* new_list = now.as<Argument::List>();
  if (!old_list || !new_list) return;
  for (std::size_t i = 0; i < std::min(old_list->size(), new_list->size()); ++i) {
    pair_results((*old_list)[i], (*new_list)[i], pair);
  }
}

Argument renamed(const Argument& argument, const std::map<Key, Argument>& now) {
  if (const auto key = key_of(argument)) {
    const auto found = now.find(*key);
    require(found != now.end(), ErrorKind::schedule, "trace_is_whole",
            hint("replay a trace from its first step"), {},
            "trace: a step uses what no step before it has made");
    return found->second;
  }
  const auto* list = argument.as<Argument::List>();
  if (!list) return argument;
  Argument::List items;
  items.reserve(list->size());
  for (const Argument& item : *list) items.push_back(renamed(item, now));
  return items;
}

}  // namespace

std::size_t Trace::size(bool remove_postproc) const {
  if (!remove_postproc) return steps_.size();
  std::size_t size = 0;
  while (size < steps_.size() && !is_postproc(steps_[size])) ++size;
  return size;
}

std::vector<std::string> Trace::as_python(bool remove_postproc) const {
  TraceNames naming;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < size(remove_postproc); ++i) {
    lines.push_back(line_of(steps_[i], naming));
  }
  return lines;
}

std::string Trace::text() const {
  const auto lines = as_python();
  const bool uses_package = std::ranges::any_of(
      lines, [](const std::string& line) { return line.find("ls.") != std::string::npos; });
  std::string text = uses_package ? "import loopsmith as ls\n" : "";
  text += "from loopsmith import tir\ndef apply_trace(sch: tir.Schedule) -> None:\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* mark = steps_[i].reorders_reduction ? "  # reorders a reduction" : "";
    text += "  " + lines[i] + mark + "\n";
  }
  if (steps_.empty()) text += "  pass\n";
  return text;
}

std::string Trace::as_json(bool remove_postproc) const {
  TraceNames naming;
  Json steps = Json::array();
  Json decisions = Json::array();
  for (std::size_t i = 0; i < size(remove_postproc); ++i) {
    const Step& step = steps_[i];
    const auto parameters = step.primitive->parameters();
    const auto decision = decision_place(*step.primitive);
    Json inputs = Json::array();
    Json attrs = Json::array();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (decision == k) {
        decisions.push_back({i, json_of(step.arguments[k], naming)});
      } else {
        const bool is_input = is_handle_type(parameters[k].type);
        (is_input ? inputs : attrs).push_back(json_of(step.arguments[k], naming));
      }
    }
    Json outputs = Json::array();
    each_handle(step.result, [&](Key key) { outputs.push_back(naming.define(key)); });
    steps.push_back({kind_of_step(step.primitive->name), inputs, attrs, outputs});
  }
  return Json::array({steps, decisions}).dump();
}

void Trace::apply_to(Schedule& schedule, bool remove_postproc) const {
  apply_to(schedule, remove_postproc, {});
}

void Trace::sample_again(Schedule& schedule) const {
  const auto draw = [](std::size_t, const std::vector<Argument>&) { return Argument(); };
  apply_to(schedule, false, {.decide = draw});
}

void Trace::apply_to(Schedule& schedule, bool remove_postproc, const Observer& observer) const {
  std::map<Key, Argument> now;
  for (std::size_t i = 0; i < size(remove_postproc); ++i) {
    const Step& step = steps_[i];
    std::vector<Argument> arguments;
    arguments.reserve(step.arguments.size());
    for (const Argument& argument : step.arguments) arguments.push_back(renamed(argument, now));
    if (const auto place = observer.decide ? decision_place(*step.primitive) : std::nullopt) {
      if (auto other = observer.decide(i, arguments)) arguments[*place] = *std::move(other);
    }
    const Argument result = call(schedule, *step.primitive, arguments);
    pair_results(step.result, result, [&](Key key, const Argument& made) { now[key] = made; });
    if (observer.done) observer.done(i);
  }
}

namespace {

/// Does a step, or only notes it: gets its primitive, its arguments, and how many handles it gave.
using TakeStep =
    std::function<Argument(const PrimitiveBase&, const std::vector<Argument>&, std::size_t)>;

/// Reads the steps that `as_json` wrote.
void read_steps(std::string_view text, std::span<const PrimitiveBase* const> primitives,
                const TakeStep& take) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array() || json.size() != 2 || !json[0].is_array() || !json[1].is_array()) {
    refuse_json("it is no list of steps and decisions");
  }
  std::map<std::size_t, const Json*> decisions;
  for (const Json& item : json[1]) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned()) {
      refuse_json("a decision is no pair of a step and a value");
    }
    decisions[item[0].get<std::size_t>()] = &item[1];
  }
  Named named;
  for (std::size_t i = 0; i < json[0].size(); ++i) {
    const Json& item = json[0][i];
    const bool is_step = item.is_array() && item.size() == 4 && item[0].is_string() &&
                         item[1].is_array() && item[2].is_array() && item[3].is_array();
    if (!is_step) refuse_json(fmt::format("step {} is no list of kind, inputs, attrs, outputs", i));
    const PrimitiveBase* primitive = primitive_of_kind(primitives, item[0].get<std::string>());
    if (!primitive) refuse_json(fmt::format("no primitive is called {}", item[0].dump()));
    const auto parameters = primitive->parameters();
    const auto decision = decision_place(*primitive);
    std::vector<Argument> arguments;
    std::size_t input = 0, attr = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (decision == k) {
        arguments.push_back(decisions.contains(i) ? argument_of(*decisions[i], named) : Argument());
        continue;
      }
      const bool is_input = is_handle_type(parameters[k].type);
      const Json& values = item[is_input ? 1 : 2];
      std::size_t& next = is_input ? input : attr;
      if (next >= values.size()) refuse_json(fmt::format("step {} has too few arguments", i));
      arguments.push_back(argument_of(values[next++], named));
    }
    const Argument result = take(*primitive, arguments, item[3].size());
    std::size_t output = 0;
    const auto define = [&](const auto& self, const Argument& made) -> void {
      if (const auto* list = made.as<Argument::List>()) {
        for (const Argument& one : *list) self(self, one);
      } else if (key_of(made) && output < item[3].size()) {
        const Json& name = item[3][output++];
        if (!name.is_string()) refuse_json("the name of an output is no text");
        named[name.get<std::string>()] = made;
      }
    };
    define(define, result);
  }
}

/// Handles of no schedule in the place of those that a step gave.
Argument handles_of(const PrimitiveBase& primitive, std::size_t count, std::uint32_t& next) {
  const std::string type = primitive.result_type();
  const auto one = [&]() -> Argument {
    const std::uint32_t index = next++;
    if (type.find("LoopRV") != std::string::npos) return LoopRV{0, index};
    if (type.find("BlockRV") != std::string::npos) return BlockRV{0, index};
    return ExprRV{0, index};
  };
  if (!type.starts_with("list")) return count == 0 ? Argument() : one();
  Argument::List list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(one());
  return Argument(std::move(list));
}

}  // namespace

void Trace::apply_json(std::string_view text, Schedule& schedule,
                       std::span<const PrimitiveBase* const> primitives) {
  read_steps(text, primitives,
             [&](const PrimitiveBase& primitive, const std::vector<Argument>& arguments,
                 std::size_t) { return call(schedule, primitive, arguments); });
}

Trace Trace::from_json(std::string_view text, std::span<const PrimitiveBase* const> primitives) {
  Trace trace;
  std::uint32_t next = 0;
  read_steps(text, primitives,
             [&](const PrimitiveBase& primitive, const std::vector<Argument>& arguments,
                 std::size_t count) {
               Argument result = handles_of(primitive, count, next);
               trace.append({&primitive, arguments, result});
               return result;
             });
  return trace;
}

std::optional<Step> Trace::pop() {
  if (steps_.empty()) return {};
  Step last = steps_.back();
  steps_.pop_back();
  return last;
}

std::optional<Argument> Trace::decision(std::size_t step) const {
  if (step >= steps_.size()) return {};
  const auto place = decision_place(*steps_[step].primitive);
  if (!place) return {};
  return steps_[step].arguments[*place];
}

Trace Trace::with_decision(std::size_t step, Argument decision, bool remove_postproc) const {
  Trace copy;
  for (std::size_t i = 0; i < size(remove_postproc); ++i) copy.steps_.push_back(steps_[i]);
  const auto place =
      step < copy.steps_.size() ? decision_place(*copy.steps_[step].primitive) : std::nullopt;
  require(place.has_value(), ErrorKind::schedule, "step_has_a_decision",
          hint("name a sample_* step"), {}, "with_decision: step {} decides nothing", step);
  copy.steps_.edit(step).arguments[*place] = std::move(decision);
  return copy;
}

Trace Trace::simplified(bool remove_postproc) const {
  std::set<Key> used;
  std::vector<Step> kept;
  for (std::size_t i = size(remove_postproc); i-- > 0;) {
    const Step& step = steps_[i];
    bool is_used = !step.primitive->pure;
    each_handle(step.result, [&](Key key) { is_used = is_used || used.contains(key); });
    if (!is_used) continue;
    // What was used is made here; another step before may make the same handle, for others.
    each_handle(step.result, [&](Key key) { used.erase(key); });
    for (const Argument& argument : step.arguments) {
      each_handle(argument, [&](Key key) { used.insert(key); });
    }
    kept.push_back(step);
  }
  CowVector<Step> steps;
  for (std::size_t i = kept.size(); i-- > 0;) steps.push_back(std::move(kept[i]));
  return Trace(std::move(steps));
}

}  // namespace loopsmith
