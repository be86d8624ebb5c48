#include "actors/api/jobs/explain_json.hpp"

#include "actors/api/http/json_out.hpp"

namespace nomad::api {
namespace {

using scheduler::explain::AllocAnswer;
using scheduler::explain::AskedNode;
using scheduler::explain::Binding;
using scheduler::explain::Candidate;
using scheduler::explain::Explanation;
using scheduler::explain::GroupAnswer;
using scheduler::explain::GroupCapacity;
using scheduler::explain::NamedNode;
using scheduler::explain::NodeCapacity;
using scheduler::explain::NodeClass;
using scheduler::explain::Reason;
using scheduler::explain::Suggestion;
using scheduler::explain::Wait;

/// Writes one explanation for one caller.
class ExplanationWriter {
public:
  explicit ExplanationWriter(bool shows_nodes) : shows_nodes_{shows_nodes} {}

  std::string write(const Explanation& explained) const {
    JsonObject object;
    object.text("JobID", explained.job_id)
        .text("Namespace", explained.ns)
        .text("Type", explained.type)
        .number("Version", explained.version)
        .number("Index", explained.index)
        .text("Summary", explained.summary(shows_nodes_))
        .number("OtherGroups", explained.other_groups);
    append_json_list(object.raw("Groups"), explained.groups,
                     [this](std::string& to, const GroupAnswer& group) { append(to, group); });
    if (explained.alloc)
      append(object.raw("Allocation"), *explained.alloc);
    else
      object.null("Allocation");
    return object.take();
  }

private:
  void append(std::string& out, const GroupAnswer& group) const {
    JsonObject object{out};
    object.text("Name", group.name)
        .text("Summary", group.summary(shows_nodes_))
        .number("Count", group.count)
        .number("Live", group.live)
        .number("Queued", group.queued)
        .number("Nodes", group.nodes)
        .number("NodesLookedAt", group.looked_at)
        .number("NodesFitting", group.fitting)
        .number("NodesPreempting", group.preempting)
        .number("OtherClasses", group.other_classes)
        .number("NodesOfOtherClasses", group.other_nodes);
    append_json_texts(object.raw("QuotaExceeded"), group.quota);
    append_json_list(object.raw("Waits"), group.waits, append_wait);
    append_json_list(object.raw("Refused"), group.refused,
                     [this](std::string& to, const NodeClass& one) { append(to, one); });
    auto& suggestions = object.raw("Suggestions");
    suggestions += '[';
    for (bool is_first = true; const auto& one : group.suggestions) {
      if (!shows_nodes_ && one.tells_of_nodes) continue;
      if (!std::exchange(is_first, false)) suggestions += ',';
      append(suggestions, one);
    }
    suggestions += ']';
    if (!shows_nodes_) return;
    append_json_list(object.raw("Fitting"), group.best, append_candidate);
    if (group.asked)
      append(object.raw("Node"), *group.asked);
    else
      object.null("Node");
  }

  void append(std::string& out, const NodeClass& nodes) const {
    JsonObject object{out};
    object.number("Count", nodes.count);
    append_json_list(object.raw("Reasons"), nodes.reasons,
                     [this](std::string& to, const Reason& reason) { append(to, reason); });
    if (shows_nodes_) append_json_list(object.raw("Nodes"), nodes.nodes, append_node);
  }

  void append(std::string& out, const Reason& reason) const {
    JsonObject object{out};
    object.text("Kind", to_string(reason.what))
        .text("Text", reason.text(shows_nodes_))
        .text("Subject", reason.subject);
    if (reason.asked) object.number("Asked", *reason.asked);
    if (!shows_nodes_) return;
    append_json_texts(object.raw("Values"), reason.values);
    if (reason.asked)
      object.number("LeastFree", reason.least_free).number("MostFree", reason.most_free);
  }

  void append(std::string& out, const Suggestion& suggestion) const {
    JsonObject object{out};
    object.text("Text", suggestion.text).boolean("OfNode", suggestion.of_node);
    if (shows_nodes_)
      object.text("NodeID", suggestion.node.id).text("NodeName", suggestion.node.name);
  }

  void append(std::string& out, const AskedNode& asked) const {
    JsonObject object{out};
    object.text("NodeID", asked.node.id)
        .text("NodeName", asked.node.name)
        .boolean("Fits", asked.candidate.has_value());
    if (asked.candidate) append_score(object, *asked.candidate);
    append_json_list(object.raw("Reasons"), asked.reasons,
                     [this](std::string& to, const Reason& reason) { append(to, reason); });
  }

  void append(std::string& out, const AllocAnswer& alloc) const {
    JsonObject object{out};
    object.text("ID", alloc.id)
        .text("Name", alloc.name)
        .text("TaskGroup", alloc.group)
        .text("DesiredStatus", alloc.desired_status)
        .text("ClientStatus", alloc.client_status)
        .text("NodeID", alloc.node.id);
    if (shows_nodes_) object.text("NodeName", alloc.node.name);
    if (alloc.then) {
      JsonObject then{object.raw("Then")};
      then.number("Rank", alloc.then->rank)
          .number("Of", alloc.then->of)
          .real("NormScore", alloc.then->normalized)
          .number("NodesEvaluated", alloc.looked_at_then)
          .number("NodesFiltered", alloc.filtered_then)
          .number("NodesExhausted", alloc.exhausted_then);
      JsonObject terms{then.raw("Scores")};
      for (const auto& [name, value] : alloc.then->terms)
        append_json_real(terms.member(name), value);
    } else {
      object.null("Then");
    }
    object.number("NodesFittingNow", alloc.fitting_now);
    if (alloc.now && shows_nodes_)
      append(object.raw("Now"), *alloc.now);
    else
      object.null("Now");
    append_json_list(object.raw("Waits"), alloc.waits, append_wait);
  }

  static void append_score(JsonObject& object, const Candidate& candidate) {
    object.number("Rank", candidate.rank)
        .real("NormScore", candidate.normalized)
        .number("Preempted", candidate.preempted);
    JsonObject scores{object.raw("Scores")};
    for (std::size_t i = 0; i < scheduler::score_names; ++i) {
      const auto name = static_cast<scheduler::ScoreName>(i);
      if (const auto part = candidate.score.part(name))
        append_json_real(scores.member(to_string(name)), *part);
    }
  }

  static void append_candidate(std::string& out, const Candidate& candidate) {
    JsonObject object{out};
    object.text("NodeID", candidate.node.id).text("NodeName", candidate.node.name);
    append_score(object, candidate);
  }

  static void append_node(std::string& out, const NamedNode& node) {
    JsonObject{out}.text("ID", node.id).text("Name", node.name);
  }

  static void append_wait(std::string& out, const Wait& wait) {
    JsonObject{out}.text("Kind", wait.what).text("Text", wait.text).text("ID", wait.id);
  }

  bool shows_nodes_;
};

void append_capacity(std::string& out, const GroupCapacity& group, bool shows_nodes) {
  JsonObject object{out};
  object.text("Name", group.name)
      .number("Live", group.live)
      .number("More", group.more)
      .boolean("IsBounded", group.is_bounded)
      .number("Nodes", group.nodes)
      .number("NodesLookedAt", group.looked_at);
  if (group.in_quota < 0)
    object.null("InQuota");
  else
    object.number("InQuota", group.in_quota);
  append_json_list(object.raw("Binds"), group.binds, [](std::string& to, const Binding& one) {
    JsonObject{to}.text("Kind", to_string(one.what)).number("Nodes", one.nodes);
  });
  if (!shows_nodes) return;
  append_json_list(object.raw("Largest"), group.largest,
                   [](std::string& to, const NodeCapacity& one) {
                     JsonObject{to}
                         .text("NodeID", one.node.id)
                         .text("NodeName", one.node.name)
                         .number("More", one.more)
                         .text("Binds", to_string(one.binds));
                   });
}

}  // namespace

std::string capacity_json(const std::vector<GroupCapacity>& groups, bool shows_nodes) {
  JsonObject object;
  append_json_list(object.raw("Groups"), groups,
                   [shows_nodes](std::string& to, const GroupCapacity& group) {
                     append_capacity(to, group, shows_nodes);
                   });
  return object.take();
}

std::string explanation_json(const Explanation& explained, bool shows_nodes) {
  return ExplanationWriter{shows_nodes}.write(explained);
}

}  // namespace nomad::api
