// What other programs, and lists of processes, learn of a command's secrets; and who learns them by
// design: the agent, with each request.
#include "cli/programs.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

/// The command line as a list of processes shows it once the secrets are hidden.
std::vector<std::string> shown_words(std::vector<std::string> words) {
  std::vector<char*> line;
  for (auto& word : words)
    line.push_back(word.data());
  hide_secrets(static_cast<int>(line.size()), line.data());
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("hide_secrets: tokens and keys leave the command line, all else stays") {
  CHECK(shown_words({"nomadctl", "status", "-token", "5ec2e7", "web"})
        == Words{"nomadctl", "status", "-token", "xxxxxx", "web"});
  CHECK(shown_words({"nomadctl", "status", "--token=5ec2e7", "-address=http://a"})
        == Words{"nomadctl", "status", "--token=xxxxxx", "-address=http://a"});
  CHECK(shown_words({"nomadctl", "login", "-login-token", "a.b.c"})
        == Words{"nomadctl", "login", "-login-token", "xxxxx"});
  CHECK(shown_words({"nomadctl", "job", "run", "-vault-token=s", "-consul-token", "t", "x"})
        == Words{"nomadctl", "job", "run", "-vault-token=x", "-consul-token", "x", "x"});
  CHECK(shown_words({"nomadctl", "agent", "-encrypt", "key"})
        == Words{"nomadctl", "agent", "-encrypt", "xxx"});
  CHECK(shown_words({"nomadctl", "operator", "api", "-H", "x-nomad-TOKEN: s"})
        == Words{"nomadctl", "operator", "api", "-H", "xxxxxxxxxxxxxxxx"});
  CHECK(shown_words({"nomadctl", "operator", "api", "-H=Authorization: Bearer s", "/v1/x:y"})
        == Words{"nomadctl", "operator", "api", std::string(26, 'x'), "/v1/x:y"});
  CHECK(shown_words({"nomadctl", "acl", "auth-method", "create", "-config", R"({"a":1})"})
        == Words{"nomadctl", "acl", "auth-method", "create", "-config", "xxxxxxx"});
  CHECK(shown_words({"nomadctl", "acl", "auth-method", "create", R"(-config={"a":1})"})
        == Words{"nomadctl", "acl", "auth-method", "create", "-config=xxxxxxx"});
  CHECK(shown_words({"nomadctl", "agent", "-config", "@{x}", "-config=/etc/nomad.d"})
        == Words{"nomadctl", "agent", "-config", "@{x}", "-config=/etc/nomad.d"});
  CHECK(shown_words({"nomadctl", "-token"}) == Words{"nomadctl", "-token"});
  CHECK(shown_words({"nomadctl", "acl", "token", "info", "-", "--", "acc"})
        == Words{"nomadctl", "acl", "token", "info", "-", "--", "acc"});
}

TEST_CASE("environment_without_secrets: has neither tokens nor passwords") {
  ::setenv("NOMAD_TOKEN", "5ec2e7", 1);
  ::setenv("VAULT_TOKEN", "5ec2e7", 1);
  ::setenv("NOMAD_TOKENS", "kept", 1);
  const auto environment = environment_without_secrets();
  for (const auto* name : {"NOMAD_TOKEN", "VAULT_TOKEN", "NOMAD_TOKENS"})
    ::unsetenv(name);
  CHECK(std::ranges::none_of(
      environment, [](const std::string& one) { return one.find("5ec2e7") != std::string::npos; }));
  CHECK(std::ranges::count(environment, "NOMAD_TOKENS=kept") == 1);
}

TEST_CASE("commands: send the token with every request, streams and websockets among them") {
  test::FakeAgent agent;
  const std::string alloc = "0a1b2c3d-0000-0000-0000-000000000000";
  const auto object
      = R"({"ID":")" + alloc
        + R"(","Name":"web.app[0]","TaskGroup":"app","JobID":"web",)"
          R"("ClientStatus":"running","Job":{"TaskGroups":[{"Name":"app","Tasks":[{"Name":"t"}]}]},)"
          R"("TaskStates":{"t":{"State":"running"}}})";
  agent.answer("GET /v1/allocations", "[" + object + "]");
  agent.answer("GET /v1/allocation/" + alloc, object);
  for (const auto& [command, words] :
       {std::pair<test::FakeAgent::Command, Words>{run_alloc_exec, {alloc, "true"}},
        {run_alloc_logs, {alloc}},
        {run_monitor, {}},
        {run_operator_api, {"/v1/jobs"}}}) {
    auto arguments = words;
    arguments.insert(arguments.begin(), {"-token", "5ec2e7"});
    agent.run(command, arguments);
    REQUIRE_FALSE(agent.asked.empty());
    CAPTURE(agent.asked.back());
    for (const auto& token : agent.tokens)
      CHECK(token == "5ec2e7");
    CHECK(agent.err.find("5ec2e7") == std::string::npos);
    if (command == run_alloc_exec) CHECK(agent.asked.back().find("/exec?") != std::string::npos);
  }
}

TEST_CASE("programs: one that is not installed is named with the places that were looked at") {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(find_program("nomadctl-nobody", "nowhere").error()
        == Error{Errc::not_found, "nomadctl-nobody is neither beside " + self + " nor in "
                                      + self.substr(0, self.rfind('/')) + "/../libexec/nomadctl"});
}
