#include "runtime/cluster/drain/drain_plan.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::cluster {
namespace {

using schema::ClientStatus;
using schema::EvalTrigger;
using state::AllocRow;

constexpr std::string_view waits_for_room = "Node drain waits for capacity elsewhere";

std::string_view type_of(const AllocRow& row) {
  return row.job ? view(row.job->getType()) : std::string_view{"service"};
}

DrainedJob job_of(const AllocRow& row) {
  return {std::string{row.alloc->ns()}, std::string{row.alloc->job_id()}};
}

/// When the node's drain is forced; 0: never.
std::int64_t force_time(schema::DrainStrategy::Reader strategy) {
  if (strategy.getDeadline() < 0) return std::numeric_limits<std::int64_t>::min();
  return strategy.getDeadline() == 0 ? 0 : strategy.getForceDeadline();
}

bool is_forced(schema::DrainStrategy::Reader strategy, std::int64_t now) {
  const auto time = force_time(strategy);
  return time != 0 && time <= now;
}

Object<schema::Command> completion(schema::Node::Reader node, bool forced, std::int64_t now) {
  Draft<schema::Command> draft;
  auto command = draft->initNodeDrainUpdate();
  command.setNodeId(node.getId());
  command.setOnlyOf(node.getDrainStrategy());
  command.setUpdatedAt(now / 1'000'000'000);
  auto event = command.initEvent();
  event.setSubsystem("Drain");
  event.setMessage("Node drain complete");
  event.setTimestamp(now);
  if (forced) {
    auto detail = event.initDetails(1)[0];
    detail.setKey("deadline_reached");
    detail.setValue("true");
  }
  return draft.freeze();
}

/// What a round marks, and the evaluations that go with it.
class DrainMarks {
public:
  explicit DrainMarks(const EvalSeed& seed) : seed_{seed} {}

  bool has(const AllocRow& row) const {
    return row.alloc->wants_migration() || ids_.contains(row.alloc->id());
  }

  bool full() const { return ids_.size() >= most_marked; }

  void add(const AllocRow& row) {
    ids_.insert(std::string{row.alloc->id()});
    const auto job = job_of(row);
    if (evals_.contains(job)) return;
    evals_[job] = row.job ? eval_for_job(*row.job, EvalTrigger::NODE_DRAIN, seed_)
                          : eval_for_unknown_job(job.ns, job.id, EvalTrigger::NODE_DRAIN, seed_);
  }

  /// Empty if nothing is marked.
  Object<schema::Command> command() const {
    if (ids_.empty()) return {};
    Draft<schema::Command> draft;
    auto transition = draft->initAllocTransition();
    auto entries = transition.initEntries(static_cast<unsigned>(ids_.size()));
    unsigned next = 0;
    for (const auto& id : ids_) {
      entries[next].setAllocId(text(id));
      entries[next++].initTransition().initMigrate().setValue(true);
    }
    auto evals = transition.initEvaluations(static_cast<unsigned>(evals_.size()));
    next = 0;
    for (const auto& [job, eval] : evals_)
      evals.setWithCaveats(next++, *eval);
    return draft.freeze();
  }

private:
  const EvalSeed& seed_;
  std::set<std::string, std::less<>> ids_;
  std::map<DrainedJob, Object<schema::Evaluation>> evals_;
};

/// One that is to leave its node.
struct Candidate {
  state::AllocRef row;
  bool counts = false;        ///< For one of those that have to be left.
  std::int64_t deadline = 0;  ///< Of its node.

  /// Who comes first: who costs nothing, then whose node has less time.
  auto order() const {
    const auto time = deadline == 0 ? std::numeric_limits<std::int64_t>::max() : deadline;
    return std::tuple{counts, time, row->alloc->id()};
  }
};

/// How a group of a service stands on all nodes together.
struct MovingGroup {
  std::int64_t count = 0;
  std::int64_t max_parallel = 1;
  std::int64_t healthy = 0;  ///< That stay for now.
  std::int64_t judged = 0;   ///< Healthy or known not to be, and not marked.
  std::int64_t on_way = 0;   ///< Marked, and not stopped yet.
  std::vector<Candidate> candidates{};
};

enum class Standing : std::uint8_t {
  unknown,  ///< Its client has said nothing of its health yet.
  healthy,
  lame,  ///< Unhealthy, or its client is away.
};

Standing standing_of(AllocView alloc) {
  if (alloc.client_status() == ClientStatus::UNKNOWN) return Standing::lame;
  const auto health = alloc.health();
  if (!health) return Standing::unknown;
  return *health ? Standing::healthy : Standing::lame;
}

class DrainPlanner {
public:
  DrainPlanner(const state::Snapshot& snapshot, const EvalSeed& seed)
      : snapshot_{snapshot}, seed_{seed}, marks_{seed_} {}

  void look_at_node(const std::string& id) {
    auto& outlook = round_.nodes[id];
    const auto& node = node_of(id);
    outlook.is_over = !node || !node->hasDrainStrategy();
    if (outlook.is_over) return;
    const auto strategy = node->getDrainStrategy();
    const bool forced = is_forced(strategy, seed_.now);
    if (!forced) outlook.look_again = force_time(strategy);
    if (!forced && has_work(id, outlook.jobs)) return;
    if (mark_rest(id, strategy.getIgnoreSystemJobs())) {
      round_.goes_on = true;  // Complete once that is written.
      return;
    }
    round_.commands.push_back(completion(*node, forced, seed_.now));
  }

  void look_at_job(const DrainedJob& key) {
    const auto job = snapshot_.job(key.ns, key.id);
    if (!job || job->getStop() || view(job->getType()) != "service") {
      round_.finished.insert(key);  // What is left of it ends by itself.
      return;
    }
    auto groups = groups_of(*job);
    for (const auto& entry : snapshot_.allocs_by_job(key.ns, key.id)) {
      const auto& row = entry.value();
      if (row->job && row->job->getCreateIndex() != job->getCreateIndex()) continue;
      const auto group = groups.find(row->alloc->task_group());
      if (group == groups.end() || row->terminal()) continue;
      count(row, group->second);
    }
    bool waits = false;
    for (auto& [name, group] : groups) {
      const auto marked = mark_some(group);
      if (marked < group.candidates.size()) waits = true;
      if (marked == 0) tell_of_wait(key, name, group);
    }
    if (!waits) round_.finished.insert(key);
  }

  DrainRound finish() {
    if (auto command = marks_.command()) round_.commands.push_back(std::move(command));
    for (const auto& [id, detail] : told_)
      round_.commands.push_back(wait_event(id, detail));
    return std::move(round_);
  }

private:
  using Groups = std::map<std::string_view, MovingGroup>;

  const Object<schema::Node>& node_of(const std::string& id) {
    const auto [entry, is_new] = nodes_.try_emplace(id);
    if (is_new) entry->second = snapshot_.node(id);
    return entry->second;
  }

  /// Whether the node runs something that its drain waits for; notes the services among that.
  bool has_work(const std::string& id, std::set<DrainedJob>& services) const {
    bool found = false;
    for (const auto& entry : snapshot_.allocs_by_node(id)) {
      const auto& row = *entry.value();
      if (row.client_terminal || type_of(row) == "system") continue;
      found = true;
      if (!row.server_terminal && !row.alloc->wants_migration() && type_of(row) == "service")
        services.insert(job_of(row));
    }
    return found;
  }

  /// Marks what remains on the node; whether there was anything to be marked.
  bool mark_rest(const std::string& id, bool ignore_system) {
    bool found = false;
    for (const auto& entry : snapshot_.allocs_by_node(id)) {
      const auto& row = *entry.value();
      if (row.terminal() || row.alloc->wants_migration()) continue;
      if (ignore_system && type_of(row) == "system") continue;
      found = true;
      if (marks_.full()) break;
      if (!marks_.has(row)) marks_.add(row);
    }
    return found;
  }

  static Groups groups_of(schema::Job::Reader job) {
    Groups groups;
    for (const auto group : job.getTaskGroups()) {
      auto& moving = groups[view(group.getName())];
      moving.count = group.getCount();
      if (group.hasMigrate()) moving.max_parallel = group.getMigrate().getMaxParallel();
    }
    return groups;
  }

  /// Adds a row that has not ended to its group.
  void count(const state::AllocRef& row, MovingGroup& group) {
    const auto alloc = *row->alloc;
    if (marks_.has(*row)) {
      ++group.on_way;
      return;
    }
    const bool is_canary = alloc.is_canary();
    const auto standing = standing_of(alloc);
    if (standing == Standing::healthy && !is_canary) ++group.healthy;
    if (standing != Standing::unknown && !is_canary) ++group.judged;
    const auto& node = node_of(std::string{alloc.node_id()});
    if (node && node->hasDrainStrategy())
      group.candidates.push_back(
          {row, standing != Standing::lame, force_time(node->getDrainStrategy())});
  }

  /// Marks as many of the group as it can do without; how many these are.
  std::size_t mark_some(MovingGroup& group) {
    std::ranges::sort(group.candidates, {}, &Candidate::order);
    const auto needed = group.count - group.max_parallel;
    auto any = std::min(group.judged - needed, group.max_parallel - group.on_way);
    auto counted = group.healthy - needed;
    std::size_t marked = 0;
    for (const auto& candidate : group.candidates) {
      if (any <= 0 || (candidate.counts && counted <= 0)) break;
      if (marks_.full()) {
        round_.goes_on = true;
        break;
      }
      marks_.add(*candidate.row);
      ++marked;
      --any;
      if (candidate.counts) --counted;
    }
    return marked;
  }

  /// Says at the nodes of what waits, once a drain, that there is no room for what was moved.
  void tell_of_wait(const DrainedJob& job, std::string_view name, const MovingGroup& group) {
    if (!is_blocked(job, name)) return;
    for (const auto& candidate : group.candidates) {
      const auto id = std::string{candidate.row->alloc->node_id()};
      if (told_.contains(id) || was_told(*node_of(id))) continue;
      told_[id] = {{"job_id", job.id}, {"namespace", job.ns}, {"task_group", std::string{name}}};
      round_.waits.push_back({.node = id, .job = job.id, .group = std::string{name}});
    }
  }

  bool is_blocked(const DrainedJob& job, std::string_view group) const {
    for (const auto& entry : snapshot_.evals_by_job(job.ns, job.id, schema::EvalStatus::BLOCKED))
      if (find_entry(entry.value()->getFailedTgAllocs(), group)) return true;
    return false;
  }

  static bool was_told(schema::Node::Reader node) {
    for (const auto event : node.getEvents())
      if (view(event.getMessage()) == waits_for_room
          && event.getTimestamp() >= node.getDrainStrategy().getStartedAt())
        return true;
    return false;
  }

  Object<schema::Command> wait_event(const std::string& id,
                                     const std::map<std::string, std::string>& detail) const {
    Draft<schema::Command> draft;
    auto command = draft->initNodeEventsUpsert();
    command.setNodeId(text(id));
    auto event = command.initEvents(1)[0];
    event.setSubsystem("Drain");
    event.setMessage(text(waits_for_room));
    event.setTimestamp(seed_.now);
    fill_entries(event.initDetails(static_cast<unsigned>(detail.size())), detail);
    return draft.freeze();
  }

  const state::Snapshot& snapshot_;
  const EvalSeed& seed_;
  DrainMarks marks_;
  DrainRound round_;
  std::unordered_map<std::string, Object<schema::Node>> nodes_;
  std::map<std::string, std::map<std::string, std::string>> told_;  ///< By node.
};

}  // namespace

DrainRound next_drain_round(const state::Snapshot& snapshot,
                            const std::set<std::string>& nodes,
                            const std::set<DrainedJob>& jobs,
                            const EvalSeed& seed) {
  DrainPlanner planner{snapshot, seed};
  for (const auto& id : nodes)
    planner.look_at_node(id);
  for (const auto& job : jobs)
    planner.look_at_job(job);
  return planner.finish();
}

}  // namespace nomad::cluster
