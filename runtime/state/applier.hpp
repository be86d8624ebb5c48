// Applier: applies one command to the tables. Private to the store; one file per kind of object.
//
// How a command is applied:
// 1. Everything that can forbid it is checked before anything is changed, so a refused command
//    leaves no trace.
// 2. Rows are changed by `put`, `replace` and `remove` alone, which keep the derived maps, the
//    tables' indexes, the changes for watches and the events in step, by the descriptor of the
//    rows' kind (kinds.hpp); allocations by `put_alloc` and `remove_alloc`.
// 3. What many rows of one command add to (a job's summary and status, a deployment's counts) is
//    collected and written once, by `settle`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/draft.hpp"
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/event.hpp"
#include "runtime/state/store.hpp"
#include "runtime/state/tables.hpp"
#include "runtime/state/watch.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

class Applier {
public:
  Applier(Tables& tables,
          Index index,
          std::vector<Change>& changes,
          std::vector<Event>* events,
          Outcome& outcome)
      : t_{tables}, index_{index}, changes_{changes}, events_{events}, outcome_{outcome} {}

  void apply(schema::Command::Reader command);

private:
  enum class Author { client, server };
  using JobReader = schema::Job::Reader;
  using AllocBuilder = schema::Allocation::Builder;

  /// Counts of a group in a job's summary.
  struct GroupCounts {
    std::int64_t queued = 0, complete = 0, failed = 0, running = 0, starting = 0, lost = 0,
                 unknown = 0;

    friend bool operator==(const GroupCounts&, const GroupCounts&) = default;
  };

  struct Summary {
    std::string ns, job_id;
    std::map<std::string, GroupCounts, std::less<>> groups;
    std::int64_t pending_children = 0, running_children = 0, dead_children = 0;
    Index create_index = 0;
    bool changed = false;

    /// Whether both count the same.
    bool counts_as(const Summary& other) const {
      return groups == other.groups && pending_children == other.pending_children
             && running_children == other.running_children && dead_children == other.dead_children
             && create_index == other.create_index;
    }
  };

  /// What allocations of this command add to a group of a deployment.
  struct DeploymentCounts {
    std::int64_t placed = 0, healthy = 0, unhealthy = 0, progress_deadline = 0;
    std::int64_t require_progress_by = 0;  ///< Unix nanoseconds; 0 is none.
    std::vector<std::string> canaries;
  };

  /// The type of the events of evaluations that are written by themselves.
  static constexpr std::string_view eval_event = "EvaluationUpdated";

  /// How a command is applied.
  struct Entry {
    void (*apply)(Applier& applier, schema::Command::Reader command) = nullptr;
    std::string_view event = {};  ///< The type that all its events have; empty: it shows none.
  };

  /// Empty if this version doesn't know the command.
  static Entry entry_of(schema::Command::Which which);
  friend std::uint32_t known_commands();
  struct Entries;

  // applier.cpp
  void settle();
  void keep_last_events(std::size_t first);

  void touch(Table table) { t_.indexes[static_cast<std::uint32_t>(table)] = index_; }

  void changed(Table table, std::string_view key);
  void refuse(Errc code, std::string what);

  void refuse(const Error& error) { outcome_.error = error; }

  template <class T>
  void event(const Object<T>& object) {
    if (!event_type_.empty()) event_as(event_type_, object);
  }

  /// `type` is a literal.
  template <class T>
  void event_as(std::string_view type, const Object<T>& object) {
    if (events_ != nullptr) events_->push_back({type, object});
  }

  // Rows, by the descriptor of their kind: apply_kind.hpp.
  template <class Kind>
  ObjectOf<Kind> found(std::string_view key) const;
  template <class Kind>
  void put(const ObjectOf<Kind>& row);
  template <class Kind>
  void replace(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after);
  template <class Kind>
  void replace_quietly(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after);
  template <class Kind>
  void note(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after);
  template <class Kind>
  bool remove(std::string_view key);
  template <class Kind>
  void remove_all(const std::vector<ObjectOf<Kind>>& rows);
  template <class Kind>
  void put_stamped(const ObjectOf<Kind>& before, typename Kind::Reader wanted);
  template <class Kind, class Payload>
  void put_command(Payload payload);
  template <class Kind>
  void remove_command(std::string_view key);

  // apply_job.cpp
  void job_register(schema::JobRegister::Reader command);
  void job_deregister(schema::JobDeregister::Reader command);
  void job_stability(schema::JobStability::Reader command);
  void job_version_tagging(schema::JobVersionTagging::Reader command);
  void periodic_launch_register(schema::PeriodicLaunchRegister::Reader command);
  std::optional<Error> check_job(JobReader job) const;
  std::optional<Error> check_enforced(schema::JobRegister::Reader command,
                                      const Object<schema::Job>* existing) const;
  Object<schema::Job> put_job_spec(JobReader job,
                                   bool keep_counts,
                                   std::optional<std::uint64_t> source_of = {});
  void put_job_version(const Object<schema::Job>& job);
  void drop_job_version(const Object<schema::Job>& job);
  void prune_versions(const std::string& key);
  void purge_job(const std::string& key);
  void set_stable(std::string_view ns, std::string_view id, std::uint64_t version, bool stable);
  bool has_tag(const std::string& key) const;
  template <class Change>
  void change_version(const std::string& key, std::uint64_t version, Change change);

  void job_scale(schema::JobScale::Reader command);
  void put_scaling_event(schema::JobScale::Reader command);
  void job_submission(schema::JobSubmission::Reader submission);
  void put_submission(schema::JobSubmission::Reader submission, JobReader job);
  void copy_submission(const std::string& key, std::uint64_t from, JobReader job);

  // apply_summary.cpp
  Summary* summary(std::string_view ns, std::string_view job_id);
  void extend_summary(JobReader job);
  void count_alloc(const AllocView* before, AllocView after);
  void count_child(JobReader job, std::string_view before, std::string_view after);
  void summaries_reconcile(schema::SummariesReconcile::Reader command);
  void recount(const std::string& key, JobReader job);
  void recount_queued(JobReader job, Summary& counts) const;
  std::string_view status_of(const std::string& key, JobReader job, bool evals_were_removed) const;
  void settle_statuses();
  void settle_summaries();

  // apply_eval.cpp
  void eval_update(schema::EvalUpdate::Reader command);
  void put_evals(capnp::List<schema::Evaluation>::Reader evals);
  void put_separate_evals(capnp::List<schema::Evaluation>::Reader evals);
  void put_eval(schema::Evaluation::Reader eval, Index job_modify_index = 0);
  void store_eval(const Object<schema::Evaluation>& before, const Object<schema::Evaluation>& eval);
  void cancel_blocked(schema::Evaluation::Reader complete);
  void touch_eval(std::string_view id);
  void remove_eval(std::string_view id);
  void drop_evals(const std::vector<Object<schema::Evaluation>>& evals);
  Result<std::vector<Object<schema::Evaluation>>> evals_to_delete(
      schema::EvalDelete::Reader command);
  void eval_delete(schema::EvalDelete::Reader command);
  void jobs_reap(schema::JobsReap::Reader command);
  void reap(schema::Reap::Reader command);

  // apply_alloc.cpp
  void alloc_client_update(schema::AllocClientUpdate::Reader command);
  void update_from_client(AllocView update, std::set<std::string>& nodes);
  void alloc_transition(schema::AllocTransition::Reader command);
  void put_alloc(const AllocRef* before, AllocRow row, Author author);
  void remove_alloc(std::string_view id);
  void note_alloc_change(const AllocRow& row, Author author);

  // apply_plan.cpp
  void plan_results(schema::PlanResults::Reader command);
  std::optional<Error> check_plan(schema::PlanResult::Reader plan);
  void plan_result(schema::PlanResult::Reader plan);
  void put_plan_evals(capnp::List<schema::Evaluation>::Reader evals);
  void place(schema::Allocation::Reader planned, schema::PlanResult::Reader plan);
  void link_previous(AllocView alloc);
  void end_alloc(AllocView change, schema::PlanResult::Reader plan, schema::DesiredStatus desired);
  const Object<schema::Job>* find_version(AllocView alloc);
  Object<schema::AllocMetric> plan_metric(AllocBuilder alloc, schema::PlanResult::Reader plan);

  // apply_deployment.cpp
  void deployment_status_update(schema::DeploymentStatusUpdate::Reader command);
  void deployment_promotion(schema::DeploymentPromotion::Reader command);
  void deployment_alloc_health(schema::DeploymentAllocHealth::Reader command);
  std::optional<Error> check_active(std::string_view deployment_id) const;
  std::optional<Error> check_health_ids(schema::DeploymentAllocHealth::Reader command) const;
  void put_deployment(Object<schema::Deployment> deployment);
  void upsert_deployment(schema::Deployment::Reader deployment);
  void begin_deployment(schema::Deployment::Reader deployment, JobReader job);
  void update_deployment(schema::DeploymentUpdate::Reader update);
  void remove_deployment(std::string_view id);
  void set_health(std::string_view alloc_id, bool healthy, std::int64_t timestamp);
  std::vector<AllocRef> healthy_canaries(schema::Deployment::Reader deployment,
                                         const std::set<std::string, std::less<>>& groups) const;
  void promote(const AllocRef& canary);
  bool is_promoted(AllocView alloc) const;
  void count_in_deployment(const AllocView* before, AllocBuilder after);
  DeploymentCounts* deployment_counts(std::string_view deployment_id, std::string_view group);
  void settle_deployments();

  // kinds/apply_acl.cpp
  std::optional<Error> check_new_token(schema::AclToken::Reader token) const;
  void acl_bootstrap(schema::AclBootstrapApply::Reader command);
  void acl_token_upsert(schema::AclTokenUpsert::Reader command);
  void acl_token_delete(capnp::Text::Reader accessor);
  void acl_one_time_token_exchange(schema::AclOneTimeTokenExchange::Reader command);
  void acl_expire(schema::AclExpire::Reader command);
  void acl_reseal(schema::AclReseal::Reader command);
  void remove_acl_token(const Object<schema::AclToken>& token);
  void drop_one_time_tokens(std::string_view accessor);
  template <class Kind>
  void reseal(capnp::List<schema::AclReseal::Sealed>::Reader all);

  // kinds/apply_shared.cpp
  void shared_rows(schema::SharedRows::Reader command);
  template <class Kind>
  void copy_rows(schema::SharedRows::Reader command);
  template <class Kind>
  void copy_row(std::span<const std::byte> bytes);
  template <class Kind>
  void drop_copy(std::string_view key);

  // apply_node.cpp
  void node_register(schema::NodeRegister::Reader command);
  void node_status_update(schema::NodeStatusUpdate::Reader command);
  void node_eligibility_update(schema::NodeEligibilityUpdate::Reader command);
  void node_drain_update(schema::NodeDrainUpdate::Reader command);
  void node_events_upsert(schema::NodeEventsUpsert::Reader command);
  void node_deregister(schema::NodeDeregister::Reader command);
  void append_event(schema::Node::Builder node, schema::NodeEvent::Reader event);
  void note_alloc_update(std::string_view node_id);
  void note_controllers(schema::Node::Reader node);
  bool is_given_up(std::string_view node_id) const;
  const Object<schema::Node>* find_node(std::string_view id);

  // apply_service.cpp
  using ServiceMap = Objects<schema::ServiceRegistration>;
  void service_upsert(schema::ServiceUpsert::Reader command);
  void service_delete(schema::ServiceDelete::Reader command);
  void node_services(schema::NodeServices::Reader command);
  bool may_offer(schema::ServiceRegistration::Reader service) const;
  void put_service(schema::ServiceRegistration::Reader service);
  void remove_services(const ServiceMap& index, std::string_view owner);

  // apply_variable.cpp
  void variable_apply(schema::VariableApply::Reader command);
  void variable_locking(schema::VariableLocking::Reader command);
  void lock_variable(schema::VariableLocking::Reader command,
                     const Object<schema::Variable>& stored);
  void release_variable(schema::VariableLocking::Reader command,
                        const Object<schema::Variable>& stored);
  void refuse_locked(schema::Variable::Reader asked, bool is_locked);
  std::optional<Error> exceeds_quota(schema::Variable::Reader variable,
                                     std::string_view region,
                                     const Object<schema::Variable>& stored) const;
  void refuse_variable(schema::VariableApply::Reader command,
                       const Object<schema::Variable>& stored);
  void root_key_upsert(schema::RootKeyUpsert::Reader command);
  void step_back(const Object<schema::RootKey>& key, bool rekey);
  void put_root_key(const Object<schema::RootKey>& key);
  void root_key_delete(capnp::Text::Reader id);
  void root_key_forced_delete(capnp::Text::Reader id);
  void remove_root_key(capnp::Text::Reader id, bool is_forced);

  // volumes/apply_volume.cpp
  void csi_register(schema::CsiVolumeRegister::Reader command);
  void csi_deregister(schema::CsiVolumeDeregister::Reader command);
  void csi_claim(schema::CsiClaimUpdate::Reader command);
  std::optional<Error> check_claimant(schema::CsiClaimUpdate::Entry::Reader entry) const;

  // apply_restore.cpp
  void restore_begin(capnp::Text::Reader id);
  void restore_rows(schema::RestoreRows::Reader command);
  void restore_finish(schema::RestoreFinish::Reader command);
  Result<Tables> restored_tables(std::string_view id, std::uint64_t rows) const;

  Tables& t_;
  const Index index_;
  std::vector<Change>& changes_;
  std::vector<Event>* events_;
  Outcome& outcome_;
  std::string_view event_type_;  ///< Empty: the command makes no events.

  std::map<std::string, Summary, std::less<>> summaries_;  ///< By namespace\0job id.
  std::map<std::string, std::map<std::string, DeploymentCounts, std::less<>>, std::less<>>
      deployments_;
  std::map<std::string, bool, std::less<>> touched_jobs_;  ///< True: evaluations were removed.
  std::set<std::string, std::less<>> freed_nodes_;
  std::set<std::string> opened_quotas_;
  /// Where in `changes_` each table's last one of this command stands, counted from 1.
  std::array<std::size_t, static_cast<std::size_t>(Table::applied) + 1> last_changed_{};
  std::map<std::string, Object<schema::AllocMetric>> plan_metrics_;
  std::map<std::string, std::uint32_t> plan_metric_numbers_;
  Released released_;
  Object<schema::Job> last_version_;
};

}  // namespace nomad::state
