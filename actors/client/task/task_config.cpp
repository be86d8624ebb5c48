#include "actors/client/task/task_config.hpp"

#include <algorithm>

#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/hooks/hook_objects.hpp"
#include "runtime/jobspec/cron/task_schedule.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/node/cpu_sets.hpp"

namespace nomad::client {
namespace {

/// Replaces `${…}` in every text of a configuration, keys of maps included.
void interpolate_all(boost::json::value& value, const workload::TaskEnv& env) {
  if (auto* const text = value.if_string()) {
    if (text->find("${") != boost::json::string_view::npos) {
      const auto replaced = env.replace({text->data(), text->size()});
      text->assign(replaced.data(), replaced.size());
    }
  } else if (auto* const list = value.if_array()) {
    for (auto& element : *list)
      interpolate_all(element, env);
  } else if (auto* const object = value.if_object()) {
    boost::json::object replaced;
    for (auto& [key, member] : *object) {
      interpolate_all(member, env);
      replaced[env.replace({key.data(), key.size()})] = std::move(member);
    }
    *object = std::move(replaced);
  }
}

std::uint64_t megabytes(std::int64_t amount) {
  return amount <= 0 ? 0 : static_cast<std::uint64_t>(amount) * 1024 * 1024;
}

/// The `config` block as the driver gets it.
Result<std::string> read_settings(schema::Task::Reader task,
                                  const workload::TaskEnv& env,
                                  schema::plugin::DriverDescription::Reader driver) {
  boost::json::value config = boost::json::object{};
  if (const auto text = view(task.getConfig()); !text.empty() && text != "null") {
    auto parsed = parse_json(text);
    if (!parsed) return Error{Errc::invalid_argument, "failed to parse config: no object"};
    config = std::move(*parsed);
    interpolate_all(config, env);
  }
  return boost::json::serialize(NOMAD_TRY(apply_fields(driver.getConfig(), config)));
}

void write_logs(schema::LogConfig::Reader from, schema::plugin::TaskLogs::Builder to) {
  to.setDisabled(from.getDisabled());
  to.setMaxFiles(from.getMaxFiles() > 0 ? static_cast<std::uint32_t>(from.getMaxFiles()) : 10);
  to.setMaxFileBytes(from.getMaxFileSizeMb() > 0 ? megabytes(from.getMaxFileSizeMb())
                                                 : megabytes(10));
}

void write_task_ports(schema::AllocatedTaskResources::Reader resources,
                      schema::plugin::TaskConfig::Builder to) {
  if (resources.getNetworks().size() == 0) return;
  const auto network = resources.getNetworks()[0];
  const auto reserved = network.getReservedPorts();
  const auto dynamic = network.getDynamicPorts();
  auto ports = to.initTaskPorts(reserved.size() + dynamic.size());
  for (unsigned i = 0; i < ports.size(); ++i) {
    const auto port = i < reserved.size() ? reserved[i] : dynamic[i - reserved.size()];
    ports[i].setLabel(port.getLabel());
    ports[i].setValue(port.getValue());
    ports[i].setHostIp(network.getIp());
  }
}

void write_resources(schema::AllocatedTaskResources::Reader from,
                     schema::Node::Reader node,
                     schema::plugin::TaskResources::Builder to) {
  to.setMemoryBytes(megabytes(from.getMemory().getMemoryMb()));
  to.setMemoryMaxBytes(megabytes(from.getMemory().getMemoryMaxMb()));
  to.setCpuShares(
      static_cast<std::uint64_t>(std::max<std::int64_t>(from.getCpu().getCpuShares(), 0)));
  to.setCpuset(text(workload::core_list(from.getCpu().getReservedCores())));
  to.setNodeCpuShares(static_cast<std::uint64_t>(
      std::max<std::int64_t>(node.getNodeResources().getCpu().getCpuShares(), 0)));
}

void write_origin(const StartSubject& subject,
                  schema::Node::Reader node,
                  schema::plugin::TaskOrigin::Builder to) {
  to.setNamespace(subject.job.getNamespace());
  to.setJobId(subject.job.getId());
  to.setJobName(subject.job.getName());
  to.setParentJobId(subject.job.getParentId());
  to.setGroup(text(subject.alloc.task_group()));
  to.setNodeId(node.getId());
  to.setNodeName(node.getName());
}

/// The first network of the task's group, if it has one.
std::optional<schema::NetworkResource::Reader> network_of(AllocView alloc,
                                                          schema::Job::Reader job) {
  const auto group = workload::find_group(job, alloc.task_group());
  if (!group || group->getNetworks().size() == 0) return std::nullopt;
  return group->getNetworks()[0];
}

/// What hooks have for the task to see, in their order.
void write_shown(const workload::TaskRecord& record, schema::plugin::TaskConfig::Builder to) {
  std::vector<workload::TaskMount> mounts;
  std::vector<workload::TaskDevice> devices;
  for (const auto& [name, left] : record.hooks) {
    mounts.insert(mounts.end(), left->mounts.begin(), left->mounts.end());
    devices.insert(devices.end(), left->devices.begin(), left->devices.end());
  }
  if (!mounts.empty())
    workload::write_mounts(mounts, to.initMounts(static_cast<unsigned>(mounts.size())));
  if (!devices.empty())
    workload::write_devices(devices, to.initDevices(static_cast<unsigned>(devices.size())));
}

/// Names of the group's network: its name servers, if it says something of them, and its own.
void write_names(schema::NetworkResource::Reader network,
                 const workload::TaskEnv& env,
                 schema::plugin::TaskConfig::Builder to) {
  to.setHostname(text(env.replace(view(network.getHostname()))));
  if (!network.hasDns()) return;
  const auto wanted = resolvers_of(network, env);
  const auto fill = [](auto list, const std::vector<std::string>& from) {
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(from[i]));
  };
  auto dns = to.initDns();
  fill(dns.initServers(static_cast<unsigned>(wanted.servers.size())), wanted.servers);
  fill(dns.initSearches(static_cast<unsigned>(wanted.searches.size())), wanted.searches);
  fill(dns.initOptions(static_cast<unsigned>(wanted.options.size())), wanted.options);
}

/// The task's own restart policy, or its group's.
workload::RestartRules restart_rules_of(AllocView alloc,
                                        schema::Job::Reader job,
                                        schema::Task::Reader task) {
  if (task.hasRestartPolicy()) return workload::restart_rules(task.getRestartPolicy());
  const auto group = workload::find_group(job, alloc.task_group());
  return group ? workload::restart_rules(group->getRestartPolicy()) : workload::RestartRules{};
}

}  // namespace

workload::TaskTraits traits_of(AllocView alloc,
                               schema::Job::Reader job,
                               schema::Task::Reader task,
                               bool may_run) {
  const auto type = view(job.getType());
  const auto lifecycle = task.getLifecycle();
  return {.alloc_id = std::string{alloc.id()},
          .name = copy(task.getName()),
          .is_poststop = view(lifecycle.getHook()) == "poststop",
          .is_system_job = type == "system" || type == "sysbatch",
          .restarts_on_success
          = workload::restarts_on_success(type, view(lifecycle.getHook()), lifecycle.getSidecar()),
          .may_run = may_run};
}

namespace {

/// Of a task without one: null.
Result<std::shared_ptr<const jobspec::TaskSchedule>> schedule_of(schema::Task::Reader task) {
  if (!task.hasSchedule()) return std::shared_ptr<const jobspec::TaskSchedule>{};
  const auto cron = task.getSchedule().getCron();
  auto schedule = NOMAD_TRY(jobspec::TaskSchedule::parse(view(cron.getStart()), view(cron.getEnd()),
                                                         view(cron.getTimezone())));
  return std::shared_ptr<const jobspec::TaskSchedule>{
      std::make_shared<const jobspec::TaskSchedule>(std::move(schedule))};
}

}  // namespace

workload::TaskTerms terms_of(AllocView alloc,
                             schema::Job::Reader job,
                             schema::Task::Reader task,
                             Nanoseconds max_kill_timeout) {
  const auto schedule = schedule_of(task);
  return {.restart = restart_rules_of(alloc, job, task),
          .kill_signal = copy(task.getKillSignal()),
          .kill_timeout = std::min(Nanoseconds{task.getKillTimeout()}, max_kill_timeout),
          .shutdown_delay = Nanoseconds{task.getShutdownDelay()},
          .alloc_is_over = alloc.is_client_terminal(),
          .alloc_stops = alloc.is_server_terminal(),
          .schedule = schedule ? *schedule : nullptr,
          .schedule_error = schedule ? std::string{} : schedule.error().what};
}

workload::TaskEnv make_env(const TaskNode& node,
                           AllocView alloc,
                           schema::Job::Reader job,
                           schema::Task::Reader task,
                           schema::plugin::Capabilities::Reader driver,
                           const workload::TaskRecord& record) {
  const auto root = node.alloc_root(alloc.id());
  const auto task_dir = task.getName().size() == 0 ? root : root + '/' + copy(task.getName());
  const workload::TaskPaths ours{.alloc_dir = root + "/alloc",
                                 .local_dir = task_dir + "/local",
                                 .secrets_dir = task_dir + "/secrets"};
  const workload::TaskPaths inside{
      .alloc_dir = "/alloc", .local_dir = "/local", .secrets_dir = "/secrets"};
  const auto isolation = view(driver.getFsIsolation());
  workload::TaskEnvInput input{
      .alloc = alloc,
      .job = job,
      .task = view(task.getName()),
      .region = node.region,
      .datacenter = node.datacenter,
      .cgroup_parent = node.cgroup_parent,
      .node = node.variables,
      .task_paths = isolation.empty() || isolation == "none" ? ours : inside,
      .client_paths = ours,
      .client_task_dir = task_dir,
      .host = {},
      .hooks = {},
      .templates = {},
      .network = record.network};
  if (isolation != "image") input.host = node.host_env;
  for (const auto& [name, left] : record.hooks) {
    if (!left->env.empty()) input.hooks.emplace_back(name, left->env);
    for (const auto& [key, value] : left->secret_env)
      input.templates.insert_or_assign(key, value);
  }
  return workload::TaskEnv::build(input);
}

Result<driver::Ask> make_start(const TaskNode& node,
                               const StartSubject& subject,
                               const workload::TaskEnv& env,
                               const workload::TaskRecord& record,
                               schema::plugin::DriverDescription::Reader driver) {
  const auto& [alloc, job, task, network_namespace] = subject;
  const auto settings = NOMAD_TRY(read_settings(task, env, driver));
  Draft<driver::DriverRequest> draft;
  auto config = draft->initStartTask();
  const auto root = node.alloc_root(alloc.id());
  driver::write_id({std::string{alloc.id()}, copy(task.getName())}, config.initId());
  config.setRunId(text(record.run_id));
  config.setConfig(text(settings));
  const auto variables = env.list();
  auto environment = config.initEnvironment(static_cast<unsigned>(variables.size()));
  for (unsigned i = 0; i < environment.size(); ++i)
    environment.set(i, text(variables[i]));
  config.setUser(text(env.replace(view(task.getUser()))));
  config.setAllocRoot(text(root));
  config.setTaskDirectory(text(root + '/' + copy(task.getName())));
  write_logs(task.getLogConfig(), config.initLogs());
  if (const auto given = alloc.resources(view(task.getName()))) {
    write_resources(*given, *node.record, config.initResources());
    write_task_ports(*given, config);
  }
  config.setPorts(alloc.ports());
  write_shown(record, config);
  config.setNetworkNamespace(text(network_namespace));
  write_origin(subject, *node.record, config.initOrigin());
  if (const auto network = network_of(alloc, job)) write_names(*network, env, config);
  return driver::Ask{draft.freeze()};
}

workload::Variables host_environment(const std::vector<std::string>& denied) {
  workload::Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    auto name = std::string{text.substr(0, equals)};
    if (std::find(denied.begin(), denied.end(), name) != denied.end()) continue;
    variables.emplace(std::move(name), text.substr(equals + 1));
  }
  return variables;
}

const std::vector<std::string>& default_denied_environment() {
  static const std::vector<std::string> names{
      "CONSUL_TOKEN",      "CONSUL_HTTP_TOKEN",
      "VAULT_TOKEN",       "NOMAD_LICENSE",
      "NOMAD_TOKEN",  // unlike in Nomad: nomadctl in a task would take it for the task's
      "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
      "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"};
  return names;
}

}  // namespace nomad::client
