#include "actors/client/drivers/docker/tasks.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "actors/client/drivers/docker/task.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::client {

using docker::EngineAnswer;
using driver::Answered;
using driver::TaskId;

namespace {

constexpr int start_tries = 5;

/// The first pauses between tries.
constexpr auto first_start_pause = std::chrono::milliseconds{50};

Nanoseconds pause_before_start(int tries) {
  return first_start_pause * (1 << std::min(tries, 6));
}

docker::Origin docker_origin(schema::plugin::TaskOrigin::Reader from) {
  return {.namespace_name = copy(from.getNamespace()),
          .job_id = copy(from.getJobId()),
          .job_name = copy(from.getJobName()),
          .parent_job_id = copy(from.getParentJobId()),
          .group = copy(from.getGroup()),
          .node_id = copy(from.getNodeId()),
          .node_name = copy(from.getNodeName())};
}

/// What hooks show to the task. With a network of its own it has that network's names.
void docker_mounts(schema::plugin::TaskConfig::Reader config, docker::ContainerSpec& spec) {
  const bool joins = docker::joins_group_network(spec.settings);
  for (const auto mount : config.getMounts()) {
    const auto path = view(mount.getTaskPath());
    if (!joins && (path == "/etc/hosts" || (path == "/etc/resolv.conf" && !config.hasDns())))
      continue;
    spec.mounts.push_back({.task_path = copy(mount.getTaskPath()),
                           .host_path = copy(mount.getHostPath()),
                           .read_only = mount.getReadOnly(),
                           .propagation = copy(mount.getPropagation())});
  }
  for (const auto device : config.getDevices())
    spec.devices.push_back({.task_path = copy(device.getTaskPath()),
                            .host_path = copy(device.getHostPath()),
                            .permissions = copy(device.getPermissions())});
}

Result<docker::ContainerSpec> container_spec(schema::plugin::TaskConfig::Reader config,
                                             const docker::AgentSettings& agent,
                                             const std::string& label) {
  const auto parsed = parse_json(view(config.getConfig()));
  if (!parsed || !parsed->is_object())
    return Error{Errc::invalid_argument, "failed to parse config: no object"};
  const auto resources = config.getResources();
  const auto logs = config.getLogs();
  docker::ContainerSpec spec{
      .alloc_id = copy(config.getId().getAllocId()),
      .task = copy(config.getId().getTask()),
      .run_id = copy(config.getRunId()),
      .agent = label,
      .image = {},
      .settings = NOMAD_TRY(docker::read_task_settings(parsed->get_object())),
      .environment = {},
      .user = copy(config.getUser()),
      .alloc_root = copy(config.getAllocRoot()),
      .task_directory = copy(config.getTaskDirectory()),
      .keeps_logs = agent.collects_logs && !logs.getDisabled(),
      .log_files = logs.getMaxFiles(),
      .log_bytes = logs.getMaxFileBytes(),
      .memory_bytes = resources.getMemoryBytes(),
      .memory_max_bytes = resources.getMemoryMaxBytes(),
      .cpu_shares = resources.getCpuShares(),
      .node_cpu_shares = resources.getNodeCpuShares(),
      .cpuset = copy(resources.getCpuset()),
      .cores = std::max(std::thread::hardware_concurrency(), 1U),
      .ports = {},
      .task_ports = {},
      .mounts = {},
      .devices = {},
      .network_container = {},
      .origin = docker_origin(config.getOrigin())};
  for (const auto variable : config.getEnvironment())
    spec.environment.push_back(copy(variable));
  for (const auto port : config.getPorts())
    spec.ports.push_back({.label = copy(port.getLabel()),
                          .value = port.getValue(),
                          .to = port.getTo(),
                          .host_ip = copy(port.getHostIp())});
  for (const auto port : config.getTaskPorts())
    spec.task_ports.push_back({.label = copy(port.getLabel()),
                               .value = port.getValue(),
                               .to = 0,
                               .host_ip = copy(port.getHostIp())});
  docker_mounts(config, spec);
  return spec;
}

/// In the network of a group the engine writes no hosts; what the task adds goes to the file that
/// it is shown.
Result<> add_extra_hosts(const docker::ContainerSpec& spec) {
  if (spec.settings.extra_hosts.empty()) return {};
  const auto root = NOMAD_TRY(host::Beneath::open(spec.task_directory, false));
  const auto text = NOMAD_TRY(docker::with_extra_hosts(
      NOMAD_TRY(root.read_at("hosts", 0, 1024 * 1024)), spec.settings.extra_hosts));
  return root.write_file("hosts", text, 0644);
}

}  // namespace

DockerTasks::DockerTasks(DockerContext& context)
    : context_{context}, images_{context}, infra_{context} {}

DockerTasks::~DockerTasks() = default;

DockerTasks::Task* DockerTasks::find(const TaskId& id, std::uint64_t serial) {
  const auto found = tasks_.find(id);
  return found != tasks_.end() && found->second->serial == serial ? found->second.get() : nullptr;
}

std::string DockerTasks::user_of(const TaskId& id, const std::string& run_id) {
  return id.alloc_id + '/' + id.task + '/' + run_id;
}

// -- the order ------------------------------------------------------------------------------------

actor::Answer<Answered> DockerTasks::start(schema::plugin::TaskConfig::Reader config) {
  const auto id = driver::read_id(config.getId());
  const auto run_id = copy(config.getRunId());
  if (const auto known = tasks_.find(id); known != tasks_.end()) {
    auto& task = *known->second;
    if (task.run_id == run_id) {
      if (task.stage == Stage::starting)
        return task.starting = context_.self()->make_response_promise<Answered>();
      if (task.stage == Stage::ended) tell_end(id, task);
      return driver::started(task.handle, task.network);
    }
    if (task.stage != Stage::ended)
      return driver::failed({Errc::conflict, "task is already running"});
    forget(task);
    tasks_.erase(known);
  }
  auto spec = container_spec(config, context_.settings(), context_.label());
  if (!spec) return driver::failed(spec.error());
  const auto image = docker::parse_image_name(spec->settings.image);
  if (!image) return driver::failed(image.error());

  auto& task = *tasks_.emplace(id, std::make_unique<Task>()).first->second;
  task.run_id = run_id;
  task.serial = ++serials_;
  task.starting = context_.self()->make_response_promise<Answered>();
  task.network_namespace = copy(config.getNetworkNamespace());
  task.hostname = copy(config.getHostname());
  task.joins = !task.network_namespace.empty() && docker::joins_group_network(spec->settings);
  const auto& settings = spec->settings;
  const ImageRequest wanted{.name = *image,
                            .user = user_of(id, run_id),
                            .task = id,
                            .force_pull = settings.force_pull,
                            .archive = settings.load.empty() ? std::string{} : settings.load,
                            .archive_root = spec->task_directory + "/local",
                            .auth = settings.auth,
                            .auth_soft_fail = settings.auth_soft_fail,
                            .timeout = settings.pull_timeout};
  task.spec = std::move(*spec);
  auto answer = task.starting;
  images_.get(wanted, [this, id, serial = task.serial](const std::string& found,
                                                       const ImageFailure* failure) {
    if (failure != nullptr) return fail_start(id, serial, failure->error, failure->recoverable);
    got_image(id, serial, found);
  });
  return answer;
}

void DockerTasks::fail_start(const TaskId& id, std::uint64_t serial, Error err, bool recoverable) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  const auto answer = task->starting;
  const auto container = task->container;
  const bool joined = task->joins;
  release_images(id, task->run_id);
  forget(*task);
  tasks_.erase(id);
  // Another try finds nothing of this one.
  const auto tell
      = [answer, failure = driver::failed(err, recoverable)] { answer.deliver(failure); };
  const auto leave = [this, id, joined, tell] {
    if (joined)
      leave_network(id.alloc_id, tell);
    else
      tell();
  };
  if (container.empty()) return leave();
  context_.ask({.method = "DELETE", .target = "/containers/" + container + "?force=1&v=1"},
               [leave](const Result<EngineAnswer>&) { leave(); });
}

void DockerTasks::release_images(const TaskId& id, const std::string& run_id) {
  const auto user = user_of(id, run_id);
  for (const auto& each : {user, user + "/network"}) {
    images_.forget(each);
    images_.release(each);
  }
}

void DockerTasks::drop_container(const std::string& container) {
  context_.ask({.method = "DELETE", .target = "/containers/" + container + "?force=1&v=1"},
               [container](const Result<EngineAnswer>& answer) {
                 if (!answer && answer.error().code != Errc::not_found)
                   log::warn("client", "docker: container {} is left: {}", container,
                             answer.error().what);
               });
}

// -- the steps ------------------------------------------------------------------------------------

void DockerTasks::got_image(const TaskId& id, std::uint64_t serial, const std::string& image) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  // By its name, as Nomad: the engine shows that to people.
  task->spec->image = task->spec->settings.image;
  if (task->spec->settings.image.empty()) task->spec->image = image;
  if (task->joins) return join_network(id, serial);
  create(id, serial, 1);
}

void DockerTasks::join_network(const TaskId& id, std::uint64_t serial) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  if (const auto added = add_extra_hosts(*task->spec); !added)
    return fail_start(id, serial, added.error().within("failed to build mount for /etc/hosts"),
                      false);
  const auto join = [this, id, serial, alloc_id = task->spec->alloc_id, hostname = task->hostname,
                     network = task->network_namespace](const std::string& image) {
    infra_.join({.alloc_id = alloc_id,
                 .agent = context_.label(),
                 .image = image,
                 .hostname = hostname.empty() ? std::string{short_id(alloc_id)} : hostname,
                 .program = context_.options().executor_path,
                 .network_namespace = network},
                [this, id, serial](const Result<std::string>& container, bool may_pass) {
                  auto* const joining = find(id, serial);
                  if (joining == nullptr) return;
                  if (!container)
                    return fail_start(
                        id, serial, container.error().within("failed to join the group's network"),
                        may_pass);
                  joining->spec->network_container = *container;
                  create(id, serial, 1);
                });
  };
  const auto& infra = context_.settings().infra_image;
  if (infra.empty()) return join(task->spec->image);
  const auto name = docker::parse_image_name(infra);
  if (!name) return fail_start(id, serial, name.error().within("infra_image"), false);
  images_.get({.name = *name,
               .user = user_of(id, task->run_id) + "/network",
               .task = id,
               .timeout = context_.settings().infra_pull_timeout},
              [this, id, serial, join, infra](const std::string&, const ImageFailure* failure) {
                if (failure != nullptr)
                  return fail_start(id, serial, failure->error.within("infra_image"),
                                    failure->recoverable);
                join(infra);
              });
}

void DockerTasks::create(const TaskId& id, std::uint64_t serial, int tries) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  const auto body = docker::container_body(*task->spec, context_.settings());
  if (!body)
    return fail_start(
        id, serial,
        body.error().within(fmt::format("Failed to create container configuration for image \"{}\"",
                                        task->spec->settings.image)),
        false);
  context_.ask(
      {.method = "POST",
       .target = "/containers/create?name="
                 + docker::escape_target(docker::container_name(id.task, id.alloc_id)),
       .body = boost::json::serialize(*body)},
      [this, id, serial, tries](const docker::EngineOutcome& answer) {
        auto* const creating = find(id, serial);
        const auto made
            = answer ? docker::read_created(answer->body) : Result<std::string>{answer.error()};
        if (creating == nullptr) {
          if (made) drop_container(*made);
          return;
        }
        if (made) {
          creating->container = *made;
          return start_container(id, serial, 1);
        }
        const auto& why = made.error();
        if (why.code == Errc::conflict && tries < start_tries)
          return name_is_taken(id, serial, tries);
        if (answer.refusal.may_pass() && tries < start_tries)
          return context_.after(pause_before_start(tries),
                                [this, id, serial, tries] { create(id, serial, tries + 1); });
        const bool may_pass = is_away(why) || why.code == Errc::not_found
                              || answer.refusal.kind == docker::EngineError::Kind::volume_elsewhere;
        fail_start(id, serial, why.within("failed to create container"), may_pass);
      });
}

/// A container of an earlier try, or of an earlier agent, has the name.
void DockerTasks::name_is_taken(const TaskId& id, std::uint64_t serial, int tries) {
  const auto path
      = "/containers/" + docker::escape_target(docker::container_name(id.task, id.alloc_id));
  context_.ask({.target = path + "/json"}, [this, id, serial, tries,
                                            path](const Result<EngineAnswer>& answer) {
    auto* const task = find(id, serial);
    if (task == nullptr) return;
    const auto again = [this, id, serial, tries] {
      context_.after(pause_before_start(tries),
                     [this, id, serial, tries] { create(id, serial, tries + 1); });
    };
    if (!answer) return again();
    const auto container = docker::read_container(answer->body);
    if (!container) return again();
    const auto& labels = container->labels;
    const auto run = labels.find(docker::label::run);
    const auto owner = labels.find(docker::label::agent);
    const bool is_ours = owner != labels.end() && owner->second == context_.label();
    if (is_ours && run != labels.end() && run->second == task->run_id
        && container->status != "created")
      return adopt(id, *container, serial);
    if (owner != labels.end() && !is_ours)
      return fail_start(
          id, serial,
          {Errc::conflict, fmt::format("container {} is another agent's", container->name)}, false);
    context_.ask({.method = "DELETE", .target = path + "?force=1&v=1"},
                 [again](const Result<EngineAnswer>&) { again(); });
  });
}

void DockerTasks::start_container(const TaskId& id, std::uint64_t serial, int tries) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  // Before it runs, so that its files are where a later agent expects them.
  const auto container = task->container;
  context_.ask({.method = "POST", .target = "/containers/" + container + "/start"},
               [this, id, serial, tries, container](const docker::EngineOutcome& answer) {
                 if (find(id, serial) == nullptr) return drop_container(container);
                 if (answer) return inspect_started(id, serial);
                 const auto& why = answer.error();
                 const bool passes = answer.refusal.may_pass();
                 if (passes && tries < start_tries)
                   return context_.after(pause_before_start(tries), [this, id, serial, tries] {
                     start_container(id, serial, tries + 1);
                   });
                 fail_start(id, serial,
                            why.within(fmt::format("Failed to start container {}", container)),
                            passes || is_away(why));
               });
}

void DockerTasks::inspect_started(const TaskId& id, std::uint64_t serial) {
  const auto* const task = find(id, serial);
  if (task == nullptr) return;
  context_.ask({.target = "/containers/" + task->container + "/json"},
               [this, id, serial, container = task->container](const Result<EngineAnswer>& answer) {
                 auto* const inspected = find(id, serial);
                 if (inspected == nullptr) return drop_container(container);
                 const auto read = answer ? docker::read_container(answer->body)
                                          : Result<docker::Container>{answer.error()};
                 if (!read)
                   return fail_start(
                       id, serial,
                       read.error().within("failed to inspect started container " + container),
                       true);
                 started(id, *inspected, *read);
               });
}

void DockerTasks::started(const TaskId& id, Task& task, const docker::Container& container) {
  const auto settings = std::move(task.spec->settings);
  task.spec.reset();
  for (const auto& [label, port] : settings.port_map)
    task.network.port_map[label] = static_cast<int>(port);
  task.stage = Stage::running;
  task.handle = {.version = docker_handle_version, .data = container.id};
  for (const auto& network : container.networks) {
    if (network.address.empty()) continue;
    task.network.ip = settings.advertises_ipv6 ? network.address6 : network.address;
    task.network.auto_advertise
        = settings.advertises_ipv6 || (network.name != "bridge" && network.name != "nat");
    break;
  }
  task.is_terminal = container.tty;
  open_logs(id, task, container.labels, true);
  auto answer = std::exchange(task.starting, {});
  answer.deliver(driver::started(task.handle, task.network));
  watch(id, task);
}

}  // namespace nomad::client
