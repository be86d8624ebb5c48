// The settings of the driver exec: the agent's (`plugin "exec"`) and a task's (`config`), checked.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "actors/client/drivers/config_reader.hpp"
#include "runtime/base/result.hpp"
#include "runtime/host/isolation/capabilities.hpp"

namespace nomad::client {

/// Of the agent, for all tasks.
struct ExecSettings {
  bool pivot = true;
  bool private_pids = true;
  bool private_ipc = true;
  host::CapabilitySet allowed = host::default_capabilities();
  bool no_new_privileges = true;  ///< Ours: programs that would change the user do not.
  bool filter = true;             ///< Ours: system calls are filtered.
  std::uint64_t pids = 0;         ///< Ours: the most processes of a task; 0: no limit.
};

/// Of one task.
struct ExecTaskSettings {
  bool private_pids = true;
  bool private_ipc = true;
  host::CapabilitySet capabilities{};
};

/// `invalid_argument` says which key is wrong.
Result<ExecSettings> read_exec_settings(const std::map<std::string, std::string>& config);

/// `invalid_argument` or `rejected` says what is wrong, in Nomad's words.
Result<ExecTaskSettings> read_exec_task(const ConfigReader& config, const ExecSettings& agent);

}  // namespace nomad::client
