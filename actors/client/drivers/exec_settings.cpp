#include "actors/client/drivers/exec_settings.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/host/isolation/isolation.hpp"

namespace nomad::client {
namespace {

Result<host::CapabilitySet> read_capabilities(const std::string& key,
                                              const std::vector<std::string>& names) {
  auto set = host::parse_capabilities(names);
  if (set) return set;
  return Error{Errc::invalid_argument,
               key + " configured with capabilities not supported by system: " + set.error().what};
}

Result<bool> read_flag(const std::string& key, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return Error{Errc::invalid_argument, key + ": expected true or false, got \"" + text + '"'};
}

Result<std::uint64_t> read_count(const std::string& key, const std::string& text) {
  if (const auto count = whole_number<std::uint64_t>(text)) return *count;
  return Error{Errc::invalid_argument,
               key + ": expected a number that is not negative, got \"" + text + '"'};
}

}  // namespace

Result<ExecSettings> read_exec_settings(const std::map<std::string, std::string>& config) {
  ExecSettings settings;
  for (const auto& [key, text] : config) {
    if (key == "no_pivot_root") settings.pivot = !NOMAD_TRY(read_flag(key, text));
    if (key == "default_pid_mode")
      settings.private_pids = NOMAD_TRY(host::is_private(key, text, true));
    if (key == "default_ipc_mode")
      settings.private_ipc = NOMAD_TRY(host::is_private(key, text, true));
    if (key == "allow_caps") {
      std::vector<std::string> names;
      for (const auto name : split(text, ','))
        names.emplace_back(name);
      settings.allowed = NOMAD_TRY(read_capabilities(key, names));
    }
    if (key == "no_new_privs") settings.no_new_privileges = NOMAD_TRY(read_flag(key, text));
    if (key == "seccomp") settings.filter = NOMAD_TRY(read_flag(key, text));
    if (key == "pids_limit") settings.pids = NOMAD_TRY(read_count(key, text));
  }
  return settings;
}

Result<ExecTaskSettings> read_exec_task(const ConfigReader& config, const ExecSettings& agent) {
  const auto wrong = [](const Error& err) {
    return Error{err.code, "failed driver config validation: " + err.what};
  };
  ExecTaskSettings task;
  const auto pids = host::is_private("pid_mode", config.text("pid_mode"), agent.private_pids);
  if (!pids) return wrong(pids.error());
  const auto ipc = host::is_private("ipc_mode", config.text("ipc_mode"), agent.private_ipc);
  if (!ipc) return wrong(ipc.error());
  const auto added = read_capabilities("cap_add", config.texts("cap_add"));
  if (!added) return wrong(added.error());
  const auto dropped = read_capabilities("cap_drop", config.texts("cap_drop"));
  if (!dropped) return wrong(dropped.error());
  task.private_pids = *pids;
  task.private_ipc = *ipc;
  task.capabilities = NOMAD_TRY(
      host::task_capabilities({.allowed = agent.allowed, .added = *added, .dropped = *dropped}));
  return task;
}

}  // namespace nomad::client
