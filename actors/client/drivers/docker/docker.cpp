#include "actors/client/drivers/docker/docker.hpp"

#include <optional>

#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/docker/health.hpp"
#include "actors/client/drivers/docker/tasks.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

using driver::Answered;
using Request = schema::plugin::DriverRequest;

constexpr ConfigFieldSpec auth_fields[] = {{"username", ConfigKind::TEXT},
                                           {"password", ConfigKind::TEXT},
                                           {"email", ConfigKind::TEXT},
                                           {"server_address", ConfigKind::TEXT}};

constexpr ConfigFieldSpec device_fields[] = {{"host_path", ConfigKind::TEXT},
                                             {"container_path", ConfigKind::TEXT},
                                             {"cgroup_permissions", ConfigKind::TEXT}};

constexpr ConfigFieldSpec healthcheck_fields[] = {{"disable", ConfigKind::BOOLEAN}};

constexpr ConfigFieldSpec logging_fields[]
    = {{"type", ConfigKind::TEXT}, {"driver", ConfigKind::TEXT}, {"config", ConfigKind::MAP}};

constexpr ConfigFieldSpec bind_fields[] = {{"propagation", ConfigKind::TEXT}};

constexpr ConfigFieldSpec tmpfs_fields[]
    = {{"size", ConfigKind::NUMBER}, {"mode", ConfigKind::NUMBER}};

constexpr ConfigFieldSpec volume_driver_fields[]
    = {{"name", ConfigKind::TEXT}, {"options", ConfigKind::MAP}};

constexpr ConfigFieldSpec volume_fields[]
    = {{"no_copy", ConfigKind::BOOLEAN},
       {"labels", ConfigKind::MAP},
       {"driver_config", ConfigKind::BLOCK, false, volume_driver_fields}};

constexpr ConfigFieldSpec mount_fields[]
    = {{"type", ConfigKind::TEXT},
       {"target", ConfigKind::TEXT},
       {"source", ConfigKind::TEXT},
       {"readonly", ConfigKind::BOOLEAN},
       {"bind_options", ConfigKind::BLOCK, false, bind_fields},
       {"tmpfs_options", ConfigKind::BLOCK, false, tmpfs_fields},
       {"volume_options", ConfigKind::BLOCK, false, volume_fields}};

/// Every key of Nomad's driver; docs/drivers.md says what becomes of each.
constexpr ConfigFieldSpec docker_fields[] = {
    {"image", ConfigKind::TEXT, true},
    {"advertise_ipv6_address", ConfigKind::BOOLEAN},
    {"args", ConfigKind::TEXTS},
    {"auth", ConfigKind::BLOCK, false, auth_fields},
    {"auth_soft_fail", ConfigKind::BOOLEAN},
    {"cap_add", ConfigKind::TEXTS},
    {"cap_drop", ConfigKind::TEXTS},
    {"command", ConfigKind::TEXT},
    {"cpu_cfs_period", ConfigKind::NUMBER},
    {"cpu_hard_limit", ConfigKind::BOOLEAN},
    {"cpuset_cpus", ConfigKind::TEXT},
    {"devices", ConfigKind::BLOCKS, false, device_fields},
    {"dns_options", ConfigKind::TEXTS},
    {"dns_search_domains", ConfigKind::TEXTS},
    {"dns_servers", ConfigKind::TEXTS},
    {"entrypoint", ConfigKind::TEXTS},
    {"extra_hosts", ConfigKind::TEXTS},
    {"force_pull", ConfigKind::BOOLEAN},
    {"group_add", ConfigKind::TEXTS},
    {"healthchecks", ConfigKind::BLOCK, false, healthcheck_fields},
    {"hostname", ConfigKind::TEXT},
    {"image_pull_timeout", ConfigKind::DURATION},
    {"init", ConfigKind::BOOLEAN},
    {"interactive", ConfigKind::BOOLEAN},
    {"ipc_mode", ConfigKind::TEXT},
    {"ipv4_address", ConfigKind::TEXT},
    {"ipv6_address", ConfigKind::TEXT},
    {"isolation", ConfigKind::TEXT},
    {"labels", ConfigKind::MAP},
    {"load", ConfigKind::TEXT},
    {"logging", ConfigKind::BLOCK, false, logging_fields},
    {"mac_address", ConfigKind::TEXT},
    {"memory_hard_limit", ConfigKind::NUMBER},
    {"mount", ConfigKind::BLOCKS, false, mount_fields},
    {"mounts", ConfigKind::BLOCKS, false, mount_fields},
    {"network_aliases", ConfigKind::TEXTS},
    {"network_mode", ConfigKind::TEXT},
    {"pid_mode", ConfigKind::TEXT},
    {"pids_limit", ConfigKind::NUMBER},
    {"port_map", ConfigKind::MAP},
    {"ports", ConfigKind::TEXTS},
    {"privileged", ConfigKind::BOOLEAN},
    {"readonly_rootfs", ConfigKind::BOOLEAN},
    {"runtime", ConfigKind::TEXT},
    {"security_opt", ConfigKind::TEXTS},
    {"shm_size", ConfigKind::NUMBER},
    {"storage_opt", ConfigKind::MAP},
    {"sysctl", ConfigKind::MAP},
    {"tty", ConfigKind::BOOLEAN},
    {"ulimit", ConfigKind::MAP},
    {"userns_mode", ConfigKind::TEXT},
    {"uts_mode", ConfigKind::TEXT},
    {"volume_driver", ConfigKind::TEXT},
    {"volumes", ConfigKind::TEXTS},
    {"work_dir", ConfigKind::TEXT},
};

Object<schema::plugin::DriverDescription> describe_docker() {
  Draft<schema::plugin::DriverDescription> draft;
  auto able = draft->initCapabilities();
  able.setFsIsolation("image");
  able.setSendSignals(true);
  able.setSecretsInMemory(true);
  able.setExec(true);
  able.setMounts(true);
  write_fields(docker_fields, draft->initConfig(std::size(docker_fields)));
  return draft.freeze();
}

class DockerState {
public:
  static constexpr const char* name = "docker_driver";

  explicit DockerState(Driver::pointer self) : self_{self} {}

  void init(const DriverOptions& options, const EngineFactory& make_engine) {
    // So the manager tells drivers that are not allowed here.
    const auto enabled = options.config.find("enabled");
    is_retired_ = enabled != options.config.end() && enabled->second == "false";
    auto config = options.config;
    config.erase("enabled");
    auto settings = docker::read_agent_settings(config);
    if (is_retired_)
      problem_ = "disabled";
    else if (!settings)
      problem_ = "plugin \"docker\": " + settings.error().what;
    context_.emplace(self_, options, settings ? *settings : docker::AgentSettings{}, make_engine);
    tasks_.emplace(*context_);
    health_.emplace(*context_, [this] { came(); });
  }

  actor::Answer<Answered> answer(Request::Reader request) {
    switch (request.which()) {
      case Request::DESCRIBE:
        return driver::described(description_);
      case Request::FINGERPRINT:
        if (!problem_.empty())
          return driver::fingerprinted(driver::make_fingerprint(!is_retired_, false, problem_));
        return health_->ask();
      case Request::START_TASK:
        if (!problem_.empty()) return driver::failed({Errc::rejected, problem_});
        return tasks_->start(request.getStartTask());
      case Request::RECOVER_TASK:
        return tasks_->recover(request.getRecoverTask());
      case Request::STOP_TASK:
        return tasks_->stop(request.getStopTask());
      case Request::DESTROY_TASK:
        return tasks_->destroy(driver::read_id(request.getDestroyTask()));
      case Request::END_OTHERS:
        return end_others(request.getEndOthers());
      case Request::SIGNAL_TASK:
        return tasks_->signal(request.getSignalTask());
      case Request::TASK_STATS:
        return tasks_->usage(request.getTaskStats());
      case Request::EXEC_TASK:
        return tasks_->exec(request.getExecTask());
    }
    return driver::unknown();
  }

private:
  actor::Answer<Answered> end_others(capnp::List<schema::plugin::TaskId>::Reader wanted) {
    std::set<driver::TaskId> kept;
    for (const auto id : wanted)
      kept.insert(driver::read_id(id));
    tasks_->release_left_binds(kept);
    // Of an engine that never was here there is nothing to be found.
    if (!is_retired_ && !health_->is_there()) {
      others_ = std::move(kept);
      return driver::done();
    }
    auto answer = self_->make_response_promise<Answered>();
    tasks_->end_others(kept, [answer](const Result<>& ended) {
      answer.deliver(ended ? driver::done()
                           : driver::failed(ended.error(), docker::is_away(ended.error())));
    });
    return answer;
  }

  /// The engine has come.
  void came() {
    if (others_) {
      const auto kept = *std::exchange(others_, {});
      tasks_->end_others(kept, [](const Result<>& ended) {
        if (!ended)
          log::warn("client", "what earlier agents left is not ended",
                    {{"driver", "docker"}, {"error", ended.error()}});
      });
    }
    if (!context_->settings().ends_dangling || std::exchange(is_reconciling_, true)) return;
    const auto& settings = context_->settings();
    reconcile_after(std::max(settings.dangling_period, settings.creation_grace));
  }

  void reconcile_after(Nanoseconds pause) {
    context_->after(pause, [this] {
      if (health_->is_there()) tasks_->end_dangling();
      reconcile_after(context_->settings().dangling_period);
    });
  }

  Driver::pointer self_;
  const Object<schema::plugin::DriverDescription> description_ = describe_docker();
  bool is_retired_ = false;
  std::string problem_;  ///< Why nothing can be run here; empty: nothing is known.
  std::optional<DockerContext> context_;
  std::optional<DockerTasks> tasks_;
  std::optional<DockerHealth> health_;
  std::optional<std::set<driver::TaskId>> others_;  ///< To be kept, when the engine comes.
  bool is_reconciling_ = false;
};

Driver::behavior_type docker_driver_actor(Driver::stateful_pointer<DockerState> self,
                                          const DriverOptions& options,
                                          const EngineFactory& make_engine) {
  self->state.init(options, make_engine);
  return {
      [self](const driver::Ask& msg) { return self->state.answer(*msg.request); },
  };
}

}  // namespace

DriverEntry docker_entry(EngineFactory make_engine) {
  return {.spawn = [make_engine = std::move(make_engine)](const actor::Owner& owner,
                                                          const DriverOptions& options) -> Driver {
    return actor::spawn(owner, docker_driver_actor, options, make_engine);
  }};
}

}  // namespace nomad::client
