// ClientOptions: the configuration of a client node, as values. The agent fills it from its
// configuration, and gives the client others when that was read again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/host/fingerprint/fingerprint.hpp"
#include "runtime/net/byte_stream.hpp"
#include "runtime/network/alloc_networks.hpp"
#include "runtime/workload/gc_choice.hpp"
#include "runtime/workload/sync_buffer.hpp"

namespace nomad::client {

struct TemplateSettings;

struct HostVolume {
  std::string path;
  bool read_only = false;
};

/// Kept from the scheduler.
struct Reserved {
  std::uint64_t cpu_mhz = 0;
  std::uint64_t memory_mb = 0;
  std::uint64_t disk_mb = 0;
  std::string ports;
  std::vector<std::uint16_t> cores;
};

struct ClientOptions {
  bool dev = false;  ///< Nothing outlives the agent: it kills its tasks when it ends.

  std::string state_dir;
  std::string alloc_dir;
  std::string executor_path;  ///< Of nomadctl-executor.
  std::string csi_path{};     ///< Of nomadctl-csi; empty: CSI plugins can't be asked.

  std::string region = "global";
  std::string datacenter = "dc1";
  std::string node_name;  ///< Empty: the host's name.
  std::string node_class;
  std::string node_pool = "default";
  std::string http_address;  ///< Where the agent's API is reached, "127.0.0.1:4646".
  bool tls = false;
  net::Connector peers{};  ///< To the APIs of other nodes; empty: without TLS.
  std::string cgroup_parent;
  std::map<std::string, std::string> meta;
  std::map<std::string, HostVolume> host_volumes;
  host::FingerprintOptions fingerprint;  ///< Its alloc_dir is set from above.
  Reserved reserved;
  network::NetworkOptions network{};  ///< Its state_dir is set from above.
  std::int64_t min_dynamic_port = 20'000;
  std::int64_t max_dynamic_port = 32'000;

  /// `client { options { … } }`: driver.allowlist, driver.denylist, fingerprint.allowlist,
  /// fingerprint.denylist, env.denylist, user.denylist, user.checked_drivers (comma-separated
  /// lists).
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> chroot_env;  ///< Host path to task path; empty: the usual.
  std::vector<std::string> private_dirs;          ///< Of the agent, that no task is to see.

  /// By driver: `plugin "<driver>" { config { … } }`.
  std::map<std::string, std::map<std::string, std::string>> drivers;

  std::shared_ptr<const TemplateSettings> templates{};  ///< Null: the usual ones.

  bool disable_remote_exec = false;  ///< No command may be run beside a task.
  std::chrono::nanoseconds max_kill_timeout = std::chrono::seconds{30};
  /// Between two readings of what a task uses, while they are streamed.
  std::chrono::nanoseconds usage_interval = std::chrono::seconds{1};
  bool keeps_usage = false;  ///< What tasks and the machine have used is read each 10 s, and kept.
  workload::GcLimits gc;
  std::chrono::nanoseconds gc_interval = std::chrono::minutes{1};
  /// How often the directory of each allocation is looked at; 0: never.
  std::chrono::nanoseconds disk_look_interval{0};
  bool disk_enforce = false;  ///< Tasks end whose allocation holds more than its ephemeral_disk.
  workload::SyncOptions sync;

  std::function<std::int64_t()> unix_now;  ///< Wall clock in nanoseconds; empty: the system's.
  std::uint64_t seed = 0;                  ///< Of all chance in the client; 0: the system's.
};

}  // namespace nomad::client
