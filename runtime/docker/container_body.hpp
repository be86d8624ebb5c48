// ContainerBody: what the engine is asked to make of a task: the body of POST /containers/create.
// Pure, but for the reading of what paths of the task's directory lead to and of seccomp profiles.
//
// Rules, which are Nomad's: what a task may mount of the host, which capabilities, runtimes and
// privileges it may have, is the agent's to allow; the first thing that is not allowed is the
// error.
//
// May depend on: runtime/base, runtime/object, runtime/host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "runtime/docker/settings.hpp"

namespace nomad::docker {

/// Labels of our containers; those of jobs and images never take their place. Whose a container is
/// says its name, too, which no job or image can give it. The first label is Nomad's.
namespace label {
inline constexpr const char* alloc = "com.hashicorp.nomad.alloc_id";
inline constexpr const char* task = "nomadctl.task";
inline constexpr const char* run = "nomadctl.run";
inline constexpr const char* agent = "nomadctl.agent";  ///< Whose it is: the client's state_dir.
}  // namespace label

struct PortBinding {
  std::string label;
  std::int64_t value = 0;
  std::int64_t to = 0;
  std::string host_ip;
};

struct HostMount {
  std::string task_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation;  ///< "private", "host-to-task" or "bidirectional"
};

struct HostDevice {
  std::string task_path;
  std::string host_path;
  std::string permissions;
};

struct Origin {
  std::string namespace_name;
  std::string job_id;
  std::string job_name;
  std::string parent_job_id;
  std::string group;
  std::string node_id;
  std::string node_name;
};

/// A task as it is to be started.
struct ContainerSpec {
  std::string alloc_id;
  std::string task;
  std::string run_id;
  std::string agent;  ///< Of the label.
  std::string image;
  TaskSettings settings;
  std::vector<std::string> environment;
  std::string user;
  std::string alloc_root;
  std::string task_directory;
  std::string binds_location = {};  ///< Where binds are held; empty: they are only looked at.
  bool keeps_logs = true;           ///< In files below the root.
  std::uint32_t log_files = 10;
  std::uint64_t log_bytes = 10 * 1024 * 1024;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_max_bytes = 0;
  std::uint64_t cpu_shares = 0;
  std::uint64_t node_cpu_shares = 0;
  std::string cpuset;
  unsigned cores = 1;                   ///< Of the machine.
  std::vector<PortBinding> ports;       ///< Of the group.
  std::vector<PortBinding> task_ports;  ///< Of the task's own network, the old kind.
  std::vector<HostMount> mounts;
  std::vector<HostDevice> devices;
  std::string network_container;  ///< Id of the one that holds the group's network; or none.
  Origin origin;
};

/// "web-7c9f…": the name of a task's container.
std::string container_name(std::string_view task, std::string_view alloc_id);

/// "nomad_init_7c9f…": of the container that holds an allocation's network.
std::string infra_name(std::string_view alloc_id);

/// Whether the settings ask for the network that the task's group has (`network_mode` says
/// nothing).
bool joins_group_network(const TaskSettings& settings);

/// `invalid_argument` or `rejected` in Nomad's words.
Result<boost::json::object> container_body(const ContainerSpec& spec, const AgentSettings& agent);

/// `hosts`, the text of a file /etc/hosts, with the entries "name:address" that it has not yet:
/// what `extra_hosts` means in the network of a group, whose hosts no engine writes.
/// `invalid_argument` for what is no such entry; `host-gateway` is a word of the engine's.
Result<std::string> with_extra_hosts(std::string hosts, const std::vector<std::string>& entries);

struct InfraSpec {
  std::string alloc_id;
  std::string agent;
  std::string image;
  std::string hostname;
  std::string program;            ///< nomadctl-executor, on the host.
  std::string network_namespace;  ///< Path on the host.
};

/// A container whose only process enters the namespace and waits: those that join its network are
/// in that namespace then.
boost::json::object infra_body(const InfraSpec& spec);

struct CapabilityDelta {
  std::vector<std::string> add;
  std::vector<std::string> drop;
};

/// What has to be added to and taken from the engine's own defaults. `rejected` for capabilities
/// that the agent does not allow.
Result<CapabilityDelta> capability_delta(const TaskSettings& task, host::CapabilitySet allowed);

/// The sources of volumes as the engine gets them: "source:target[:mode]". `rejected` for paths of
/// the host that the agent does not allow, also where a link in the task's directory leads there.
/// Those of the allocation's directory are held (held_binds.hpp).
Result<std::vector<std::string>> container_binds(const ContainerSpec& spec,
                                                 const AgentSettings& agent);
Result<boost::json::array> container_mounts(const ContainerSpec& spec, const AgentSettings& agent);

}  // namespace nomad::docker
