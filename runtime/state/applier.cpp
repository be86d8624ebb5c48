#include "runtime/state/applier.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace nomad::state {

namespace {

/// The type that all events of a command have; empty for commands that show none.
std::string_view event_type_of(schema::Command::Which which) {
  using Which = schema::Command::Which;
  switch (which) {
    case Which::JOB_REGISTER:
    case Which::JOB_SCALE:
    case Which::PERIODIC_LAUNCH_REGISTER:
      return "JobRegistered";
    case Which::JOB_DEREGISTER:
      return "JobDeregistered";
    case Which::EVAL_UPDATE:
      return "EvaluationUpdated";
    case Which::ALLOC_CLIENT_UPDATE:
      return "AllocationUpdated";
    case Which::ALLOC_TRANSITION:
      return "AllocationUpdateDesiredStatus";
    case Which::NODE_REGISTER:
      return "NodeRegistration";
    case Which::NODE_STATUS_UPDATE:
    case Which::NODE_EVENTS_UPSERT:
      return "NodeStreamEvent";
    case Which::NODE_ELIGIBILITY_UPDATE:
    case Which::NODE_DRAIN_UPDATE:
      return "NodeDrain";
    case Which::NODE_DEREGISTER:
      return "NodeDeregistration";
    case Which::PLAN_RESULTS:
      return "PlanResult";
    case Which::DEPLOYMENT_STATUS_UPDATE:
      return "DeploymentStatusUpdate";
    case Which::DEPLOYMENT_PROMOTION:
      return "DeploymentPromotion";
    case Which::DEPLOYMENT_ALLOC_HEALTH:
      return "DeploymentAllocHealth";
    case Which::NODE_POOL_UPSERT:
      return "NodePoolUpserted";
    case Which::NODE_POOL_DELETE:
      return "NodePoolDeleted";
    case Which::NOOP:
    case Which::JOB_STABILITY:
    case Which::REAP:
    case Which::JOBS_REAP:
    case Which::SUMMARIES_RECONCILE:
    case Which::EVAL_DELETE:
    case Which::SERVICE_UPSERT:  // services' events have types of their own
    case Which::SERVICE_DELETE:
    case Which::NODE_SERVICES:
    case Which::SCHEDULER_CONFIGURATION:
    case Which::NAMESPACE_UPSERT:
    case Which::NAMESPACE_DELETE:
    case Which::VARIABLE_APPLY:  // no trace of variables in the event stream
    case Which::ROOT_KEY_UPSERT:
    case Which::ROOT_KEY_DELETE:
    case Which::KEY_HOLDER_UPSERT:
    case Which::KEY_HOLDER_DELETE:
    case Which::RESTORE_BEGIN:
    case Which::RESTORE_ROWS:
    case Which::RESTORE_FINISH:
    case Which::AUTOPILOT_UPDATE:
    case Which::JOB_SUBMISSION:  // may hold secrets
      return "";
  }
  return "";
}

}  // namespace

void Applier::apply(schema::Command::Reader command) {
  outcome_.index = index_;
  event_type_ = event_type_of(command.which());
  const std::size_t first_event = events_ != nullptr ? events_->size() : 0;
  dispatch(command);
  settle();
  if (events_ != nullptr) keep_last_events(first_event);
}

void Applier::dispatch(schema::Command::Reader command) {
  using Which = schema::Command::Which;
  switch (command.which()) {
    case Which::NOOP:
      return;
    case Which::JOB_REGISTER:
    case Which::JOB_SCALE:
    case Which::JOB_SUBMISSION:
    case Which::JOB_DEREGISTER:
    case Which::JOB_STABILITY:
      return job_command(command);
    case Which::PERIODIC_LAUNCH_REGISTER:
      return periodic_launch_register(command.getPeriodicLaunchRegister());
    case Which::EVAL_UPDATE:
      return eval_update(command.getEvalUpdate());
    case Which::ALLOC_CLIENT_UPDATE:
      return alloc_client_update(command.getAllocClientUpdate());
    case Which::ALLOC_TRANSITION:
      return alloc_transition(command.getAllocTransition());
    case Which::NODE_REGISTER:
    case Which::NODE_STATUS_UPDATE:
    case Which::NODE_ELIGIBILITY_UPDATE:
    case Which::NODE_DRAIN_UPDATE:
    case Which::NODE_EVENTS_UPSERT:
    case Which::NODE_DEREGISTER:
      return node_command(command);
    case Which::PLAN_RESULTS:
      return plan_results(command.getPlanResults());
    case Which::DEPLOYMENT_STATUS_UPDATE:
      return deployment_status_update(command.getDeploymentStatusUpdate());
    case Which::DEPLOYMENT_PROMOTION:
      return deployment_promotion(command.getDeploymentPromotion());
    case Which::DEPLOYMENT_ALLOC_HEALTH:
      return deployment_alloc_health(command.getDeploymentAllocHealth());
    case Which::REAP:
    case Which::JOBS_REAP:
    case Which::EVAL_DELETE:
      return forget(command);
    case Which::SUMMARIES_RECONCILE:
      return summaries_reconcile(command.getSummariesReconcile());
    case Which::SERVICE_UPSERT:
    case Which::SERVICE_DELETE:
    case Which::NODE_SERVICES:
      return services(command);
    case Which::SCHEDULER_CONFIGURATION:
      return scheduler_configuration(command.getSchedulerConfiguration());
    case Which::AUTOPILOT_UPDATE:
      return autopilot_update(command.getAutopilotUpdate());
    case Which::NAMESPACE_UPSERT:
      return namespace_upsert(command.getNamespaceUpsert());
    case Which::NAMESPACE_DELETE:
      return namespace_delete(view(command.getNamespaceDelete()));
    case Which::NODE_POOL_UPSERT:
      return node_pool_upsert(command.getNodePoolUpsert());
    case Which::NODE_POOL_DELETE:
      return node_pool_delete(view(command.getNodePoolDelete()));
    case Which::VARIABLE_APPLY:
      return variable_apply(command.getVariableApply());
    case Which::ROOT_KEY_UPSERT:
    case Which::ROOT_KEY_DELETE:
    case Which::KEY_HOLDER_UPSERT:
    case Which::KEY_HOLDER_DELETE:
      return keyring(command);
    case Which::RESTORE_BEGIN:
    case Which::RESTORE_ROWS:
    case Which::RESTORE_FINISH:
      return restore(command);
  }
  refuse_unknown(static_cast<int>(command.which()));
}

/// Of a newer version; `check_command` keeps those out, because the replicas would part here.
void Applier::refuse_unknown(int command) {
  refuse(Errc::internal, "unknown command " + std::to_string(command));
}

void Applier::settle() {
  settle_deployments();
  settle_statuses();
  settle_summaries();
  drop_unused(t_, released_);
  outcome_.nodes_freed.assign(freed_nodes_.begin(), freed_nodes_.end());
}

/// An object that the command wrote more than once shows only as it became at last.
void Applier::keep_last_events(std::size_t first) {
  using Id = std::tuple<std::size_t, std::string_view, std::string_view>;

  struct Hash {
    std::size_t operator()(const Id& id) const {
      return std::hash<std::string_view>{}(std::get<2>(id)) * 31 + std::get<0>(id);
    }
  };

  if (events_->size() < first + 2) return;
  std::unordered_set<Id, Hash> seen;  // of views into the objects that `kept` holds
  seen.reserve(events_->size() - first);
  std::vector<Event> kept;
  kept.reserve(events_->size() - first);
  for (std::size_t i = events_->size(); i > first; --i) {
    Event& last = (*events_)[i - 1];
    if (seen.emplace(last.payload.index(), last.ns(), last.key()).second)
      kept.push_back(std::move(last));
  }
  events_->resize(first);
  events_->insert(events_->end(), std::make_move_iterator(kept.rbegin()),
                  std::make_move_iterator(kept.rend()));
}

void Applier::changed(Table table, std::string_view key) {
  const auto number = static_cast<std::uint32_t>(table);
  auto& last = last_changed_[number];
  if (last != 0 && changes_[last - 1].key == key) return;  // the rows of a plan have much in common
  changes_.push_back({number, std::string{key}});
  last = changes_.size();
}

void Applier::refuse(Errc code, std::string what) {
  outcome_.error = Error{code, std::move(what)};
}

}  // namespace nomad::state
