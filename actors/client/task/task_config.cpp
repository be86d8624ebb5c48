#include "actors/client/task/task_config.hpp"

#include <algorithm>

#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/workload/alloc_update.hpp"

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

}  // namespace

std::optional<schema::Task::Reader> find_task(schema::Allocation::Reader alloc,
                                              schema::Job::Reader job,
                                              std::string_view name) {
  if (const auto group = workload::find_group(job, view(alloc.getTaskGroup())))
    for (const auto task : group->getTasks())
      if (view(task.getName()) == name) return task;
  return std::nullopt;
}

workload::RestartRules restart_rules_of(schema::Allocation::Reader alloc,
                                        schema::Job::Reader job,
                                        schema::Task::Reader task) {
  if (task.hasRestartPolicy()) return workload::restart_rules(task.getRestartPolicy());
  const auto group = workload::find_group(job, view(alloc.getTaskGroup()));
  return group ? workload::restart_rules(group->getRestartPolicy()) : workload::RestartRules{};
}

workload::TaskEnv make_env(const ClientContext& context,
                           schema::Allocation::Reader alloc,
                           schema::Job::Reader job,
                           schema::Task::Reader task,
                           const driver::Capabilities& driver,
                           const workload::TaskRecord& record) {
  const auto root = context.alloc_root(view(alloc.getId()));
  const auto task_dir = task.getName().size() == 0 ? root : root + '/' + copy(task.getName());
  const workload::TaskPaths ours{.alloc_dir = root + "/alloc",
                                 .local_dir = task_dir + "/local",
                                 .secrets_dir = task_dir + "/secrets"};
  const workload::TaskPaths inside{
      .alloc_dir = "/alloc", .local_dir = "/local", .secrets_dir = "/secrets"};
  workload::TaskEnvInput input{.alloc = alloc,
                               .job = job,
                               .task = view(task.getName()),
                               .region = context.region,
                               .datacenter = context.datacenter,
                               .cgroup_parent = context.cgroup_parent,
                               .node = context.node,
                               .task_paths = driver.fs_isolation == "none" ? ours : inside,
                               .client_paths = ours,
                               .client_task_dir = task_dir,
                               .host = {},
                               .hooks = {},
                               .templates = {},
                               .network = record.network};
  if (driver.fs_isolation != "image") input.host = context.host_env;
  for (const auto& [name, state] : record.hooks)
    if (!state.env.empty()) input.hooks.emplace_back(name, state.env);
  return workload::TaskEnv::build(input);
}

Result<driver::TaskConfig> make_config(const ClientContext& context,
                                       schema::Allocation::Reader alloc,
                                       schema::Task::Reader task,
                                       const workload::TaskEnv& env,
                                       std::string run_id) {
  const auto root = context.alloc_root(view(alloc.getId()));
  driver::TaskConfig config{.id = {copy(alloc.getId()), copy(task.getName())},
                            .run_id = std::move(run_id),
                            .driver = copy(task.getDriver()),
                            .config = boost::json::object{},
                            .environment = env.list(),
                            .user = env.replace(view(task.getUser())),
                            .alloc_root = root,
                            .task_dir = root + '/' + copy(task.getName())};
  const auto text = view(task.getConfig());
  if (!text.empty() && text != "null") {
    auto parsed = parse_json(text);
    if (!parsed || !parsed->is_object())
      return Error{Errc::invalid_argument, "failed to parse config: no object"};
    config.config = std::move(*parsed);
    interpolate_all(config.config, env);
  }
  const auto logs = task.getLogConfig();
  config.logs_disabled = logs.getDisabled();
  if (logs.getMaxFiles() > 0) config.max_log_files = static_cast<std::uint32_t>(logs.getMaxFiles());
  if (logs.getMaxFileSizeMb() > 0) config.max_log_file_bytes = megabytes(logs.getMaxFileSizeMb());
  for (const auto entry : alloc.getAllocatedResources().getTasks()) {
    if (view(entry.getKey()) != config.id.task) continue;
    const auto memory = entry.getValue().getMemory();
    config.memory_bytes = megabytes(memory.getMemoryMb());
    config.memory_max_bytes = megabytes(memory.getMemoryMaxMb());
    config.cpu_shares = static_cast<std::uint64_t>(
        std::max<std::int64_t>(entry.getValue().getCpu().getCpuShares(), 0));
  }
  return config;
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
      "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
      "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"};
  return names;
}

}  // namespace nomad::client
