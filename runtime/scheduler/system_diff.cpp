#include "runtime/scheduler/system_diff.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/reconcile/alloc_sets.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

/// Names of system allocations come from the job's name, not its id.
struct Wanted {
  std::string name;
  const GroupSpec* group;
};

std::vector<Wanted> wanted_names(const Attempt& attempt) {
  std::vector<Wanted> wanted;
  if (attempt.job == nullptr || attempt.job->is_stopped()) return wanted;
  for (const auto& group : attempt.job->groups()) {
    for (std::int64_t i = 0; i < group.count; ++i)
      wanted.push_back({alloc_name(view(attempt.job->reader().getName()), group.name,
                                   static_cast<std::uint64_t>(i)),
                        &group});
  }
  return wanted;
}

class Differ {
public:
  Differ(const Attempt& attempt, const NodeChoice& nodes, bool is_sysbatch)
      : attempt_{attempt},
        nodes_{nodes},
        is_sysbatch_{is_sysbatch},
        wanted_{wanted_names(attempt)} {
    for (const auto* node : nodes.ready)
      ready_.insert(view((*node)->getId()));
    for (const auto* node : nodes.not_ready)
      not_ready_.emplace(view((*node)->getId()), node);
  }

  SystemDiff run() {
    std::map<std::string_view, std::vector<const AllocEntry*>> live;
    std::map<std::string_view, std::map<std::string_view, const AllocEntry*>> ended;
    for (const auto& entry : attempt_.allocs) {
      const auto node = entry.alloc().node_id();
      if (!entry.row->terminal() || has_unsettled_return(entry)) {
        live[node].push_back(&entry);
        continue;
      }
      auto& newest = ended[node][entry.name()];
      if (newest == nullptr || newest->alloc().create_index() < entry.alloc().create_index())
        newest = &entry;
    }
    for (const auto& [node, entries] : live) {
      for (const auto* entry : entries)
        judge(*entry);
    }
    for (const auto* node : nodes_.ready)
      fill_node(*node, live, ended);
    if (is_sysbatch_) await_nodes(live, ended);
    return std::move(diff_);
  }

private:
  /// Failed while its client was away: its return is still to be dealt with.
  static bool has_unsettled_return(const AllocEntry& entry) {
    return supports_disconnect(entry) && entry.alloc().desired_status() == DesiredStatus::RUN
           && entry.alloc().client_status() == ClientStatus::FAILED && needs_reconnect(entry);
  }

  const GroupSpec* wanted_group(const AllocEntry& entry) const {
    const auto known = std::ranges::find(wanted_, entry.name(), &Wanted::name);
    return known == wanted_.end() ? nullptr : known->group;
  }

  static bool is_gone(const Object<schema::Node>& node) {
    return !node || node->getStatus() == schema::NodeStatus::DOWN;
  }

  void ignore(const AllocEntry& entry) { ++diff_.ignored[std::string{entry.alloc().task_group()}]; }

  bool is_outdated(const AllocEntry& entry) const {
    return entry.job().getJobModifyIndex() != attempt_.job->reader().getJobModifyIndex();
  }

  /// Decides about an allocation that is there. The first rule that matches counts.
  void judge(const AllocEntry& entry) {
    const auto alloc = entry.alloc();
    const auto status = alloc.client_status();
    const auto* group = wanted_group(entry);
    const auto* taint = attempt_.taint_of(entry);
    if (group == nullptr) {
      const bool gone = taint != nullptr && is_gone(*taint) && !entry.row->terminal();
      return gone ? diff_.lost.push_back(&entry) : diff_.stop.push_back(&entry);
    }
    if (entry.alloc().wants_migration() && !entry.row->terminal())
      return diff_.migrate.push_back(&entry);
    const auto rules = disconnect_rules_of(entry);
    const bool supports = rules.tolerates_absence();
    const bool is_forgotten = !rules.replaces && taint != nullptr && !*taint;
    if (is_forgotten && !entry.row->terminal()) return diff_.lost.push_back(&entry);
    if (supports && is_expired(entry, rules, attempt_.moment.now))
      return diff_.lost.push_back(&entry);
    // Also on a node that is back: its client has not said yet what has become of it.
    if (supports && status == ClientStatus::UNKNOWN && alloc.desired_status() == DesiredStatus::RUN)
      return ignore(entry);
    const auto node = alloc.node_id();
    if (supports && taint == nullptr && needs_reconnect(entry)) {
      const bool changes = is_outdated(entry) && !entry.row->terminal() && ready_.contains(node);
      return changes ? diff_.update.push_back({&entry, group})
                     : diff_.reconnecting.push_back(&entry);
    }
    if (taint != nullptr) return judge_tainted(entry, *taint, rules);
    if (not_ready_.contains(node)) return ignore(entry);
    if (!ready_.contains(node)) return diff_.stop.push_back(&entry);
    if (is_outdated(entry)) return diff_.update.push_back({&entry, group});
    ignore(entry);
  }

  void judge_tainted(const AllocEntry& entry,
                     const Object<schema::Node>& node,
                     const DisconnectRules& rules) {
    const bool runs = entry.alloc().client_status() == ClientStatus::RUNNING;
    if (is_gone(node)) {
      if (!rules.replaces && runs && !entry.row->server_terminal)
        return diff_.disconnecting.push_back(&entry);
      if (!entry.row->terminal()) diff_.lost.push_back(&entry);
      return;
    }
    if (rules.tolerates_absence() && node->getStatus() == schema::NodeStatus::DISCONNECTED && runs)
      return diff_.disconnecting.push_back(&entry);
    // Draining: the drainer will say so. Away for others' sake: it is lost once its node is down.
    ignore(entry);
  }

  template <class Live>
  static bool is_there(const Live& live, std::string_view node, std::string_view name) {
    const auto there = live.find(node);
    return there != live.end()
           && std::ranges::any_of(
               there->second, [name](const AllocEntry* entry) { return entry->name() == name; });
  }

  template <class Live, class Ended>
  void fill_node(const Object<schema::Node>& node, const Live& live, const Ended& ended) {
    const auto id = view(node->getId());
    const auto before = ended.find(id);
    for (const auto& wanted : wanted_) {
      if (is_there(live, id, wanted.name)) continue;
      const AllocEntry* previous = nullptr;
      if (before != ended.end()) {
        const auto known = before->second.find(wanted.name);
        if (known != before->second.end()) previous = known->second;
      }
      // Of a job that runs once it is over, whatever ended it: only other tasks begin anew, and
      // what a drain of the node has cut short.
      if (is_sysbatch_ && previous != nullptr && !was_drained(*previous, *node)) {
        if (is_outdated(*previous))
          diff_.update.push_back({previous, wanted.group});
        else
          ignore(*previous);
        continue;
      }
      diff_.place.push_back({wanted.name, wanted.group, node, previous, false});
    }
  }

  /// Names what is to begin anew on nodes that may not be used now.
  template <class Live, class Ended>
  void await_nodes(const Live& live, const Ended& ended) {
    for (const auto& [id, entries] : live)
      for (const auto* entry : entries)
        if (entry->alloc().wants_migration()) await_node(*entry);
    for (const auto& [id, newest] : ended)
      for (const auto& [name, entry] : newest)
        if (!is_there(live, id, name)) await_node(*entry);
  }

  void await_node(const AllocEntry& entry) {
    const auto node = not_ready_.find(entry.alloc().node_id());
    const auto* group = wanted_group(entry);
    if (node == not_ready_.end() || group == nullptr) return;
    const auto reader = **node->second;
    if (!is_in_job_scope(reader, attempt_.job->reader())) return;
    // What has not ended yet may still be cut short.
    const bool waits = entry.row->client_terminal
                           ? was_drained(entry, reader)
                           : entry.alloc().wants_migration() && was_drained_by(entry, reader, {});
    if (waits) diff_.waiting.push_back({group, std::string{node->first}});
  }

  /// An operator who stops an allocation asks for the same move, but means that it is to end. The
  /// servers' indexes tell the one from the other: the client's clock may be any.
  static bool was_drained(const AllocEntry& entry, schema::Node::Reader node) {
    return was_cut_short(entry) && was_drained_by(entry, node, entry.alloc().alloc_modify_index());
  }

  /// Whether a drain of its node began in its time, which is not over without an index.
  static bool was_drained_by(const AllocEntry& entry,
                             schema::Node::Reader node,
                             std::optional<std::uint64_t> end) {
    for (const auto event : node.getEvents())
      if (view(event.getSubsystem()) == "Drain"
          && event.getCreateIndex() > entry.alloc().create_index()
          && (!end || event.getCreateIndex() <= *end))
        return true;
    return false;
  }

  const Attempt& attempt_;
  const NodeChoice& nodes_;
  bool is_sysbatch_;
  std::vector<Wanted> wanted_;
  std::set<std::string_view> ready_;
  std::map<std::string_view, const Object<schema::Node>*> not_ready_;
  SystemDiff diff_;
};

}  // namespace

SystemDiff diff_system(const Attempt& attempt, const NodeChoice& nodes, bool is_sysbatch) {
  return Differ{attempt, nodes, is_sysbatch}.run();
}

}  // namespace nomad::scheduler
