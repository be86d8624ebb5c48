#include "runtime/workload/task_env.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/node/cpu_sets.hpp"

namespace nomad::workload {
namespace {

std::string host_port(std::string_view ip, int port) {
  if (ip.find(':') != ip.npos) return fmt::format("[{}]:{}", ip, port);
  return fmt::format("{}:{}", ip, port);
}

void set(Variables& to, std::string_view name, std::string value) {
  to.insert_or_assign(std::string{name}, std::move(value));
}

void set_known(Variables& to, std::string_view name, std::string_view value) {
  if (!value.empty()) set(to, name, std::string{value});
}

void set_port(Variables& to, std::string_view kind, std::string_view label, std::string value) {
  set(to, fmt::format("NOMAD_{}_{}", kind, label), std::move(value));
}

/// Ports of the group's network, the usual kind.
void add_group_ports(Variables& to, schema::AllocatedSharedResources::Reader shared) {
  const auto add_network_port = [&to](schema::Port::Reader port) {
    const auto label = view(port.getLabel());
    set_port(to, "PORT", label, std::to_string(port.getTo() > 0 ? port.getTo() : port.getValue()));
    set_port(to, "HOST_PORT", label, std::to_string(port.getValue()));
  };
  for (const auto network : shared.getNetworks()) {
    for (const auto port : network.getReservedPorts())
      add_network_port(port);
    for (const auto port : network.getDynamicPorts())
      add_network_port(port);
  }
  for (const auto port : shared.getPorts()) {
    const auto label = view(port.getLabel());
    const auto ip = view(port.getHostIp());
    const auto inside = std::to_string(port.getTo() > 0 ? port.getTo() : port.getValue());
    set_port(to, "ADDR", label, host_port(ip, port.getValue()));
    set_port(to, "HOST_ADDR", label, host_port(ip, port.getValue()));
    set_port(to, "IP", label, std::string{ip});
    set_port(to, "HOST_IP", label, std::string{ip});
    set_port(to, "PORT", label, inside);
    set_port(to, "ALLOC_PORT", label, inside);
    set_port(to, "HOST_PORT", label, std::to_string(port.getValue()));
  }
}

template <class Add>
void each_port(schema::NetworkResource::Reader network, const Add& add) {
  for (const auto port : network.getReservedPorts())
    add(view(port.getLabel()), port.getValue(), view(network.getIp()));
  for (const auto port : network.getDynamicPorts())
    add(view(port.getLabel()), port.getValue(), view(network.getIp()));
}

/// Ports that the task's own `resources.network` asked for, the old kind.
void add_task_ports(Variables& to,
                    schema::AllocatedTaskResources::Reader resources,
                    const DriverNetwork& driver) {
  for (const auto network : resources.getNetworks())
    each_port(network, [&](std::string_view label, int port, std::string_view ip) {
      const auto mapped = driver.port_map.find(label);
      const int inside
          = mapped != driver.port_map.end() && mapped->second != 0 ? mapped->second : port;
      set_port(to, "IP", label, std::string{ip});
      set_port(to, "HOST_PORT", label, std::to_string(port));
      set_port(to, "ADDR", label, host_port(ip, port));
      set_port(to, "PORT", label, std::to_string(inside));
    });
}

void add_other_tasks_ports(Variables& to,
                           std::string_view task,
                           schema::AllocatedTaskResources::Reader resources) {
  for (const auto network : resources.getNetworks())
    each_port(network, [&](std::string_view label, int port, std::string_view ip) {
      const auto name = fmt::format("{}_{}", task, label);
      set_port(to, "ADDR", name, host_port(ip, port));
      set_port(to, "IP", name, std::string{ip});
      set_port(to, "PORT", name, std::to_string(port));
    });
}

void add_resources(Variables& to, const TaskEnvInput& input) {
  const auto resources = input.alloc.resources();
  if (const auto given = input.alloc.resources(input.task)) {
    const auto memory = given->getMemory();
    const auto cpu = given->getCpu();
    if (memory.getMemoryMb() != 0)
      set(to, "NOMAD_MEMORY_LIMIT", std::to_string(memory.getMemoryMb()));
    if (memory.getMemoryMaxMb() != 0)
      set(to, "NOMAD_MEMORY_MAX_LIMIT", std::to_string(memory.getMemoryMaxMb()));
    if (cpu.getCpuShares() != 0) set(to, "NOMAD_CPU_LIMIT", std::to_string(cpu.getCpuShares()));
    set_known(to, "NOMAD_CPU_CORES", core_list(cpu.getReservedCores()));
    add_task_ports(to, *given, input.network);
  }
  for (const auto entry : resources.getTasks())
    if (view(entry.getKey()) != input.task)
      add_other_tasks_ports(to, view(entry.getKey()), entry.getValue());
  add_group_ports(to, resources.getShared());
}

void add_identity(Variables& to, const TaskEnvInput& input) {
  const auto id = input.alloc.id();
  set_known(to, "NOMAD_ALLOC_ID", id);
  set_known(to, "NOMAD_SHORT_ALLOC_ID", id.substr(0, 8));
  set_known(to, "NOMAD_ALLOC_NAME", input.alloc.name());
  const int index = alloc_index(input.alloc.name());
  if (index >= 0) set(to, "NOMAD_ALLOC_INDEX", std::to_string(index));
  set_known(to, "NOMAD_GROUP_NAME", input.alloc.task_group());
  set_known(to, "NOMAD_TASK_NAME", input.task);
  set_known(to, "NOMAD_JOB_ID", view(input.job.getId()));
  set_known(to, "NOMAD_JOB_NAME", view(input.job.getName()));
  set_known(to, "NOMAD_JOB_PARENT_ID", view(input.job.getParentId()));
  set_known(to, "NOMAD_NAMESPACE", input.alloc.ns());
  set_known(to, "NOMAD_DC", input.datacenter);
  set_known(to, "NOMAD_PARENT_CGROUP", input.cgroup_parent);
  set_known(to, "NOMAD_REGION", input.region);
}

/// Job, group and task meta, the inner ones winning; each name as given and in upper case.
Variables meta_variables(const TaskEnvInput& input) {
  Variables meta;
  const auto add = [&meta](std::string_view key, std::string_view value) {
    std::string upper{key};
    for (auto& c : upper)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    set(meta, "NOMAD_META_" + upper, std::string{value});
    set(meta, fmt::format("NOMAD_META_{}", key), std::string{value});
  };
  if (input.job.getDispatched())
    for (const auto key : input.job.getParameterizedJob().getMetaOptional())
      add(view(key), "");
  const auto add_all = [&add](capnp::List<schema::TextEntry>::Reader entries) {
    for (const auto entry : entries)
      add(view(entry.getKey()), view(entry.getValue()));
  };
  add_all(input.job.getMeta());
  if (const auto group = find_group(input.job, input.alloc.task_group())) {
    add_all(group->getMeta());
    for (const auto task : group->getTasks())
      if (view(task.getName()) == input.task) add_all(task.getMeta());
  }
  return meta;
}

Variables own_variables(const TaskEnvInput& input) {
  Variables own;
  if (const auto group = find_group(input.job, input.alloc.task_group()))
    for (const auto task : group->getTasks())
      if (view(task.getName()) == input.task)
        for (const auto entry : task.getEnv())
          set(own, view(entry.getKey()), copy(entry.getValue()));
  return own;
}

std::optional<std::string_view> find(const Variables& in, std::string_view name) {
  const auto found = in.find(name);
  if (found == in.end()) return std::nullopt;
  return found->second;
}

/// The node's facts first, then variables: names cannot clash but by intent.
Lookup lookup_in(const Variables* node, const Variables* variables) {
  return [node, variables](std::string_view name) -> std::optional<std::string_view> {
    if (node != nullptr)
      if (const auto value = find(*node, name)) return value;
    return find(*variables, name);
  };
}

Variables cleaned(Variables variables) {
  static constexpr std::array<std::string_view, 5> prefixes{
      "NOMAD_ADDR_", "NOMAD_IP_", "NOMAD_PORT_", "NOMAD_HOST_PORT_", "NOMAD_META_"};
  Variables out;
  for (auto& [name, value] : variables) {
    const bool clean = std::any_of(
        prefixes.begin(), prefixes.end(),
        [name = std::string_view{name}](auto prefix) { return name.starts_with(prefix); });
    out.insert_or_assign(clean ? clean_variable(name) : name, std::move(value));
  }
  return out;
}

Variables build_variables(const TaskEnvInput& input,
                          const TaskPaths& paths,
                          const Variables& meta,
                          const Variables& own) {
  Variables all;
  set_known(all, "NOMAD_ALLOC_DIR", paths.alloc_dir);
  set_known(all, "NOMAD_TASK_DIR", paths.local_dir);
  set_known(all, "NOMAD_SECRETS_DIR", paths.secrets_dir);
  add_identity(all, input);
  add_resources(all, input);

  const auto lookup = lookup_in(input.node.get(), &all);
  for (const auto& [name, value] : meta)
    set(all, interpolate(name, lookup), interpolate(value, lookup));
  for (const auto& [name, value] : input.host)
    if (!all.contains(name)) set(all, name, interpolate(value, lookup));
  for (const auto& [name, value] : own)
    set(all, name, interpolate(value, lookup));
  for (const auto& [hook, variables] : input.hooks)
    for (const auto& [name, value] : variables)
      set(all, name, interpolate(value, lookup));
  for (const auto& [name, value] : input.templates)
    set(all, name, value);
  return cleaned(std::move(all));
}

bool is_below(std::string_view directory, std::string_view path) {
  if (directory.empty()) return false;
  return path == directory
         || (path.starts_with(directory) && path.size() > directory.size()
             && path[directory.size()] == '/');
}

}  // namespace

std::shared_ptr<const Variables> node_variables(schema::Node::Reader node,
                                                std::string_view region) {
  auto variables = std::make_shared<Variables>();
  if (!region.empty()) set(*variables, "node.region", std::string{region});
  set(*variables, "node.unique.id", copy(node.getId()));
  set(*variables, "node.unique.name", copy(node.getName()));
  set(*variables, "node.class", copy(node.getNodeClass()));
  set(*variables, "node.datacenter", copy(node.getDatacenter()));
  for (const auto entry : node.getAttributes())
    set(*variables, fmt::format("attr.{}", view(entry.getKey())), copy(entry.getValue()));
  for (const auto entry : node.getMeta())
    set(*variables, fmt::format("meta.{}", view(entry.getKey())), copy(entry.getValue()));
  return variables;
}

TaskEnv TaskEnv::build(const TaskEnvInput& input) {
  const auto meta = meta_variables(input);
  const auto own = own_variables(input);
  TaskEnv env;
  env.variables_ = build_variables(input, input.task_paths, meta, own);
  if (input.client_paths != input.task_paths)
    env.client_variables_ = build_variables(input, input.client_paths, meta, own);
  env.node_ = input.node;
  env.client_task_dir_ = input.client_task_dir;
  env.client_alloc_dir_ = input.client_paths.alloc_dir;
  return env;
}

void TaskEnv::write(schema::plugin::TaskEnvironment::Builder to) const {
  fill_entries(to.initVariables(variables_.size()), variables_);
  fill_entries(to.initClientVariables(client_variables().size()), client_variables());
  if (node_) fill_entries(to.initNode(node_->size()), *node_);
  to.setTaskDirectory(text(client_task_dir_));
  to.setAllocDirectory(text(client_alloc_dir_));
}

std::vector<std::string> TaskEnv::list() const {
  std::vector<std::string> all;
  all.reserve(variables_.size());
  for (const auto& [name, value] : variables_)
    all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::string TaskEnv::replace(std::string_view text) const {
  return interpolate(text, [this](std::string_view name) -> std::optional<std::string_view> {
    if (const auto value = find(variables_, name)) return value;
    return node_ ? find(*node_, name) : std::nullopt;
  });
}

std::string TaskEnv::replace_client(std::string_view text) const {
  return interpolate(text, [this](std::string_view name) -> std::optional<std::string_view> {
    if (const auto value = find(client_variables(), name)) return value;
    return node_ ? find(*node_, name) : std::nullopt;
  });
}

TaskEnv::ClientPath TaskEnv::client_path(std::string_view raw, bool join_escaping) const {
  const auto escapes = [this](const std::string& path) {
    return !is_below(client_task_dir_, path) && !is_below(client_alloc_dir_, path);
  };
  auto path = std::filesystem::path{replace_client(raw)}.lexically_normal().string();
  if (!path.starts_with('/') || (join_escaping && escapes(path)))
    path = std::filesystem::path{client_task_dir_ + "/" + path}.lexically_normal().string();
  // In a root of its own the task has the group's directory there.
  constexpr std::string_view inside = "/alloc";
  if (const auto hidden = client_task_dir_ + std::string{inside};
      find(variables_, "NOMAD_ALLOC_DIR") == inside && is_below(hidden, path))
    path.replace(0, hidden.size(), client_alloc_dir_);
  return {.path = path, .escapes = escapes(path)};
}

int alloc_index(std::string_view alloc_name) {
  const auto open = alloc_name.rfind('[');
  if (open == alloc_name.npos || !alloc_name.ends_with(']')) return -1;
  const auto digits = alloc_name.substr(open + 1, alloc_name.size() - open - 2);
  return whole_number<int>(digits).value_or(-1);
}

}  // namespace nomad::workload
