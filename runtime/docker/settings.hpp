// The settings of the driver docker: the agent's (`plugin "docker"`) and a task's (`config`), as
// values. Pure.
//
// What may stand in a task's `config` was seen to before (the driver's description); here it gets
// its meaning, and what no engine could make sense of is refused in Nomad's words.
//
// May depend on: runtime/base, runtime/object, runtime/host.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"
#include "runtime/host/isolation/capabilities.hpp"

namespace nomad::docker {

using Texts = std::map<std::string, std::string>;

/// The `invalid_argument` of a setting that no container can have; `what` in Nomad's words.
Error wrong_setting(std::string what);

/// Of the agent, for all tasks. The defaults are Nomad's.
struct AgentSettings {
  std::string socket = "/var/run/docker.sock";  ///< Path of the engine's.
  std::string auth_config{};                    ///< Path of a file config.json.
  std::string auth_helper{};                    ///< "ecr-login" for docker-credential-ecr-login.
  std::vector<std::string> extra_labels{};      ///< Patterns: "job_*".
  std::string log_driver = "json-file";
  Texts log_options{{"max-file", "2"}, {"max-size", "2m"}};
  bool collects_logs = true;
  bool removes_images = true;
  Nanoseconds image_delay = std::chrono::minutes{3};
  bool removes_containers = true;
  bool ends_dangling = true;
  bool only_tells_dangling = false;
  Nanoseconds dangling_period = std::chrono::minutes{5};
  Nanoseconds creation_grace = std::chrono::minutes{5};
  bool allows_volumes = false;
  std::string selinux_label{};
  bool allows_privileged = false;
  host::CapabilitySet allowed = host::default_capabilities();
  std::vector<std::string> runtimes{"runc", "nvidia"};
  std::string gpu_runtime = "nvidia";
  std::string infra_image{};  ///< Empty: the image of the task for which one is needed first.
  Nanoseconds infra_pull_timeout = std::chrono::minutes{5};
  Nanoseconds pull_activity_timeout = std::chrono::minutes{2};
  std::int64_t pids_limit = 0;  ///< 0: none.
};

/// `config` is what configuration files say, by the keys' paths ("gc.image"). `invalid_argument`
/// says which key is wrong.
Result<AgentSettings> read_agent_settings(const Texts& config);

struct Auth {
  std::string username{};
  std::string password{};
  std::string email{};
  std::string server{};
  std::string identity_token{};
  std::string registry_token{};

  /// As Nomad judges it, which does not look at tokens.
  bool empty() const {
    return username.empty() && password.empty() && email.empty() && server.empty();
  }
};

struct DeviceSetting {
  std::string host_path;
  std::string container_path;
  std::string permissions;
};

struct MountSetting {
  std::string type;  ///< "volume", "bind" or "tmpfs"
  std::string source;
  std::string target;
  bool read_only = false;
  std::string propagation{};
  std::int64_t tmpfs_bytes = 0;
  std::int64_t tmpfs_mode = 0;
  bool no_copy = false;
  Texts volume_labels{};
  std::string volume_driver{};
  Texts volume_options{};
};

struct UlimitSetting {
  std::string name;
  std::int64_t soft = 0;
  std::int64_t hard = 0;
};

/// Of one task. Empty texts and lists, and 0, are what was not said.
struct TaskSettings {
  std::string image;  ///< Without "https://".
  std::string command;
  std::vector<std::string> args;
  std::vector<std::string> entrypoint;
  Auth auth;
  bool auth_soft_fail = false;
  bool force_pull = false;
  std::string load;  ///< An archive below local/.
  Nanoseconds pull_timeout = std::chrono::minutes{5};
  std::vector<std::string> ports;
  std::map<std::string, std::int64_t> port_map;
  std::string network_mode;
  std::vector<std::string> network_aliases;
  std::string hostname;
  std::string ipv4_address;
  std::string ipv6_address;
  bool advertises_ipv6 = false;
  std::string mac_address;
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;
  std::vector<std::string> extra_hosts;
  std::vector<std::string> volumes;
  std::string volume_driver;
  std::vector<MountSetting> mounts;
  Texts storage_options;
  std::vector<DeviceSetting> devices;
  std::string work_dir;
  bool readonly_rootfs = false;
  std::int64_t shm_bytes = 0;
  std::vector<std::string> cap_add;
  std::vector<std::string> cap_drop;
  bool privileged = false;
  std::vector<std::string> security_options;
  Texts sysctls;
  std::vector<UlimitSetting> ulimits;
  std::string userns_mode;
  std::vector<std::string> groups;
  std::string runtime;
  bool cpu_hard_limit = false;
  std::int64_t cpu_period = 100000;  ///< Microseconds.
  std::string cpuset;
  std::int64_t memory_hard_mb = 0;
  std::int64_t pids_limit = 0;
  Texts labels;
  std::string log_driver;
  bool has_log_options = false;
  Texts log_options;
  bool no_healthcheck = false;
  bool init = false;
  bool interactive = false;
  bool tty = false;
  std::string ipc_mode;
  std::string pid_mode;
  std::string uts_mode;
};

/// `config` as the driver's description lets it stand. `invalid_argument` in Nomad's words.
Result<TaskSettings> read_task_settings(const boost::json::object& config);

/// The members of a JSON object of the kinds that are asked for; what is of another kind is not
/// there.
class Members {
public:
  explicit Members(const boost::json::object& of) : of_{of} {}

  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise = 0) const;
  std::uint64_t count(std::string_view name) const;  ///< 0 without one, and for negative ones.
  bool flag(std::string_view name, bool otherwise = false) const;
  std::vector<std::string> texts(std::string_view name) const;
  Texts map(std::string_view name) const;
  Members object(std::string_view name) const;  ///< An empty one without one.

  bool has(std::string_view name) const { return find(name) != nullptr; }

  const boost::json::value* find(std::string_view name) const;

private:
  const boost::json::object& of_;
};

}  // namespace nomad::docker
