// ExplainHarness: a cluster without a server, a job "web" on it, and what explain says of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/scheduler/explain/explain.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

namespace nomad::test {

namespace explain = scheduler::explain;

struct ExplainHarness : Harness {
  explain::Question question() const { return {.ns = "default", .job_id = "web", .now = now}; }

  explain::Explanation explained(const explain::Question& asked) const {
    const auto answer = explain::explain(state(), asked);
    REQUIRE(answer.has_value());
    return *answer;
  }

  /// The only group of "web".
  explain::GroupAnswer group() const { return explained(question()).groups.at(0); }

  explain::AskedNode ask_node(const std::string& node) const {
    auto asked = question();
    asked.node = node;
    return *explained(asked).groups.at(0).asked;
  }

  /// "memory, 256 MiB asked: 100 free; driver "x": missing".
  static std::string texts(const std::vector<explain::Reason>& reasons) {
    std::string all;
    for (const auto& reason : reasons)
      all += (all.empty() ? "" : "; ") + reason.text();
    return all;
  }

  static std::string texts(const std::vector<explain::Suggestion>& suggestions) {
    std::string all;
    for (const auto& one : suggestions)
      all += (all.empty() ? "" : "; ") + one.text;
    return all;
  }

  static std::string texts(const std::vector<explain::Wait>& waits) {
    std::string all;
    for (const auto& one : waits)
      all += (all.empty() ? "" : "; ") + one.what;
    return all;
  }

  static void constrain(schema::Constraint::Builder constraint,
                        const char* left,
                        const char* operand,
                        const char* right) {
    constraint.setLTarget(left);
    constraint.setOperand(operand);
    constraint.setRTarget(right);
  }

  /// Meta and attributes replace what the harness's nodes have.
  static void set_meta(schema::Node::Builder node, const char* key, const std::string& value) {
    auto meta = node.initMeta(1)[0];
    meta.setKey(key);
    meta.setValue(text(value));
  }
};

}  // namespace nomad::test
