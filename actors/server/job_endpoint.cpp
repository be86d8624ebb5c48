#include "actors/server/job_endpoint.hpp"

#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/server/job_registrar.hpp"
#include "actors/server/writes.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/gc_rules.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/restore_commands.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/scheduler/dry_run.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using namespace server_api;

using EndpointSelf = actor::WithInternal<ServerApi, void(WriteDone)>;

constexpr auto node_timeout = 30s;

/// Of a restore, in the log and not yet applied.
constexpr std::size_t portions_at_once = 8;

struct EndpointState {
  static constexpr const char* name = "job_endpoint";

  using Self = EndpointSelf::stateful_pointer<EndpointState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<Writes> writes;
  JobEndpointOptions options;
  Random random{0};

  state::Snapshot snapshot() const { return store->snapshot(); }

  cluster::EvalSeed seed() { return {unix_now(), &random}; }

  /// Writes `command` and answers with what `reply` makes of the written entry.
  template <class Reply, class Make>
  actor::Answer<Reply> write(const Object<schema::Command>& command, Make reply) {
    auto promise = self->make_response_promise<Reply>();
    writes->propose(EndpointSelf{self}, command,
                    [promise, reply](Result<Committed> written) mutable {
                      if (written)
                        promise.deliver(reply(*written));
                      else
                        promise.deliver(written.error());
                    });
    return promise;
  }

  actor::Answer<server_api::Written> write_plain(const Object<schema::Command>& command) {
    return write<server_api::Written>(
        command, [](const Committed& written) { return server_api::Written{written.index}; });
  }

  actor::Answer<JobRegistered> write_job(Result<cluster::Decision> decision) {
    if (!decision) return decision.error();
    if (!decision->command) return job_unchanged(*decision, snapshot().index());
    const auto command = std::exchange(decision->command, {});
    return write<JobRegistered>(command, [made = std::move(*decision)](const Committed& written) {
      return job_written(made, written);
    });
  }

  actor::Answer<DeploymentChanged> write_deployment(Result<cluster::DeploymentDecision> decision) {
    if (!decision) return decision.error();
    return write<DeploymentChanged>(
        decision->command, [eval_id = decision->eval_id,
                            reverted_to = decision->reverted_to](const Committed& written) {
          return DeploymentChanged{eval_id, eval_id.empty() ? 0 : written.index, written.index,
                                   reverted_to, written.index};
        });
  }

  actor::Answer<JobDispatched> dispatch(const DispatchJob& msg) {
    auto decision = cluster::decide_dispatch(snapshot(),
                                             {.ns = msg.ns,
                                              .job_id = msg.job_id,
                                              .payload = msg.payload,
                                              .meta = msg.meta,
                                              .idempotency_token = msg.idempotency_token,
                                              .id_prefix = msg.id_prefix},
                                             seed());
    if (!decision) return decision.error();
    if (!decision->command)
      return JobDispatched{decision->job_id, {}, 0, decision->job_modify_index, snapshot().index()};
    return write<JobDispatched>(decision->command, [made = *decision](const Committed& written) {
      return JobDispatched{made.job_id, made.eval_id, written.index, written.index, written.index};
    });
  }

  actor::Answer<server_api::Written> delete_evals(const std::vector<std::string>& ids) {
    const auto state = snapshot();
    if (!state.scheduler_configuration()->getPauseEvalBroker())
      return Error{Errc::rejected,
                   "eval broker is enabled; eval broker must be paused to "
                   "delete evals"};
    if (ids.size() > cluster::most_reaped_ids)
      return Error{Errc::invalid_argument,
                   fmt::format("request includes {} evaluation IDs, must be {} or fewer",
                               ids.size(), cluster::most_reaped_ids)};
    for (const auto& id : ids)
      if (!state.eval(id)) return Error{Errc::rejected, "eval not found"};
    return write_plain(make_command([&](schema::Command::Builder command) {
      auto list = command.initReap().initEvaluationIds(static_cast<unsigned>(ids.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.set(i, text(ids[i]));
    }));
  }

  actor::Answer<server_api::Written> collect_garbage() {
    const auto commands
        = cluster::collect_garbage(snapshot(), cluster::GcThresholds::none(), unix_now());
    if (commands.empty()) return server_api::Written{snapshot().index()};
    for (std::size_t i = 0; i + 1 < commands.size(); ++i)  // in order: the last one answers for all
      writes->propose(EndpointSelf{self}, commands[i], [](const Result<Committed>& written) {
        if (!written) log::warn("core_gc", "{}", written.error().what);
      });
    return write_plain(commands.back());
  }

  /// Written ahead of what stops the allocations: the log keeps the order.
  void skip_delays(const std::string& ns, const std::string& job_id) {
    const auto command = cluster::decide_skip_delays(snapshot(), ns, job_id);
    if (!command) return;
    writes->propose(EndpointSelf{self}, command, [](const Result<Committed>& written) {
      if (!written) log::warn("job_endpoint", "skipping delays: {}", written.error().what);
    });
  }

  actor::Answer<SchedulerConfigured> configure(const SetSchedulerConfiguration& msg) {
    const auto stored = snapshot().scheduler_configuration();
    if (msg.check_index && stored->getModifyIndex() != *msg.check_index)
      return SchedulerConfigured{false, snapshot().index()};
    const auto command = make_command([&](schema::Command::Builder command) {
      command.setSchedulerConfiguration(*msg.configuration);
    });
    return write<SchedulerConfigured>(command, [](const Committed& written) {
      return SchedulerConfigured{true, written.index};
    });
  }

  Result<JobPlanned> plan(const Object<schema::Job>& job) {
    const auto state = snapshot();
    const auto stored = state.job(view(job->getNamespace()), view(job->getId()));
    const bool is_changed = !stored || !cluster::same_specification(*stored, *job);
    auto run = scheduler::dry_run(state, job, is_changed, unix_now(), random.next());
    if (!run) return run.error();
    JobPlanned planned;
    planned.job_modify_index = run->job_modify_index;
    planned.stored = std::move(run->stored);
    for (const auto& [group, updates] : run->desired_updates)
      planned.desired_updates.emplace_back(
          group, DesiredUpdates{.ignore = updates.ignore,
                                .place = updates.place,
                                .migrate = updates.migrate,
                                .stop = updates.stop,
                                .in_place_update = updates.in_place_update,
                                .destructive_update = updates.destructive_update,
                                .canary = updates.canary,
                                .preemptions = updates.preemptions});
    planned.preempted = std::move(run->preempted);
    planned.failed_groups = std::move(run->failed_groups);
    planned.created_evals = std::move(run->created_evals);
    planned.index = state.index();
    return planned;
  }

  actor::Answer<SealedWritten> write_sealed(const Object<schema::Command>& command) {
    if (!command || !cluster::is_sealed_command(command->which()))
      return Error{Errc::invalid_argument, "only sealed commands come ready made"};
    auto promise = self->make_response_promise<SealedWritten>();
    writes->propose_raw(
        EndpointSelf{self}, command, [promise](const Result<raft::Applied>& applied) mutable {
          if (!applied) {
            promise.deliver(applied.error());
            return;
          }
          const auto& error = applied->outcome.error;
          const auto outcome
              = std::static_pointer_cast<const state::Outcome>(applied->outcome.value);
          const bool conflict = error && outcome && outcome->variable;
          if (error && !conflict)
            promise.deliver(*error);
          else
            promise.deliver(SealedWritten{conflict,
                                          outcome ? outcome->variable : Object<schema::Variable>{},
                                          index_of(*applied)});
        });
    return promise;
  }

  /// A restore under way. A few portions at a time: a large state must not fill the log's queue.
  struct Restoring {
    std::shared_ptr<const std::vector<Object<schema::Command>>> commands;
    actor::Promise<server_api::Written> promise;
    std::size_t next = 0;
    std::size_t in_flight = 0;
    bool failed = false;
  };

  actor::Answer<server_api::Written> restore(const RestoreState& msg) {
    if (!msg.commands || msg.commands->empty())
      return Error{Errc::invalid_argument, "there is nothing to restore"};
    auto promise = self->make_response_promise<server_api::Written>();
    restore_more(std::make_shared<Restoring>(Restoring{msg.commands, promise}));
    return promise;
  }

  /// The last command replaces the state: it is written when all others are applied.
  void restore_more(const std::shared_ptr<Restoring>& restoring) {
    auto& now = *restoring;
    while (!now.failed && now.next < now.commands->size() && now.in_flight < portions_at_once) {
      const bool is_last = now.next + 1 == now.commands->size();
      if (is_last && now.in_flight > 0) return;
      ++now.in_flight;
      writes->propose(EndpointSelf{self}, (*now.commands)[now.next++],
                      [this, restoring, is_last](const Result<Committed>& written) {
                        --restoring->in_flight;
                        if (restoring->failed) return;
                        restoring->failed = written.has_error();
                        if (!written) {
                          abandon(*restoring);
                          restoring->promise.deliver(written.error());
                        } else if (is_last)
                          restoring->promise.deliver(server_api::Written{written->index});
                        else
                          restore_more(restoring);
                      });
    }
  }

  /// Drops what it has kept aside. If this server does not lead any more, the next leader does.
  void abandon(const Restoring& restoring) {
    const auto id = restoring.commands->front()->getRestoreBegin();
    writes->propose(EndpointSelf{self}, cluster::abandon_restore(view(id)),
                    [](const Result<Committed>& dropped) {
                      if (!dropped && !cluster::is_abandoned(dropped.error()))
                        log::warn("server", "the next leader has to drop the rows of a restore: {}",
                                  dropped.error().what);
                    });
  }

  template <class Request>
  actor::Answer<NodeChanged> forward(const Request& msg) {
    auto promise = self->make_response_promise<NodeChanged>();
    self->request(options.nodes, node_timeout, msg)
        .then([promise](const NodeChanged& changed) mutable { promise.deliver(changed); },
              [promise](const Error& err) mutable { promise.deliver(err); });
    return promise;
  }
};

EndpointSelf::behavior_type job_endpoint_actor(EndpointState::Self self,
                                               std::shared_ptr<state::Store> store,
                                               raft::Proposer proposer,
                                               JobEndpointOptions options) {
  auto* state = &self->state;
  state->self = self;
  state->store = std::move(store);
  state->writes.emplace(std::move(proposer));
  state->random = Random{options.random_seed};
  state->options = std::move(options);

  return {
      [state](const RegisterJob& msg) {
        return state->write_job(decide_register(state->snapshot(), msg, state->seed()));
      },
      [state](const DeregisterJob& msg) {
        if (msg.no_shutdown_delay) state->skip_delays(msg.ns, msg.job_id);
        return state->write_job(cluster::decide_deregister(
            state->snapshot(), msg.ns, msg.job_id, msg.purge, msg.eval_priority, state->seed()));
      },
      [state](const EvaluateJob& msg) {
        return state->write_job(cluster::decide_evaluate(state->snapshot(), msg.ns, msg.job_id,
                                                         msg.force_reschedule, state->seed()));
      },
      [state](const RevertJob& msg) {
        return state->write_job(cluster::decide_revert(state->snapshot(), msg.ns, msg.job_id,
                                                       msg.version, msg.enforce_prior_version,
                                                       state->seed()));
      },
      [state](const ScaleJob& msg) {
        return state->write_job(cluster::decide_scale(state->snapshot(), msg.ns, msg.job_id,
                                                      msg.group, msg.count, state->seed()));
      },
      [state](const SetJobStability& msg) -> actor::Answer<server_api::Written> {
        if (!state->snapshot().job_version(msg.ns, msg.job_id, msg.version))
          return Error{Errc::rejected,
                       fmt::format("job \"{}\" in namespace \"{}\" at version {} not found",
                                   msg.job_id, msg.ns, msg.version)};
        return state->write_plain(make_command([&](schema::Command::Builder command) {
          auto stability = command.initJobStability();
          stability.setNamespace(text(msg.ns));
          stability.setJobId(text(msg.job_id));
          stability.setVersion(msg.version);
          stability.setStable(msg.stable);
        }));
      },
      [state](const DispatchJob& msg) { return state->dispatch(msg); },
      [state](const ForcePeriodic& msg) -> actor::Answer<EvalCreated> {
        auto decision
            = cluster::decide_periodic_launch(state->snapshot(), msg.ns, msg.job_id, state->seed());
        if (!decision) return decision.error();
        return state->write<EvalCreated>(decision->command,
                                         [id = decision->eval_id](const Committed& written) {
                                           return EvalCreated{id, written.index};
                                         });
      },
      [state](const PlanJob& msg) { return actor::answer(state->plan(msg.job)); },
      [state](const StopAlloc& msg) -> actor::Answer<EvalCreated> {
        auto decision = cluster::decide_alloc_stop(state->snapshot(), msg.alloc_id,
                                                   msg.no_shutdown_delay, state->seed());
        if (!decision) return decision.error();
        return state->write<EvalCreated>(decision->command,
                                         [id = decision->eval_id](const Committed& written) {
                                           return EvalCreated{id, written.index};
                                         });
      },
      [state](const DeleteEvals& msg) { return state->delete_evals(msg.eval_ids); },
      [state](const SetNodeEligibility& msg) { return state->forward(msg); },
      [state](const EvaluateNode& msg) { return state->forward(msg); },
      [state](const PurgeNode& msg) { return state->forward(msg); },
      [state](const FailDeployment& msg) {
        return state->write_deployment(
            cluster::decide_fail(state->snapshot(), msg.deployment_id, state->seed()));
      },
      [state](const PauseDeployment& msg) {
        return state->write_deployment(
            cluster::decide_pause(state->snapshot(), msg.deployment_id, msg.pause, state->seed()));
      },
      [state](const PromoteDeployment& msg) {
        return state->write_deployment(cluster::decide_promote(state->snapshot(), msg.deployment_id,
                                                               msg.all, msg.groups, state->seed()));
      },
      [state](const SetAllocHealth& msg) {
        return state->write_deployment(cluster::decide_alloc_health(
            state->snapshot(), msg.deployment_id, msg.healthy, msg.unhealthy, state->seed()));
      },
      [state](CollectGarbage) { return state->collect_garbage(); },
      [state](const SetSchedulerConfiguration& msg) { return state->configure(msg); },
      [state](const PutNamespace& msg) {
        return state->write_plain(make_command(
            [&](schema::Command::Builder command) { command.setNamespaceUpsert(*msg.ns); }));
      },
      [state](const DeleteNamespace& msg) {
        return state->write_plain(make_command(
            [&](schema::Command::Builder command) { command.setNamespaceDelete(text(msg.name)); }));
      },
      [state](const SetAutopilot& msg) {
        return state->write_plain(make_command([&](schema::Command::Builder command) {
          auto update = command.initAutopilotUpdate();
          update.setConfiguration(*msg.configuration);
          update.setCheck(msg.check_index.has_value());
          if (msg.check_index) update.getConfiguration().setModifyIndex(*msg.check_index);
        }));
      },
      [state](const WriteSealed& msg) { return state->write_sealed(msg.command); },
      [state](const RestoreState& msg) { return state->restore(msg); },
      [state](const PutNodePool& msg) {
        return state->write_plain(make_command(
            [&](schema::Command::Builder command) { command.setNodePoolUpsert(*msg.pool); }));
      },
      [state](const DeleteNodePool& msg) {
        return state->write_plain(make_command(
            [&](schema::Command::Builder command) { command.setNodePoolDelete(text(msg.name)); }));
      },
      [state](const WriteDone& msg) { state->writes->finish(msg); },
  };
}

}  // namespace

ServerApi spawn_job_endpoint(actor::System& system,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             JobEndpointOptions options) {
  return actor::spawn(system, job_endpoint_actor, std::move(store), std::move(proposer),
                      std::move(options));
}

}  // namespace nomad::server
