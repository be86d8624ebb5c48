// Allocations: what clients report of them, what servers ask of them, and their removal.
//
// Who owns what: clients own ClientStatus, ClientDescription, TaskStates and NetworkStatus (but
// servers may declare an allocation lost or unknown); everything else is the servers'.
// AllocModifyIndex moves only when servers change something that the client must learn.
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

/// Takes a client's word on health; true if that is news.
bool merge_health(schema::Allocation::Builder alloc,
                  schema::DeploymentStatus::Reader reported,
                  Index index) {
  if (!alloc.hasDeploymentStatus()) {
    alloc.setDeploymentStatus(reported);
    alloc.getDeploymentStatus().setModifyIndex(index);
    return true;
  }
  auto stored = alloc.getDeploymentStatus();
  const auto healthy = stored.asReader().getHealthy();
  if (!reported.getHealthy().isValue()) return false;
  const bool value = reported.getHealthy().getValue();
  if (healthy.isValue() && healthy.getValue() == value) return false;
  stored.getHealthy().setValue(value);
  stored.setTimestamp(reported.getTimestamp());
  stored.setModifyIndex(index);
  return true;
}

void merge_transition(schema::DesiredTransition::Builder stored,
                      schema::DesiredTransition::Reader wanted) {
  if (wanted.getMigrate().isValue()) stored.getMigrate().setValue(wanted.getMigrate().getValue());
  if (wanted.getReschedule().isValue())
    stored.getReschedule().setValue(wanted.getReschedule().getValue());
  if (wanted.getForceReschedule().isValue())
    stored.getForceReschedule().setValue(wanted.getForceReschedule().getValue());
  if (wanted.getNoShutdownDelay().isValue())
    stored.getNoShutdownDelay().setValue(wanted.getNoShutdownDelay().getValue());
}

}  // namespace

void Applier::alloc_client_update(schema::AllocClientUpdate::Reader command) {
  std::set<std::string> nodes;
  for (auto update : command.getAllocations())
    update_from_client(update, nodes);
  for (const auto& node : nodes)
    note_alloc_update(node);
  put_evals(command.getEvaluations());
}

void Applier::update_from_client(AllocView update, std::set<std::string>& nodes) {
  const AllocRef* found = t_.allocs.find(update.id());
  if (found == nullptr) return;  // collected meanwhile
  const AllocRef before = *found;
  const auto old = *before->alloc;
  // The node was given up meanwhile: its client says all of it again when it is back.
  if (is_given_up(old.node_id())) return;
  const auto number = update.report_number();
  if (number != 0 && number <= old.report_number()) return;  // a late copy of an older report
  Draft<schema::Allocation> draft{before->alloc};
  draft->setClientStatus(update.client_status());
  draft->setClientDescription(text(update.client_description()));
  if (update.has_task_states()) draft->setTaskStates(update.task_states());
  if (update.has_network_status()) draft->setNetworkStatus(update.network_status());
  if (update.has_deployment_status()) merge_health(*draft, update.deployment_status(), index_);
  draft->setModifyIndex(index_);
  draft->setModifyTime(update.modify_time());
  if (number != 0) draft->setReportNumber(number);
  count_in_deployment(&old, *draft);
  count_alloc(&old, draft.reader());

  AllocRow row = *before;
  row.alloc = draft.freeze();
  row.client_terminal = row.alloc->is_client_terminal();
  nodes.insert(std::string{old.node_id()});
  put_alloc(&before, std::move(row), Author::client);
}

void Applier::alloc_transition(schema::AllocTransition::Reader command) {
  for (auto entry : command.getEntries()) {
    const AllocRef* found = t_.allocs.find(view(entry.getAllocId()));
    if (found == nullptr) continue;
    const AllocRef before = *found;
    Draft<schema::Allocation> draft{before->alloc};
    merge_transition(draft->getDesiredTransition(), entry.getTransition());
    draft->setModifyIndex(index_);
    draft->setAllocModifyIndex(index_);
    AllocRow row = *before;
    row.alloc = draft.freeze();
    put_alloc(&before, std::move(row), Author::server);
  }
  put_evals(command.getEvaluations());
}

/// Stores `row`, whose columns are filled, in place of `before` or as a new one (null).
void Applier::put_alloc(const AllocRef* before, AllocRow row, Author author) {
  const AllocRef stored = AllocRef::make(std::move(row));
  const auto alloc = *stored->alloc;
  t_.allocs.insert_or_assign(alloc.id(), stored);
  index_alloc(t_, before, stored, released_);
  touched_jobs_.try_emplace(join_key(alloc.ns(), alloc.job_id()), false);
  if (stored->client_terminal && (before == nullptr || !(*before)->client_terminal)) {
    freed_nodes_.emplace(alloc.node_id());
    remove_services(t_.services_by_alloc, alloc.id());
  }
  note_alloc_change(*stored, author);
  event(stored->alloc);
}

void Applier::remove_alloc(std::string_view id) {
  const AllocRef* found = t_.allocs.find(id);
  if (found == nullptr) return;
  const AllocRef row = *found;
  t_.allocs.erase(id);
  unindex_alloc(t_, row, released_);
  const auto alloc = *row->alloc;
  touched_jobs_.insert_or_assign(join_key(alloc.ns(), alloc.job_id()), true);
  if (!row->client_terminal) freed_nodes_.emplace(alloc.node_id());
  remove_services(t_.services_by_alloc, id);
  note_alloc_change(*row, Author::server);
}

void Applier::note_alloc_change(const AllocRow& row, Author author) {
  const auto alloc = *row.alloc;
  touch(Table::allocs);
  changed(Table::allocs, alloc.id());
  changed(Table::allocs_by_node, alloc.node_id());
  if (author == Author::server) changed(Table::allocs_for_node, alloc.node_id());
  changed(Table::allocs_by_job, join_key(alloc.ns(), alloc.job_id()));
  changed(Table::allocs_by_eval, alloc.eval_id());
  if (!alloc.deployment_id().empty()) changed(Table::allocs_by_deployment, alloc.deployment_id());
}

}  // namespace nomad::state
