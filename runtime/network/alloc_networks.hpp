// AllocNetworks: makes the networks of allocations, finds them again after a restart of the agent,
// and takes them down without a rest.
//
// An allocation's network is a named namespace and what CNI plugins made in it, or nothing in mode
// "none". Beside each namespace stands a record, a file of `<state_dir>/networks`: it is written
// before a plugin is called and after it has answered, so that whoever comes later knows what is to
// be undone, even if the database of the client is lost. The records are not synced: what they tell
// of does not outlive the kernel (but for addresses that host-local keeps reserved, which a DEL
// gives back).
//
// What `join` finds:
//   - a complete network that passes CHECK: it is as it was;
//   - one that does not (somebody deleted the bridge, a rule): it is made anew in its namespace,
//     with the same address if that can be had;
//   - no namespace, but a record: a new one; whoever runs in the old one has to be started again;
//   - an incomplete one: it is undone and made anew.
//
// Blocks for as long as the plugins do, and pauses between tries. Any thread; of the calls for one
// allocation, whoever makes them, one runs at a time.
//
// May depend on: runtime/base, host/process.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/process/run_program.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/network/network_record.hpp"

namespace nomad::network {

/// What the agent's configuration says.
struct NetworkOptions {
  std::string state_dir;  ///< The client's own.
  std::string cni_path = "/opt/cni/bin:/usr/lib/cni";
  std::string cni_config_dir = "/opt/cni/config";
  BridgeOptions bridge{};
  bool every_address = true;  ///< As `port_mappings` has it.
  std::string namespace_dir = "/run/netns";
  std::chrono::milliseconds plugin_timeout = std::chrono::seconds{30};

  bool operator==(const NetworkOptions&) const = default;
};

/// What it works with; tests give others than `real_tools`.
struct NetworkTools {
  std::function<Result<host::ProgramEnded>(const host::ProgramRun&)> run;
  std::function<bool(const std::string& name)> has_namespace;
  std::function<Result<>(const std::string& name)> make_namespace;
  std::function<Result<>(const std::string& name)> remove_namespace;
  /// Whether a process of the host has the port.
  std::function<bool(const PortMapping&)> is_taken;
  /// Kills the programs that were started with this file as `ProgramRun::held` and have not ended,
  /// with what they have started; false if there is none.
  std::function<bool(const std::string& path)> end_holders;
  /// Lets time pass.
  std::function<void(std::chrono::milliseconds)> wait;
};

NetworkTools real_tools(const NetworkOptions& options);

/// What an allocation asks for.
struct NetworkSpec {
  std::string alloc_id;
  std::string mode;  ///< "none", "bridge" or "cni/<name>"
  std::vector<PortMapping> mappings{};
};

struct Joined {
  std::string namespace_path;
  std::optional<NetworkStatus> status{};  ///< Nothing in mode "none".
  /// What has run in the network so far has another one, or knows it by another address.
  bool is_other = false;
  std::vector<std::string> news{};  ///< What users are to hear.
};

class AllocNetworks {
public:
  AllocNetworks(NetworkOptions options, NetworkTools tools)
      : options_{std::move(options)}, tools_{std::move(tools)} {}

  /// Errors say which plugin failed, and why; everything is undone then, but for a namespace that
  /// was there before, in which tasks may run.
  Result<Joined> join(const NetworkSpec& spec, const std::stop_token& stopped) const;

  /// Fine if there is none. After an error the record stays, and another call tries again.
  Result<> leave(const std::string& alloc_id) const;

  /// The allocations that have records.
  std::vector<std::string> recorded() const;

  /// Goes on after an error, and gives the last one.
  Result<> leave_all(const std::vector<std::string>& alloc_ids) const;

private:
  Result<Joined> join_in_turn(const NetworkSpec& spec, const std::stop_token& stopped) const;
  Result<> leave_in_turn(const std::string& alloc_id) const;
  std::string record_path(const std::string& alloc_id) const;
  std::string lock_path(const std::string& alloc_id) const;
  Result<host::UniqueFd> lock_of_plugins(const std::string& alloc_id) const;
  void pause(const std::stop_token& stopped) const;
  Result<std::optional<NetworkRecord>> load(const std::string& alloc_id) const;
  Result<> save(const std::string& alloc_id, const NetworkRecord& record) const;
  Result<> forget(const std::string& alloc_id) const;

  Result<std::string> program_of(const CniPlugin& plugin) const;
  Result<CniNetwork> network_of(const std::string& mode) const;
  Result<NetworkRecord> plan(const NetworkSpec& spec, std::vector<std::string>& news) const;
  /// What the plugin printed; why it failed is also told by `cause`.
  Result<std::string> call(CniVerb verb,
                           const CniTarget& target,
                           const NetworkRecord& record,
                           const CniPlugin& plugin,
                           CniError::Cause* cause = nullptr) const;
  CniTarget target_of(const std::string& alloc_id) const;
  Result<> admit(const std::string& mode) const;
  Result<> check(const std::string& alloc_id, const NetworkRecord& record) const;
  Result<> add(const CniTarget& target,
               NetworkRecord& record,
               const std::stop_token& stopped) const;
  Result<> add_patiently(const NetworkSpec& spec,
                         std::string wanted_ip,
                         NetworkRecord& record,
                         const std::stop_token& stopped) const;
  Result<> undo(const std::string& alloc_id, const NetworkRecord& record) const;
  Result<std::string> saved_rules(std::string_view family) const;
  Result<> sweep(std::string_view family,
                 const std::string& alloc_id,
                 const std::vector<std::string>& addresses) const;
  bool is_false_alarm(CniError::Cause cause,
                      const std::string& alloc_id,
                      const NetworkRecord& record) const;

  NetworkOptions options_;
  NetworkTools tools_;
};

}  // namespace nomad::network
