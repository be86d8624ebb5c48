#include "actors/client/drivers/exec_settings.hpp"

#include <doctest/doctest.h>

#include "actors/client/hooks/user_rules.hpp"

using namespace nomad;
using namespace nomad::client;

namespace {

Result<ExecTaskSettings> task_settings(const char* config, const ExecSettings& agent = {}) {
  return read_exec_task(ConfigReader::parse(config).value(), agent);
}

std::string refusal(const std::map<std::string, std::string>& config) {
  const auto read = read_exec_settings(config);
  return read ? "" : read.error().what;
}

}  // namespace

TEST_CASE("exec settings: an agent that says nothing isolates as Nomad's does, and more strictly") {
  const auto settings = read_exec_settings({}).value();
  CHECK(settings.pivot);
  CHECK(settings.private_pids);
  CHECK(settings.private_ipc);
  CHECK(settings.allowed == host::default_capabilities());
  CHECK(settings.no_new_privileges);
  CHECK(settings.filter);
  CHECK(settings.pids == 0);
}

TEST_CASE("exec settings: each key of an agent has its effect") {
  const auto settings = read_exec_settings({{"no_pivot_root", "true"},
                                            {"default_pid_mode", "host"},
                                            {"default_ipc_mode", "host"},
                                            {"allow_caps", "chown,CAP_NET_RAW"},
                                            {"no_new_privs", "false"},
                                            {"seccomp", "false"},
                                            {"pids_limit", "100"}})
                            .value();
  CHECK_FALSE(settings.pivot);
  CHECK_FALSE(settings.private_pids);
  CHECK_FALSE(settings.private_ipc);
  CHECK(host::to_text(settings.allowed) == "chown, net_raw");
  CHECK_FALSE(settings.no_new_privileges);
  CHECK_FALSE(settings.filter);
  CHECK(settings.pids == 100);
  CHECK(read_exec_settings({{"allow_caps", ""}}).value().allowed.empty());
}

TEST_CASE("exec settings: an agent's values that mean nothing are refused by their key") {
  CHECK(refusal({{"default_pid_mode", "shared"}})
        == "default_pid_mode must be \"private\" or \"host\", got \"shared\"");
  CHECK(refusal({{"default_ipc_mode", "x"}})
        == "default_ipc_mode must be \"private\" or \"host\", got \"x\"");
  CHECK(refusal({{"allow_caps", "chown,flying"}})
        == "allow_caps configured with capabilities not supported by system: flying");
  CHECK(refusal({{"pids_limit", "-1"}})
        == "pids_limit: expected a number that is not negative, got \"-1\"");
  CHECK(refusal({{"no_pivot_root", "perhaps"}})
        == "no_pivot_root: expected true or false, got \"perhaps\"");
}

TEST_CASE("exec settings: a task takes the agent's modes unless it has its own") {
  const ExecSettings agent{.private_pids = false};
  CHECK_FALSE(task_settings("{}", agent)->private_pids);
  CHECK(task_settings(R"({"pid_mode":"private"})", agent)->private_pids);
  CHECK(task_settings("{}", agent)->private_ipc);
  CHECK_FALSE(task_settings(R"({"ipc_mode":"host"})", agent)->private_ipc);
  CHECK(
      task_settings(R"({"ipc_mode":"none"})").error().what
      == "failed driver config validation: ipc_mode must be \"private\" or \"host\", got \"none\"");
}

TEST_CASE("exec settings: a task's capabilities are those of the agent, less and more as allowed") {
  CHECK(task_settings("{}")->capabilities == host::default_capabilities());
  CHECK(host::to_text(task_settings(R"({"cap_drop":["all"],"cap_add":["chown"]})")->capabilities)
        == "chown");
  CHECK(task_settings(R"({"cap_add":["net_raw"]})").error().what
        == "driver does not allow the following capabilities: net_raw");
  CHECK(task_settings(R"({"cap_drop":["flying"]})").error().what
        == "failed driver config validation: cap_drop configured with capabilities not supported by "
           "system: flying");
}

TEST_CASE(
    "user rules: root is refused to isolating drivers unless the client's options say otherwise") {
  const auto usual = read_user_rules({});
  CHECK(usual.refused.contains("root"));
  CHECK(usual.drivers.contains("exec"));
  CHECK_FALSE(usual.drivers.contains("raw_exec"));

  const auto none = read_user_rules({{"user.denylist", ""}});
  CHECK(none.refused.empty());
  CHECK(none.drivers.contains("exec"));

  const auto own = read_user_rules(
      {{"user.denylist", "root, www-data"}, {"user.checked_drivers", "raw_exec"}});
  CHECK(own.refused.contains("www-data"));
  CHECK(own.drivers.contains("raw_exec"));
  CHECK_FALSE(own.drivers.contains("exec"));
}
