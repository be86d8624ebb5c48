#include "actors/client/hooks/csi_hooks.hpp"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "actors/client/volumes/mount_points.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/state/volumes/claims.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

constexpr auto manager_patience = std::chrono::minutes{9};  ///< Below that of the phases.
constexpr auto resource_patience = std::chrono::minutes{1};
constexpr auto mount_patience = std::chrono::hours{25};  ///< Claims are tried for a day.
constexpr const char* endpoint_variable = "CSI_ENDPOINT";
constexpr const char* socket_file = "csi.sock";

std::optional<schema::Task::Reader> csi_task_of(const HookScope& scope) {
  return workload::find_task(*scope.alloc, *scope.job, view(scope.target->getTask()));
}

std::optional<schema::TaskGroup::Reader> csi_group_of(const HookScope& scope) {
  return workload::find_group(*scope.job, scope.alloc->task_group());
}

bool is_plugin(const HookScope& scope) {
  const auto task = csi_task_of(scope);
  return task && task->hasCsiPluginConfig() && task->getCsiPluginConfig().getId().size() > 0;
}

bool is_csi(schema::VolumeRequest::Reader volume) {
  return view(volume.getType()) == "csi";
}

bool has_csi_volumes(const HookScope& scope) {
  const auto group = csi_group_of(scope);
  if (!group) return false;
  for (const auto entry : group->getVolumes())
    if (is_csi(entry.getValue())) return true;
  return false;
}

/// The group's volume that a task mounts, if it is of CSI.
std::optional<schema::VolumeRequest::Reader> csi_volume_of(const HookScope& scope,
                                                           schema::VolumeMount::Reader mount) {
  const auto group = csi_group_of(scope);
  if (!group) return std::nullopt;
  for (const auto entry : group->getVolumes())
    if (entry.getKey() == mount.getVolume() && is_csi(entry.getValue())) return entry.getValue();
  return std::nullopt;
}

bool mounts_csi_volumes(const HookScope& scope) {
  const auto task = csi_task_of(scope);
  if (!task) return false;
  for (const auto mount : task->getVolumeMounts())
    if (csi_volume_of(scope, mount)) return true;
  return false;
}

// -- plugins -------------------------------------------------------------------------------------

class CsiPluginHookState {
public:
  static constexpr const char* name = "csi_plugin_hook";

  explicit CsiPluginHookState(Hook::pointer self) : self_{self} {}

  void init(CsiHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    const auto task = csi_task_of(scope_);
    switch (msg.request->getPhase()) {
      case HookPhase::PRESTART:
        if (!task) return hook::Answered{};
        return prepare(*task);
      case HookPhase::POSTSTART:
        if (task) self_->send(parts_.volumes, volume_manager::Started{plugin_of(*task), agent_});
        return hook::Answered{};
      case HookPhase::EXITED:
        self_->send(parts_.volumes, volume_manager::Exited{key()});
        return hook::Answered{};
      case HookPhase::STOP:
        return stop();
      default:
        return hook::Answered{};
    }
  }

private:
  std::string key() const {
    return fmt::format("{}/{}", view(scope_.target->getAllocId()), view(scope_.target->getTask()));
  }

  std::string socket_directory() const {
    return fmt::format("{}/plugins/{}/{}", parts_.root, view(scope_.target->getAllocId()),
                       view(scope_.target->getTask()));
  }

  bool is_isolated() const { return view(scope_.target->getDriver().getFsIsolation()) != "none"; }

  workload::PluginTask plugin_of(schema::Task::Reader task) const {
    const auto config = task.getCsiPluginConfig();
    const auto type = copy(config.getType());
    workload::PluginTask plugin{
        .alloc = copy(scope_.target->getAllocId()),
        .task = copy(scope_.target->getTask()),
        .id = copy(config.getId()),
        .is_node = type != "controller",
        .is_controller = type != "node",
        .socket = fmt::format("{}/{}", socket_directory(), socket_file),
        .directory = plugin_directory(parts_.root, type, copy(config.getId())),
        .base = copy(config.getStagePublishBaseDir()),
        .health_timeout = Nanoseconds{config.getHealthTimeout()}};
    // A task that sees the host's files has them where they are.
    if (!is_isolated()) plugin.base = plugin.directory;
    return plugin;
  }

  actor::Answer<hook::Answered> prepare(schema::Task::Reader task) {
    const auto plugin = plugin_of(task);
    auto promise = self_->make_response_promise<hook::Answered>();
    const auto answer = answer_of(task, plugin);
    self_
        ->request(parts_.steps, actor::infinite,
                  blocking::make(
                      [directory = plugin.directory, sockets = socket_directory()]() -> Result<> {
                        NOMAD_TRY(make_plugin_directory(directory));
                        return make_directory(sockets);
                      }))
        .then([promise, answer](blocking::Outcome&) { promise.deliver(hook::Answered{answer}); },
              [promise](const Error& err) {
                promise.deliver(err.within("making directories of the CSI plugin"));
              });
    return promise;
  }

  Object<schema::plugin::HookAnswer> answer_of(schema::Task::Reader task,
                                               const workload::PluginTask& plugin) const {
    Draft<schema::plugin::HookAnswer> draft;
    const auto config = task.getCsiPluginConfig();
    bool has_endpoint = false;
    for (const auto entry : task.getEnv())
      has_endpoint = has_endpoint || view(entry.getKey()) == endpoint_variable;
    const auto seen = is_isolated() ? fmt::format("{}/{}", view(config.getMountDir()), socket_file)
                                    : plugin.socket;
    if (!has_endpoint)
      fill_entries(draft->initEnvironment(1),
                   std::map<std::string, std::string>{{endpoint_variable, "unix://" + seen}});
    if (!scope_.target->getDriver().getMounts()) return draft.freeze();
    const std::vector<std::pair<std::string, std::string>> shown{
        {copy(config.getMountDir()), socket_directory()},
        {plugin.base, plugin.directory},
        {"/dev", "/dev"}};
    auto mounts = draft->initMounts(static_cast<unsigned>(shown.size()));
    for (unsigned i = 0; i < mounts.size(); ++i) {
      mounts[i].setTaskPath(text(shown[i].first));
      mounts[i].setHostPath(text(shown[i].second));
      mounts[i].setPropagation(i < 2 ? "bidirectional" : "private");
    }
    return draft.freeze();
  }

  actor::Answer<hook::Answered> stop() {
    auto promise = self_->make_response_promise<hook::Answered>();
    const auto remove = [this, promise] {
      const auto task = csi_task_of(scope_);
      const auto directory = task ? plugin_of(*task).directory : std::string{};
      self_
          ->request(parts_.steps, actor::infinite,
                    blocking::make([sockets = socket_directory(), directory]() -> Result<> {
                      std::error_code ignored;
                      std::filesystem::remove_all(sockets, ignored);
                      // It stays where something is mounted below it.
                      if (is_mount_point(directory)) ::umount2(directory.c_str(), UMOUNT_NOFOLLOW);
                      return {};
                    }))
          .then([promise](blocking::Outcome&) { promise.deliver(hook::Answered{}); },
                [promise](const Error& err) { promise.deliver(err); });
    };
    self_->request(parts_.volumes, manager_patience, volume_manager::Stopped{key()})
        .then([remove](const volume_manager::Done&) { remove(); },
              [remove](const Error&) { remove(); });
    return promise;
  }

  Hook::pointer self_;
  CsiHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
};

Hook::behavior_type csi_plugin_hook_actor(Hook::stateful_pointer<CsiPluginHookState> self,
                                          CsiHookParts parts,
                                          PluginAgent agent,
                                          HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [](hook::Cancel) { return hook::Settled{}; },
      [](const hook::TasksChanged&) {},
  };
}

// -- volumes of groups ---------------------------------------------------------------------------

class CsiHookState {
public:
  static constexpr const char* name = "csi_hook";

  explicit CsiHookState(Hook::pointer self) : self_{self} {}

  void init(CsiHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    if (msg.request->getPhase() == HookPhase::PRERUN) return mount();
    return give_back();
  }

  actor::Answer<hook::Settled> cancel() {
    if (!mounting_) return hook::Settled{};
    self_->send(parts_.volumes, volume_manager::Withdraw{std::string{scope_.alloc->id()}});
    cancelled_.push_back(self_->make_response_promise<hook::Settled>());
    return cancelled_.back();
  }

private:
  volume_manager::Need need_of(std::string_view alias, schema::VolumeRequest::Reader volume) const {
    auto id = copy(volume.getSource());
    if (volume.getPerAlloc())
      id += fmt::format("[{}]", workload::alloc_index(scope_.alloc->name()));
    const auto access = state::access_mode_of(view(volume.getAccessMode()));
    const auto attachment = state::attachment_mode_of(view(volume.getAttachmentMode()));
    const auto mode
        = volume.getReadOnly() ? schema::CsiClaimMode::READ : schema::CsiClaimMode::WRITE;
    return {.alias = std::string{alias},
            .spec = {.alloc = std::string{scope_.alloc->id()},
                     .ns = std::string{scope_.alloc->ns()},
                     .volume = id,
                     .usage = usage_of(volume.getReadOnly(), attachment, access),
                     .mode = static_cast<std::uint8_t>(mode),
                     .access_mode = static_cast<std::uint8_t>(access),
                     .attachment_mode = static_cast<std::uint8_t>(attachment)},
            .options = mount_options_of(volume.getMountOptions())};
  }

  actor::Answer<hook::Answered> mount() {
    if (!scope_.target->getDriver().getMounts())
      return Error{Errc::rejected, "no task supports CSI"};
    volume_manager::Acquire wanted{std::string{scope_.alloc->id()}, {}};
    const auto group = csi_group_of(scope_);
    for (const auto entry : group->getVolumes())
      if (is_csi(entry.getValue()))
        wanted.needs.push_back(need_of(view(entry.getKey()), entry.getValue()));
    auto promise = self_->make_response_promise<hook::Answered>();
    mounting_ = true;
    self_->request(parts_.volumes, actor::infinite, std::move(wanted))
        .then(
            [this, promise](const volume_manager::Acquired& acquired) {
              mounting_ = false;
              publish(acquired, promise);
              settle();
            },
            [this, promise](const Error& err) {
              mounting_ = false;
              promise.deliver(err);
              settle();
            });
    return promise;
  }

  void settle() {
    for (const auto& promise : std::exchange(cancelled_, {}))
      promise.deliver(hook::Settled{});
  }

  void publish(const volume_manager::Acquired& acquired,
               const actor::Promise<hook::Answered>& promise) {
    std::string value;
    for (const auto& volume : acquired.volumes)
      value += volume.alias + '\0' + volume.path + '\0';
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(scope_.target->getAllocId());
    auto resource = request->initPutResource();
    resource.setName(text(csi_mounts_resource));
    resource.setValue({reinterpret_cast<const capnp::byte*>(value.data()), value.size()});
    self_->request(agent_, resource_patience, plugin_agent::Ask{request.freeze()})
        .then([promise](const plugin_agent::Answered&) { promise.deliver(hook::Answered{}); },
              [promise](const Error& err) { promise.deliver(err); });
  }

  actor::Answer<hook::Answered> give_back() {
    auto promise = self_->make_response_promise<hook::Answered>();
    self_
        ->request(parts_.volumes, manager_patience,
                  volume_manager::Drop{std::string{scope_.alloc->id()}})
        .then([promise](const volume_manager::Done&) { promise.deliver(hook::Answered{}); },
              [promise](const Error& err) { promise.deliver(err); });
    return promise;
  }

  Hook::pointer self_;
  CsiHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
  bool mounting_ = false;
  std::vector<actor::Promise<hook::Settled>> cancelled_;
};

Hook::behavior_type csi_hook_actor(Hook::stateful_pointer<CsiHookState> self,
                                   CsiHookParts parts,
                                   PluginAgent agent,
                                   HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
  };
}

// -- volumes of tasks ----------------------------------------------------------------------------

class CsiVolumesHookState {
public:
  static constexpr const char* name = "csi_volumes_hook";

  explicit CsiVolumesHookState(Hook::pointer self) : self_{self} {}

  void init(PluginAgent agent, HookScope scope) {
    agent_ = std::move(agent);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    const auto task = csi_task_of(scope_);
    if (!task || msg.request->getPhase() != HookPhase::PRESTART) return hook::Answered{};
    if (!scope_.target->getDriver().getMounts())
      return Error{Errc::rejected, fmt::format("task driver \"{}\" for \"{}\" does not support CSI",
                                               view(task->getDriver()), view(task->getName()))};
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(scope_.target->getAllocId());
    request->setGetResource(text(csi_mounts_resource));
    auto promise = self_->make_response_promise<hook::Answered>();
    self_->request(agent_, resource_patience, plugin_agent::Ask{request.freeze()})
        .then(
            [this, promise, environments = msg.environments](const plugin_agent::Answered& answer) {
              actor::answer(promise, show(answer, environments->own));
            },
            [promise](const Error& err) { promise.deliver(err); });
    return promise;
  }

private:
  /// Where each volume is.
  static std::map<std::string, std::string, std::less<>> paths_in(
      const plugin_agent::Answered& answer) {
    std::map<std::string, std::string, std::less<>> paths;
    if (!answer.answer || !answer.answer->isResource()) return paths;
    const auto value = answer.answer->getResource().getValue();
    const auto parts = split({reinterpret_cast<const char*>(value.begin()), value.size()}, '\0');
    for (std::size_t at = 0; at + 1 < parts.size(); at += 2)
      paths.emplace(parts[at], parts[at + 1]);
    return paths;
  }

  Result<hook::Answered> show(const plugin_agent::Answered& answer,
                              const workload::TaskEnv& env) const {
    const auto paths = paths_in(answer);
    const auto task = csi_task_of(scope_);
    if (!task) return hook::Answered{};

    struct Shown {
      schema::VolumeMount::Reader mount;
      bool read_only;
      std::string path;
    };

    std::vector<Shown> shown;
    for (const auto mount : task->getVolumeMounts()) {
      const auto volume = csi_volume_of(scope_, mount);
      if (!volume) continue;
      const auto path = paths.find(view(mount.getVolume()));
      if (path == paths.end())
        return Error{Errc::rejected, fmt::format("no CSI mount point found for volume: {}",
                                                 view(mount.getVolume()))};
      shown.push_back({mount, volume->getReadOnly() || mount.getReadOnly(), path->second});
    }
    Draft<schema::plugin::HookAnswer> draft;
    auto mounts = draft->initMounts(static_cast<unsigned>(shown.size()));
    for (unsigned i = 0; i < mounts.size(); ++i) {
      mounts[i].setTaskPath(text(env.replace(view(shown[i].mount.getDestination()))));
      mounts[i].setHostPath(text(shown[i].path));
      mounts[i].setReadOnly(shown[i].read_only);
      mounts[i].setPropagation(shown[i].mount.getPropagationMode());
    }
    return hook::Answered{draft.freeze()};
  }

  Hook::pointer self_;
  PluginAgent agent_;
  HookScope scope_;
};

Hook::behavior_type csi_volumes_hook_actor(Hook::stateful_pointer<CsiVolumesHookState> self,
                                           PluginAgent agent,
                                           HookScope scope) {
  self->state.init(std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [](hook::Cancel) { return hook::Settled{}; },
      [](const hook::TasksChanged&) {},
  };
}

}  // namespace

HookEntry csi_plugin_hook(CsiHookParts parts) {
  return {.name = "csi_plugin",
          .after = "task_dir",
          .phases = {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::EXITED, HookPhase::STOP},
          .wanted = is_plugin,
          .spawn = [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                              const HookScope& scope) -> Hook {
            return actor::spawn(owner, csi_plugin_hook_actor, parts, agent, scope);
          }};
}

HookEntry csi_hook(CsiHookParts parts) {
  return {.name = "csi_hook",
          .after = "network",
          .phases = {HookPhase::PRERUN, HookPhase::POSTRUN, HookPhase::DESTROY},
          .patience = mount_patience,
          .wanted = has_csi_volumes,
          .spawn = [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                              const HookScope& scope) -> Hook {
            return actor::spawn(owner, csi_hook_actor, parts, agent, scope);
          }};
}

HookEntry csi_volumes_hook() {
  return {.name = "csi_volumes",
          .after = "volumes",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .wanted = mounts_csi_volumes,
          .spawn = [](const actor::Owner& owner, const PluginAgent& agent, const HookScope& scope)
              -> Hook { return actor::spawn(owner, csi_volumes_hook_actor, agent, scope); }};
}

}  // namespace nomad::client
