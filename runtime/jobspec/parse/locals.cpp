#include "runtime/jobspec/parse/locals.hpp"

#include <unordered_map>
#include <utility>

namespace nomad::jobspec {

namespace {

using hcl::Value;

constexpr std::string_view root = "local";

/// Goes through the graph of references depth first; each local is evaluated after what it needs.
class Evaluator {
public:
  Evaluator(const std::vector<Local>& locals, const hcl::EvalContext& outer)
      : locals_{locals}, outer_{outer}, states_(locals.size(), State::waiting) {
    for (std::size_t at = 0; at < locals.size(); ++at)
      by_name_[locals[at].name] = at;
  }

  EvaluatedLocals run() {
    for (std::size_t at = 0; at < locals_.size() && !failed_; ++at)
      if (by_name_[locals_[at].name] == at) visit(at);
    return std::move(out_);
  }

private:
  enum class State : std::uint8_t { waiting, entered, done };

  struct Frame {
    std::size_t local;
    std::vector<std::size_t> needs;
    std::size_t next = 0;
  };

  /// The locals that one refers to by name, and whether it refers to all of them at once.
  std::vector<std::size_t> needs_of(std::size_t at, bool& whole) const {
    std::vector<std::size_t> needs;
    for (const hcl::VariableExpr* reference : hcl::referenced_variables(*locals_[at].expr)) {
      if (reference->root_name() != root) continue;
      const bool named
          = reference->steps.size() > 1 && reference->steps[1].kind == hcl::Step::Kind::attribute;
      whole = whole || !named;
      if (!named) continue;
      const auto found = by_name_.find(reference->steps[1].name);
      if (found != by_name_.end()) needs.push_back(found->second);
    }
    return needs;
  }

  void visit(std::size_t first) {
    if (states_[first] != State::waiting) return;
    std::vector<Frame> path;
    enter(path, first);
    while (!path.empty() && !failed_) {
      Frame& frame = path.back();
      if (frame.next == frame.needs.size()) {
        evaluate(frame.local);
        states_[frame.local] = State::done;
        path.pop_back();
        continue;
      }
      const std::size_t need = frame.needs[frame.next++];
      if (states_[need] == State::entered) note_cycle(path, need);
      if (states_[need] == State::waiting) enter(path, need);
    }
  }

  void enter(std::vector<Frame>& path, std::size_t at) {
    bool whole = false;
    states_[at] = State::entered;
    path.push_back({at, needs_of(at, whole), 0});
  }

  void note_cycle(const std::vector<Frame>& path, std::size_t again) {
    if (!out_.cycle.empty()) return;
    std::size_t start = 0;
    while (path[start].local != again)
      ++start;
    for (std::size_t at = start; at < path.size(); ++at)
      out_.cycle += std::string{locals_[path[at].local].name} + " → ";
    out_.cycle += locals_[again].name;
  }

  /// Evaluates one with only those others in scope that it names: building the object of all for
  /// each would be quadratic.
  void evaluate(std::size_t at) {
    bool whole = false;
    const std::vector<std::size_t> needs = needs_of(at, whole);
    Value::Entries known;
    if (whole) {
      known = out_.values;
      if (outer_.budget != nullptr) outer_.budget->work.note(known.size() * Work::step);
    } else {
      for (const std::size_t need : needs)
        if (const auto value = evaluated_.find(need); value != evaluated_.end())
          known.emplace_back(std::string{locals_[need].name}, out_.values[value->second].second);
    }
    const std::vector<std::pair<std::string, Value>> scope{
        {std::string{root}, Value::object(std::move(known))}};
    hcl::EvalContext context;
    context.parent = &outer_;
    context.variables = &scope;
    hcl::Evaluated result = hcl::evaluate(*locals_[at].expr, &context);
    const bool good = result.ok();
    hcl::append(out_.diagnostics, std::move(result.diagnostics));
    if (!good) {
      failed_ = true;
      return;
    }
    evaluated_[at] = out_.values.size();
    out_.values.emplace_back(std::string{locals_[at].name}, std::move(result.value));
  }

  const std::vector<Local>& locals_;
  const hcl::EvalContext& outer_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::size_t, std::size_t> evaluated_;  // local → index in values
  std::vector<State> states_;
  EvaluatedLocals out_;
  bool failed_ = false;
};

}  // namespace

EvaluatedLocals evaluate_locals(const std::vector<Local>& locals, const hcl::EvalContext& outer) {
  return Evaluator{locals, outer}.run();
}

}  // namespace nomad::jobspec
