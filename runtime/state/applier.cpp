#include "runtime/state/applier.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "runtime/state/apply_kind.hpp"
#include "runtime/state/reads/read_set.hpp"

namespace nomad::state {

/// The commands, by their number.
struct Applier::Entries {
  using Command = schema::Command::Reader;

  struct Numbered {
    schema::Command::Which which;
    Entry entry;
  };

  template <auto run, auto get>
  static void call(Applier& applier, Command command) {
    (applier.*run)((command.*get)());
  }

  template <auto run, auto get>
  static constexpr Numbered on(schema::Command::Which which, std::string_view event = {}) {
    return {which, {call<run, get>, event}};
  }

  static void do_nothing(Applier&, Command) {}

  using A = Applier;
  using C = Command;
  using N = schema::Command;

  static constexpr std::string_view csi_gone = "CSIVolumeDeregistered";

  /// Those that are more than to store or remove one row.
  static constexpr auto own() {
    return std::to_array<Numbered>({
        {schema::Command::NOOP, {do_nothing}},
        on<&A::job_register, &C::getJobRegister>(schema::Command::JOB_REGISTER, "JobRegistered"),
        on<&A::job_scale, &C::getJobScale>(schema::Command::JOB_SCALE, "JobRegistered"),
        on<&A::periodic_launch_register, &C::getPeriodicLaunchRegister>(
            schema::Command::PERIODIC_LAUNCH_REGISTER, "JobRegistered"),
        on<&A::job_deregister, &C::getJobDeregister>(schema::Command::JOB_DEREGISTER,
                                                     "JobDeregistered"),
        on<&A::job_stability, &C::getJobStability>(schema::Command::JOB_STABILITY),
        on<&A::job_version_tagging, &C::getJobVersionTagging>(schema::Command::JOB_VERSION_TAGGING),
        on<&A::job_submission, &C::getJobSubmission>(schema::Command::JOB_SUBMISSION),
        on<&A::eval_update, &C::getEvalUpdate>(schema::Command::EVAL_UPDATE, eval_event),
        on<&A::alloc_client_update, &C::getAllocClientUpdate>(schema::Command::ALLOC_CLIENT_UPDATE,
                                                              "AllocationUpdated"),
        on<&A::alloc_transition, &C::getAllocTransition>(schema::Command::ALLOC_TRANSITION,
                                                         "AllocationUpdateDesiredStatus"),
        on<&A::node_register, &C::getNodeRegister>(schema::Command::NODE_REGISTER,
                                                   "NodeRegistration"),
        on<&A::node_status_update, &C::getNodeStatusUpdate>(schema::Command::NODE_STATUS_UPDATE,
                                                            "NodeStreamEvent"),
        on<&A::node_events_upsert, &C::getNodeEventsUpsert>(schema::Command::NODE_EVENTS_UPSERT,
                                                            "NodeStreamEvent"),
        on<&A::node_eligibility_update, &C::getNodeEligibilityUpdate>(
            schema::Command::NODE_ELIGIBILITY_UPDATE, "NodeDrain"),
        on<&A::node_drain_update, &C::getNodeDrainUpdate>(schema::Command::NODE_DRAIN_UPDATE,
                                                          "NodeDrain"),
        on<&A::node_deregister, &C::getNodeDeregister>(schema::Command::NODE_DEREGISTER,
                                                       "NodeDeregistration"),
        on<&A::plan_results, &C::getPlanResults>(schema::Command::PLAN_RESULTS, "PlanResult"),
        on<&A::deployment_status_update, &C::getDeploymentStatusUpdate>(
            schema::Command::DEPLOYMENT_STATUS_UPDATE, "DeploymentStatusUpdate"),
        on<&A::deployment_promotion, &C::getDeploymentPromotion>(
            schema::Command::DEPLOYMENT_PROMOTION, "DeploymentPromotion"),
        on<&A::deployment_alloc_health, &C::getDeploymentAllocHealth>(
            schema::Command::DEPLOYMENT_ALLOC_HEALTH, "DeploymentAllocHealth"),
        on<&A::reap, &C::getReap>(schema::Command::REAP),
        on<&A::jobs_reap, &C::getJobsReap>(schema::Command::JOBS_REAP),
        on<&A::eval_delete, &C::getEvalDelete>(schema::Command::EVAL_DELETE),
        on<&A::summaries_reconcile, &C::getSummariesReconcile>(
            schema::Command::SUMMARIES_RECONCILE),
        on<&A::service_upsert, &C::getServiceUpsert>(schema::Command::SERVICE_UPSERT),
        on<&A::service_delete, &C::getServiceDelete>(schema::Command::SERVICE_DELETE),
        on<&A::node_services, &C::getNodeServices>(schema::Command::NODE_SERVICES),
        on<&A::variable_apply, &C::getVariableApply>(schema::Command::VARIABLE_APPLY),
        on<&A::variable_locking, &C::getVariableLocking>(schema::Command::VARIABLE_LOCKING),
        on<&A::root_key_upsert, &C::getRootKeyUpsert>(schema::Command::ROOT_KEY_UPSERT),
        on<&A::root_key_delete, &C::getRootKeyDelete>(schema::Command::ROOT_KEY_DELETE),
        on<&A::root_key_forced_delete, &C::getRootKeyForcedDelete>(
            schema::Command::ROOT_KEY_FORCED_DELETE),
        on<&A::restore_begin, &C::getRestoreBegin>(schema::Command::RESTORE_BEGIN),
        on<&A::restore_rows, &C::getRestoreRows>(schema::Command::RESTORE_ROWS),
        on<&A::restore_finish, &C::getRestoreFinish>(schema::Command::RESTORE_FINISH),
        on<&A::acl_token_upsert, &C::getAclTokenUpsert>(schema::Command::ACL_TOKEN_UPSERT,
                                                        "ACLTokenUpserted"),
        on<&A::acl_token_delete, &C::getAclTokenDelete>(schema::Command::ACL_TOKEN_DELETE,
                                                        "ACLTokenDeleted"),
        on<&A::acl_bootstrap, &C::getAclBootstrap>(schema::Command::ACL_BOOTSTRAP),
        on<&A::acl_one_time_token_exchange, &C::getAclOneTimeTokenExchange>(
            schema::Command::ACL_ONE_TIME_TOKEN_EXCHANGE),
        on<&A::acl_expire, &C::getAclExpire>(schema::Command::ACL_EXPIRE, "ACLTokenDeleted"),
        on<&A::acl_reseal, &C::getAclReseal>(schema::Command::ACL_RESEAL),
        on<&A::shared_rows, &C::getSharedRows>(schema::Command::SHARED_ROWS),
        on<&A::csi_register, &C::getCsiVolumeRegister>(N::CSI_VOLUME_REGISTER,
                                                       "CSIVolumeRegistered"),
        on<&A::csi_deregister, &C::getCsiVolumeDeregister>(N::CSI_VOLUME_DEREGISTER, csi_gone),
        on<&A::csi_claim, &C::getCsiClaimUpdate>(N::CSI_CLAIM_UPDATE, "CSIVolumeClaim"),
        {schema::Command::GUARDED, {do_nothing}},  // `apply` takes out what it wraps
    });
  }

  template <class Kind>
  static void put(Applier& applier, Command command) {
    applier.put_command<Kind>((command.*Kind::put.get)());
  }

  template <class Kind>
  static void remove(Applier& applier, Command command) {
    applier.remove_command<Kind>(view((command.*Kind::remove.get)()));
  }

  /// The number of all.
  static constexpr std::size_t count() {
    auto all = own().size();
    each_kind([&all]<class Kind>() {
      if constexpr (requires { Kind::put; }) ++all;
      if constexpr (requires { Kind::remove; }) ++all;
    });
    return all;
  }

  template <std::size_t size>
  static constexpr auto make() {
    std::array<Entry, size> entries{};
    for (const auto& one : own())
      entries.at(one.which) = one.entry;
    each_kind([&entries]<class Kind>() {
      if constexpr (requires { Kind::put; })
        entries.at(Kind::put.which) = {put<Kind>, Kind::put.event};
      if constexpr (requires { Kind::remove; })
        entries.at(Kind::remove.which) = {remove<Kind>, Kind::remove.event};
    });
    for (const auto& entry : entries)
      if (entry.apply == nullptr) throw "a command has no entry, or two have the same number";
    return entries;
  }
};

Applier::Entry Applier::entry_of(schema::Command::Which which) {
  static constexpr auto entries = Entries::make<Entries::count()>();
  return which < entries.size() ? entries.at(which) : Entry{};
}

std::uint32_t known_commands() {
  return Applier::Entries::count();
}

void Applier::apply(schema::Command::Reader command) {
  outcome_.index = index_;
  if (command.isGuarded()) {
    if (!is_as_read(command.getGuarded(), t_)) {
      outcome_.stale = true;
      return refuse(Errc::conflict, "what the change was decided on has been changed meanwhile");
    }
    command = command.getGuarded().getCommand();
  }
  const auto [run, event_type] = entry_of(command.which());
  // Of a newer version; `check_command` keeps those out, because the replicas would part here.
  if (run == nullptr)
    return refuse(Errc::internal, "unknown command " + std::to_string(command.which()));
  event_type_ = event_type;
  const std::size_t first_event = events_ != nullptr ? events_->size() : 0;
  run(*this, command);
  settle();
  if (events_ != nullptr) keep_last_events(first_event);
}

void Applier::settle() {
  settle_deployments();
  settle_statuses();
  settle_summaries();
  drop_unused(t_, released_);
  outcome_.nodes_freed.assign(freed_nodes_.begin(), freed_nodes_.end());
  for (const auto& quota : released_.used_quotas)
    changed(Table::quota_use, quota);
  opened_quotas_.merge(released_.quotas);
  outcome_.quotas_opened.assign(opened_quotas_.begin(), opened_quotas_.end());
}

/// An object that the command wrote more than once shows only as it became at last by each type.
void Applier::keep_last_events(std::size_t first) {
  using Id = std::tuple<std::size_t, std::string_view, std::string_view, std::string_view>;

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
    if (seen.emplace(last.payload.index(), last.ns(), last.key(), last.type).second)
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
