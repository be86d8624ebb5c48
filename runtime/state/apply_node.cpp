// Nodes: registration, status, eligibility, drain, removal.
#include "runtime/base/secret.hpp"
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

using Status = schema::NodeStatus;
using Eligibility = schema::SchedulingEligibility;

bool is_unresponsive(Status status) {
  return status == Status::DOWN || status == Status::DISCONNECTED;
}

bool is_same(schema::DrainStrategy::Reader one, schema::DrainStrategy::Reader other) {
  return one.getDeadline() == other.getDeadline()
         && one.getIgnoreSystemJobs() == other.getIgnoreSystemJobs()
         && one.getForceDeadline() == other.getForceDeadline()
         && one.getStartedAt() == other.getStartedAt();
}

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// What is kept of a drain once it is over: a new one begins with what `command` says, and what
/// comes later says only what it changes.
void note_drain(schema::Node::Builder node,
                schema::Node::Reader before,
                schema::NodeDrainUpdate::Reader command) {
  const bool begins = !before.hasDrainStrategy();
  if (begins || !before.hasLastDrain()) {
    const auto started = begins ? command.getUpdatedAt() * nanoseconds_per_second
                                : before.getDrainStrategy().getStartedAt() / nanoseconds_per_second
                                      * nanoseconds_per_second;
    node.initLastDrain().setStartedAt(started);
  }
  auto last = node.getLastDrain();
  last.setUpdatedAt(command.getUpdatedAt() * nanoseconds_per_second);
  const auto given = command.getLastDrain();
  if (given.getMeta().size() > 0) last.setMeta(given.getMeta());
  if (given.getAccessorId().size() > 0) last.setAccessorId(given.getAccessorId());
  if (command.hasDrainStrategy())
    last.setStatus("draining");
  else
    last.setStatus(command.hasOnlyOf() ? "complete" : "canceled");
}

bool is_open(schema::Node::Reader node) {
  return node.getStatus() == Status::READY && !node.hasDrainStrategy()
         && node.getSchedulingEligibility() == Eligibility::ELIGIBLE;
}

}  // namespace

const Object<schema::Node>* Applier::find_node(std::string_view id) {
  const auto* found = t_.nodes.find(id);
  if (found == nullptr) refuse(Errc::not_found, "node not found");
  return found;
}

void Applier::append_event(schema::Node::Builder node, schema::NodeEvent::Reader event) {
  Draft<schema::Node> old{node.asReader()};
  const auto events = old.reader().getEvents();
  const unsigned skipped = events.size() >= kept_node_events
                               ? events.size() + 1 - static_cast<unsigned>(kept_node_events)
                               : 0;
  auto kept = node.initEvents(events.size() - skipped + 1);
  for (unsigned i = skipped; i < events.size(); ++i)
    kept.setWithCaveats(i - skipped, events[i]);
  kept.setWithCaveats(kept.size() - 1, event);
  kept[kept.size() - 1].setCreateIndex(index_);
}

/// What servers decide about a known node stays as it is; the rest is as the client says.
void Applier::node_register(schema::NodeRegister::Reader command) {
  const auto node = command.getNode();
  if (node.getId().size() == 0)
    return refuse(Errc::rejected, "missing node ID for client registration");
  const auto* found = t_.nodes.find(view(node.getId()));
  if (found != nullptr && !same_secret(view((*found)->getSecretId()), view(node.getSecretId())))
    return refuse(Errc::rejected, "node secret ID does not match. Not registering node.");
  Draft<schema::Node> draft{node};
  if (node.getNodePool().size() == 0) draft->setNodePool("default");
  draft->setModifyIndex(index_);
  if (found != nullptr) {
    const Object<schema::Node> old = *found;
    draft->setCreateIndex(old->getCreateIndex());
    draft->setEvents(old->getEvents());
    draft->setStatus(old->getStatus());
    draft->setStatusDescription(old->getStatusDescription());
    draft->setSchedulingEligibility(old->getSchedulingEligibility());
    if (old->hasDrainStrategy())
      draft->setDrainStrategy(old->getDrainStrategy());
    else
      draft->disownDrainStrategy();
    if (old->hasLastDrain())
      draft->setLastDrain(old->getLastDrain());
    else
      draft->disownLastDrain();
    draft->setLastMissedHeartbeatIndex(old->getLastMissedHeartbeatIndex());
    draft->setLastAllocUpdateIndex(old->getLastAllocUpdateIndex());
  } else {
    draft->disownDrainStrategy();
    draft->disownLastDrain();
    draft->setCreateIndex(index_);
    auto event = draft->initEvents(1)[0];
    event.setMessage("Node registered");
    event.setSubsystem("Cluster");
    event.setTimestamp(node.getStatusUpdatedAt() * 1'000'000'000);
    event.setCreateIndex(index_);
  }
  const Object<schema::Node> stored = draft.freeze();
  put<kind::Nodes>(stored);
  if (!t_.node_pools.contains(view(stored->getNodePool()))) {
    Draft<schema::NodePool> pool;
    pool->setName(stored->getNodePool());
    put_stamped<kind::NodePools>({}, pool.reader());
  }
  if (is_open(*stored)) outcome_.nodes_opened.push_back(stored);
  note_controllers(*stored);
}

/// Volumes are to be had anywhere once a controller of theirs is healthy on some node.
void Applier::note_controllers(schema::Node::Reader node) {
  if (node.getCsiControllerPlugins().size() == 0 || node.getStatus() != Status::READY) return;
  outcome_.volumes_opened.emplace_back();
}

void Applier::node_status_update(schema::NodeStatusUpdate::Reader command) {
  const auto* found = find_node(view(command.getNodeId()));
  if (found == nullptr) return;
  const Object<schema::Node> old = *found;
  Draft<schema::Node> draft{old};
  draft->setStatusUpdatedAt(command.getUpdatedAt());
  if (command.hasEvent()) append_event(*draft, command.getEvent());
  draft->setStatus(command.getStatus());
  draft->setModifyIndex(index_);
  if (!is_unresponsive(old->getStatus()) && is_unresponsive(command.getStatus()))
    draft->setLastMissedHeartbeatIndex(index_);
  else if (old->getStatus() != Status::READY && command.getStatus() == Status::READY)
    draft->setLastMissedHeartbeatIndex(0);
  const Object<schema::Node> stored = draft.freeze();
  put<kind::Nodes>(stored);
  if (command.getStatus() == Status::DOWN)
    remove_services(t_.services_by_node, view(command.getNodeId()));
  if (is_open(*stored)) outcome_.nodes_opened.push_back(stored);
  note_controllers(*stored);
  put_separate_evals(command.getEvaluations());
}

void Applier::node_eligibility_update(schema::NodeEligibilityUpdate::Reader command) {
  const auto* found = find_node(view(command.getNodeId()));
  if (found == nullptr) return;
  const Object<schema::Node> old = *found;
  if (old->hasDrainStrategy() && command.getEligibility() == Eligibility::ELIGIBLE)
    return refuse(Errc::conflict,
                  "can not set node's scheduling eligibility to eligible while it is draining");
  Draft<schema::Node> draft{old};
  draft->setStatusUpdatedAt(command.getUpdatedAt());
  if (command.hasEvent()) append_event(*draft, command.getEvent());
  draft->setSchedulingEligibility(command.getEligibility());
  draft->setModifyIndex(index_);
  const Object<schema::Node> stored = draft.freeze();
  put<kind::Nodes>(stored);
  if (is_open(*stored) && !is_open(*old)) outcome_.nodes_opened.push_back(stored);
  put_separate_evals(command.getEvaluations());
}

void Applier::node_drain_update(schema::NodeDrainUpdate::Reader command) {
  const auto* found = find_node(view(command.getNodeId()));
  if (found == nullptr) return;
  const Object<schema::Node> old = *found;
  if (command.hasOnlyOf()
      && !(old->hasDrainStrategy() && is_same(old->getDrainStrategy(), command.getOnlyOf())))
    return refuse(Errc::conflict, "the node does not drain any more, or by another strategy");
  Draft<schema::Node> draft{old};
  draft->setStatusUpdatedAt(command.getUpdatedAt());
  if (command.hasEvent()) append_event(*draft, command.getEvent());
  if (old->hasDrainStrategy() || command.hasDrainStrategy()) note_drain(*draft, *old, command);
  if (command.hasDrainStrategy()) {
    draft->setDrainStrategy(command.getDrainStrategy());
    draft->setSchedulingEligibility(Eligibility::INELIGIBLE);
  } else {
    draft->disownDrainStrategy();
    if (command.getMarkEligible()) draft->setSchedulingEligibility(Eligibility::ELIGIBLE);
  }
  changed(Table::draining_nodes, view(command.getNodeId()));
  draft->setModifyIndex(index_);
  const Object<schema::Node> stored = draft.freeze();
  put<kind::Nodes>(stored);
  if (is_open(*stored) && !is_open(*old)) outcome_.nodes_opened.push_back(stored);
  put_separate_evals(command.getEvaluations());
}

void Applier::node_events_upsert(schema::NodeEventsUpsert::Reader command) {
  const auto* found = find_node(view(command.getNodeId()));
  if (found == nullptr) return;
  Draft<schema::Node> draft{*found};
  for (const auto event : command.getEvents())
    append_event(*draft, event);
  draft->setModifyIndex(index_);
  put<kind::Nodes>(draft.freeze());
}

void Applier::node_deregister(schema::NodeDeregister::Reader command) {
  for (auto id : command.getNodeIds()) {
    if (t_.draining_nodes.contains(view(id))) changed(Table::draining_nodes, view(id));
    if (!remove<kind::Nodes>(view(id))) continue;
    remove_services(t_.services_by_node, view(id));
  }
  put_separate_evals(command.getEvaluations());
}

/// Whether the node's client was silent too long and has not sent a heartbeat since.
bool Applier::is_given_up(std::string_view node_id) const {
  const auto* found = t_.nodes.find(node_id);
  return found != nullptr && is_unresponsive((*found)->getStatus());
}

/// The node's client has reported. Readers of nodes are woken only by the first report since a
/// missed heartbeat, after which the node may become ready again.
void Applier::note_alloc_update(std::string_view node_id) {
  const auto node = found<kind::Nodes>(node_id);
  if (!node) return;
  Draft<schema::Node> draft{node};
  draft->setLastAllocUpdateIndex(index_);
  if (node->getLastAllocUpdateIndex() <= node->getLastMissedHeartbeatIndex())
    replace<kind::Nodes>(node, draft.freeze());
  else
    replace_quietly<kind::Nodes>(node, draft.freeze());
}

}  // namespace nomad::state
