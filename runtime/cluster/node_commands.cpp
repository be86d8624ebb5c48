#include "runtime/cluster/node_commands.hpp"

#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/secret.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/meaning.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/reconcile/alloc_sets.hpp"

namespace nomad::cluster {
namespace {

using schema::ClientStatus;
using schema::NodeStatus;
using schema::SchedulingEligibility;

using Evals = std::vector<Object<schema::Evaluation>>;

Error node_not_found() {
  return {Errc::not_found, "node not found"};
}

template <class List>
void fill_evals(List list, const Evals& evals) {
  for (unsigned i = 0; i < list.size(); ++i)
    list.setWithCaveats(i, *evals[i]);
}

std::vector<std::string> ids_of(const Evals& evals) {
  std::vector<std::string> ids;
  for (const auto& eval : evals)
    ids.push_back(copy(eval->getId()));
  return ids;
}

std::int64_t seconds(const EvalSeed& seed) {
  return seed.now / 1'000'000'000;
}

void fill_event(schema::NodeEvent::Builder event,
                std::string_view subsystem,
                std::string_view message,
                const EvalSeed& seed) {
  event.setSubsystem(text(subsystem));
  event.setMessage(text(message));
  event.setTimestamp(seed.now);
}

/// For what the nodes themselves say.
access::Allowed of_nodes() {
  return access::own_work("nodes");
}

NodeDecision status_change(std::string_view node_id,
                           NodeStatus status,
                           std::string_view event,
                           const Evals& evals,
                           const EvalSeed& seed) {
  Draft<schema::Command> draft;
  auto command = draft->initNodeStatusUpdate();
  command.setNodeId(text(node_id));
  command.setStatus(status);
  command.setUpdatedAt(seconds(seed));
  if (!event.empty()) fill_event(command.initEvent(), "Cluster", event, seed);
  fill_evals(command.initEvaluations(static_cast<unsigned>(evals.size())), evals);
  NodeDecision decision{of_nodes(), draft.freeze(), ids_of(evals)};
  if (status != NodeStatus::INITIALIZING) decision.evaluates = node_id;
  return decision;
}

NodeDecision evaluation(const access::Allowed& allowed, const Evals& evals) {
  if (evals.empty()) return {allowed};
  Draft<schema::Command> draft;
  fill_evals(draft->initEvalUpdate().initEvaluations(static_cast<unsigned>(evals.size())), evals);
  return {allowed, draft.freeze(), ids_of(evals)};
}

/// Whether the node runs something that it has to report before it can be ready. What the servers
/// gave up counts: its client may run it still.
bool owes_reports(const state::Snapshot& snapshot, schema::Node::Reader node) {
  if (node.getLastMissedHeartbeatIndex() == 0) return false;
  if (node.getLastAllocUpdateIndex() > node.getLastMissedHeartbeatIndex()) return false;
  for (const auto& entry : snapshot.allocs_by_node(view(node.getId())))
    if (!entry.value()->client_terminal
        || entry.value()->alloc->client_status() == ClientStatus::LOST)
      return true;
  return false;
}

/// Whether an allocation of the node is to be kept although the node is silent.
bool may_reconnect(const state::Snapshot& snapshot, std::string_view node_id, std::int64_t now) {
  for (const auto& item : snapshot.allocs_by_node(node_id)) {
    const scheduler::AllocEntry entry{item.value()};
    if (entry.row->terminal() || !entry.row->job) continue;
    const auto rules = scheduler::disconnect_rules_of(entry);
    if (rules.lost_after && !scheduler::is_overdue(entry, rules, now)) return true;
  }
  return false;
}

/// Namespace and id.
using JobKey = std::pair<std::string, std::string>;

JobKey job_of(schema::Evaluation::Reader eval) {
  return {copy(eval.getNamespace()), copy(eval.getJobId())};
}

/// Jobs that have something on the node which has not ended, while no evaluation of them is
/// pending.
std::set<JobKey> jobs_wanting(const state::Snapshot& snapshot, std::string_view node_id) {
  std::set<JobKey> jobs;
  for (const auto& item : snapshot.allocs_by_node(node_id)) {
    const auto& row = *item.value();
    if (row.client_terminal) continue;
    const auto ns = row.alloc->ns();
    const auto id = row.alloc->job_id();
    if (snapshot.evals_by_job(ns, id, schema::EvalStatus::PENDING).empty()) jobs.emplace(ns, id);
  }
  return jobs;
}

/// Whether a scheduler may decide otherwise about the node now than before. How healthy a driver
/// feels counts, the words for it don't.
bool places_differently(schema::Node::Reader before, schema::Node::Reader after) {
  if (view(before.getComputedClass()) != view(after.getComputedClass())
      || view(before.getName()) != view(after.getName()))
    return true;
  const auto& plan = object::plan_of(capnp::Schema::from<schema::Node>());
  for (const auto name : std::initializer_list<object::FieldName>{
           "Attributes", "Meta", "HostVolumes", "NodeResources", "ReservedResources"})
    if (!object::same_field(plan.at(name), before, after)) return true;
  return scheduler::usable_drivers(before) != scheduler::usable_drivers(after);
}

/// Whether the node was told of it: a client that heard no answer says it again.
bool has_event(schema::Node::Reader node, schema::NodeEvent::Reader event) {
  for (const auto known : node.getEvents())
    if (known.getTimestamp() == event.getTimestamp()
        && view(known.getSubsystem()) == view(event.getSubsystem())
        && view(known.getMessage()) == view(event.getMessage()))
      return true;
  return false;
}

}  // namespace

bool is_given_up(NodeStatus status) {
  return status == NodeStatus::DOWN || status == NodeStatus::DISCONNECTED;
}

Result<NodeDecision> decide_node_register(const state::Snapshot& snapshot,
                                          const Object<schema::Node>& node,
                                          const EvalSeed& seed) {
  if (node->getId().size() == 0)
    return Error{Errc::rejected, "missing node ID for client registration"};
  if (node->getSecretId().size() == 0)
    return Error{Errc::rejected, "missing node secret ID for client registration"};
  const auto known = snapshot.node(view(node->getId()));
  if (known && !same_secret(view(known->getSecretId()), view(node->getSecretId())))
    return Error{Errc::rejected, "node secret ID does not match. Not registering node."};
  Draft<schema::Node> draft{node};
  draft->setStatusUpdatedAt(seconds(seed));
  if (!known) draft->setStatus(NodeStatus::INITIALIZING);
  if (node->getNodePool().size() == 0) draft->setNodePool("default");
  draft->setComputedClass(text(scheduler::computed_class(draft.reader())));
  Draft<schema::Command> command;
  command->initNodeRegister().setNode(draft.reader());
  const bool ready = known && known->getStatus() == NodeStatus::READY;
  return NodeDecision{
      of_nodes(), command.freeze(), {}, ready && places_differently(*known, draft.reader())};
}

Result<NodeDecision> decide_heartbeat(const state::Snapshot& snapshot,
                                      std::string_view node_id,
                                      const EvalSeed& seed) {
  const auto node = snapshot.node(node_id);
  if (!node) return node_not_found();
  const auto status = node->getStatus();
  if (is_given_up(status))
    return status_change(node_id, NodeStatus::INITIALIZING, "Node reregistered by heartbeat", {},
                         seed);
  if (status == NodeStatus::READY || owes_reports(snapshot, *node)) return NodeDecision{of_nodes()};
  return status_change(node_id, NodeStatus::READY, "", evals_for_node(snapshot, node_id, seed),
                       seed);
}

bool awaits_reports(const state::Snapshot& snapshot, std::string_view node_id) {
  const auto node = snapshot.node(node_id);
  return node && node->getStatus() != NodeStatus::READY;
}

NodeDecision decide_missed_heartbeat(const state::Snapshot& snapshot,
                                     std::string_view node_id,
                                     const EvalSeed& seed) {
  const auto node = snapshot.node(node_id);
  if (!node || node->getStatus() == NodeStatus::DOWN) return {of_nodes()};
  const bool keeps = may_reconnect(snapshot, node_id, seed.now);
  NodeDecision decision{of_nodes()};
  if (!keeps || node->getStatus() != NodeStatus::DISCONNECTED)
    decision
        = status_change(node_id, keeps ? NodeStatus::DISCONNECTED : NodeStatus::DOWN,
                        "Node heartbeat missed", evals_for_node(snapshot, node_id, seed), seed);
  decision.look_again = keeps;
  return decision;
}

Result<NodeDecision> decide_eligibility(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view node_id,
                                        bool eligible,
                                        const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto node = snapshot.node(node_id);
  if (!node) return node_not_found();
  if (eligible && node->hasDrainStrategy())
    return Error{Errc::rejected,
                 "can not set node's scheduling eligibility to eligible while it is draining"};
  const auto wanted
      = eligible ? SchedulingEligibility::ELIGIBLE : SchedulingEligibility::INELIGIBLE;
  if (node->getSchedulingEligibility() == wanted) return NodeDecision{allowed};
  const auto evals = eligible ? evals_for_node(snapshot, node_id, seed) : Evals{};
  Draft<schema::Command> draft;
  auto command = draft->initNodeEligibilityUpdate();
  command.setNodeId(text(node_id));
  command.setEligibility(wanted);
  command.setUpdatedAt(seconds(seed));
  fill_event(command.initEvent(), "Cluster",
             eligible ? "Node marked as eligible for scheduling"
                      : "Node marked as ineligible for scheduling",
             seed);
  fill_evals(command.initEvaluations(static_cast<unsigned>(evals.size())), evals);
  NodeDecision decision{allowed, draft.freeze(), ids_of(evals)};
  if (eligible) decision.evaluates = node_id;
  return decision;
}

Result<NodeDecision> decide_node_evaluate(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view node_id,
                                          const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (!snapshot.node(node_id)) return node_not_found();
  return evaluation(allowed, evals_for_node(snapshot, node_id, seed));
}

NodeDecision decide_latecomers(const state::Snapshot& guarded,
                               const NodeDecision& done,
                               const EvalSeed& seed) {
  const auto after = guarded.unguarded();  // An evaluation too many does no harm.
  if (done.evaluates.empty()) return {of_nodes()};
  std::set<JobKey> evaluated;
  for (const auto& id : done.eval_ids)
    if (const auto eval = after.eval(id)) evaluated.insert(job_of(*eval));
  auto evals = evals_for_node(after, done.evaluates, seed);
  std::erase_if(evals, [&](const auto& eval) { return evaluated.contains(job_of(*eval)); });
  return evaluation(of_nodes(), evals);
}

NodeDecision decide_forgotten(const state::Snapshot& snapshot, const EvalSeed& seed) {
  Evals found;
  for (const auto& entry : snapshot.nodes()) {
    if (entry.value()->getStatus() != NodeStatus::DOWN) continue;
    const auto wanting = jobs_wanting(snapshot, entry.key());
    if (wanting.empty()) continue;
    for (auto& eval : evals_for_node(snapshot, entry.key(), seed))
      if (wanting.contains(job_of(*eval))) found.push_back(std::move(eval));
  }
  return evaluation(of_nodes(), found);
}

Result<NodeDecision> decide_node_purge(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       std::string_view node_id,
                                       const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (!snapshot.node(node_id)) return node_not_found();
  const auto evals = evals_for_node(snapshot, node_id, seed);
  Draft<schema::Command> draft;
  auto command = draft->initNodeDeregister();
  command.initNodeIds(1).set(0, text(node_id));
  fill_evals(command.initEvaluations(static_cast<unsigned>(evals.size())), evals);
  NodeDecision decision{allowed, draft.freeze(), ids_of(evals)};
  decision.evaluates = node_id;
  return decision;
}

Result<NodeDecision> decide_node_events(const state::Snapshot& snapshot,
                                        std::string_view node_id,
                                        const std::vector<Object<schema::NodeEvent>>& events,
                                        std::int64_t now) {
  const auto node = snapshot.node(node_id);
  if (!node) return node_not_found();
  std::vector<Object<schema::NodeEvent>> news;
  for (const auto& event : events)
    if (!has_event(*node, *event)) news.push_back(event);
  if (news.empty()) return NodeDecision{of_nodes()};
  const auto first = news.size() - std::min(news.size(), state::kept_node_events);
  Draft<schema::Command> draft;
  auto command = draft->initNodeEventsUpsert();
  command.setNodeId(text(node_id));
  auto list = command.initEvents(static_cast<unsigned>(news.size() - first));
  for (unsigned i = 0; i < list.size(); ++i) {
    list.setWithCaveats(i, *news[first + i]);
    if (list[i].getTimestamp() == 0) list[i].setTimestamp(now);
  }
  return NodeDecision{of_nodes(), draft.freeze()};
}

Result<std::string> check_reporter(const state::Snapshot& snapshot,
                                   const std::vector<Object<schema::Allocation>>& reports,
                                   std::string_view claimed) {
  if (reports.empty()) return Error{Errc::rejected, "must update at least one allocation"};
  auto id = std::string{reports.front()->node_id()};
  if (id.empty()) return Error{Errc::rejected, "missing node ID"};
  if (!claimed.empty() && claimed != id)
    return Error{Errc::permission_denied,
                 fmt::format("node {} may not update allocs of node {}", claimed, id)};
  const auto node = snapshot.node(id);
  if (!node) return Error{Errc::not_found, fmt::format("node {} not found", id)};
  if (!is_given_up(node->getStatus())) return id;
  return Error{Errc::conflict,
               fmt::format("node {} is not allowed to update allocs while in status {}", id,
                           node->getStatus() == NodeStatus::DOWN ? "down" : "disconnected")};
}

bool is_foreign(const state::Snapshot& snapshot, AllocView report, std::string_view node_id) {
  const auto row = snapshot.alloc(report.id());
  return row && row->alloc->node_id() != node_id;
}

NodeDecision decide_reports(const state::Snapshot& snapshot,
                            const std::vector<NodeReport>& reports,
                            const EvalSeed& seed) {
  std::unordered_map<std::string_view, std::size_t> positions;
  std::vector<Object<schema::Allocation>> newest;
  std::vector<std::uint64_t> numbers;  // Of each in `newest`.
  for (const auto& report : reports)
    for (const auto& alloc : report.allocs) {
      const auto [entry, is_new] = positions.try_emplace(alloc->id(), newest.size());
      const auto position = entry->second;
      if (is_new) {
        newest.push_back(alloc);
        numbers.push_back(report.number);
      } else if (report.number == 0 || report.number >= numbers[position]) {
        newest[position] = alloc;
        numbers[position] = report.number;
      }
    }
  const auto evals = evals_for_reports(snapshot, newest, seed);
  Draft<schema::Command> draft;
  auto command = draft->initAllocClientUpdate();
  auto allocs = command.initAllocations(static_cast<unsigned>(newest.size()));
  for (unsigned i = 0; i < allocs.size(); ++i) {
    allocs.setWithCaveats(i, newest[i].reader());
    allocs[i].setReportNumber(numbers[i]);
  }
  fill_evals(command.initEvaluations(static_cast<unsigned>(evals.size())), evals);
  return {of_nodes(), draft.freeze(), ids_of(evals)};
}

}  // namespace nomad::cluster
