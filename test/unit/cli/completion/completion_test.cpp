// Completion: what can follow on a line, and how shells are told to ask.
#include "cli/completion/completion.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "cli/completion/shell_files.hpp"
#include "cli/run.hpp"
#include "test/unit/cli/capture.hpp"
#include "test/unit/cli/fake_agent.hpp"

namespace fs = std::filesystem;
using namespace nomad;
using namespace nomad::cli;
using Words = std::vector<std::string>;

namespace {

constexpr Command completed_commands[] = {
    {"alloc fs", "", run_alloc_fs}, {"alloc logs", "", run_alloc_logs},
    {"fmt", "", run_fmt},           {"job init", "", run_job_init},
    {"job plan", "", run_job_plan}, {"job revert", "", run_job_revert},
    {"job run", "", run_job_run},   {"job status", "Lists the jobs", run_job_status},
    {"run", "", run_job_run},       {"service info", "", run_service_info},
    {"status", "", run_status},     {"version", "", run_version},
};
constexpr CommandTree command_table{completed_commands, {}};

/// The texts of what can follow.
Words texts(std::string_view line) {
  Words out;
  for (const Candidate& one : completions(command_table, line))
    out.push_back(one.text);
  return out;
}

std::string asked_line;

/// What stands behind a line when this agent is asked: each text, and what is told of it in
/// parentheses.
std::string followed(test::FakeAgent& agent, std::string line) {
  asked_line = std::move(line);
  agent.run(
      [](const std::vector<std::string>& arguments) -> Result<int> {
        setenv("NOMAD_ADDR", arguments.at(1).c_str(), 1);
        std::string out;
        for (const Candidate& one : completions(command_table, asked_line))
          out += one.text + (one.about.empty() ? "" : " (" + one.about + ")") + "\n";
        unsetenv("NOMAD_ADDR");
        std::cout << out;
        return 0;
      },
      {});
  return agent.out;
}

/// A folder of its own, which is also the user's home.
struct Home {
  Home() {
    std::string name = (fs::temp_directory_path() / "nomadctl-home-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
    setenv("HOME", name.c_str(), 1);
    unsetenv("XDG_CONFIG_HOME");
  }

  ~Home() {
    std::error_code failure;
    fs::remove_all(root, failure);
  }

  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  void put(const std::string& name, const std::string& text) const {
    std::ofstream{root / name} << text;
  }

  std::string text(const std::string& name) const {
    std::ifstream in{root / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  fs::path root;
};

}  // namespace

TEST_CASE("completion: words of commands") {
  CHECK(texts("nomadctl ") == Words{"alloc", "fmt", "job", "run", "service", "status", "version"});
  CHECK(texts("nomadctl j") == Words{"job"});
  CHECK(texts("nomadctl job ") == Words{"init", "plan", "revert", "run", "status"});
  CHECK(texts("nomadctl  job  p") == Words{"plan"});
  CHECK(texts("nomadctl nothing") == Words{});
  CHECK(texts("nomadctl") == Words{});
  CHECK(texts("") == Words{});

  const auto described = completions(command_table, "nomadctl job s");
  REQUIRE(described.size() == 1);
  CHECK(described[0].about == "Lists the jobs");
}

TEST_CASE("completion: a command's flags") {
  CHECK(texts("nomadctl fmt -") == Words{"-check", "-list", "-recursive", "-write"});
  const Words flags = texts("nomadctl job run -va");
  CHECK(flags == Words{"-var", "-var-file", "-vault-namespace", "-vault-token"});
  CHECK(texts("nomadctl -") == Words{});
}

TEST_CASE("completion: flags with two dashes, and a flag's few values") {
  CHECK(texts("nomadctl fmt --ch") == Words{"--check"});
  CHECK(texts("nomadctl job run -output -") != Words{});
  CHECK(texts("nomadctl job status -address ") == Words{});
}

TEST_CASE("completion: what the agent lists, with what it is") {
  test::FakeAgent agent;
  agent.answer("GET /v1/jobs",
               R"([{"ID":"web","Type":"service","Status":"running"},{"ID":"we\tb"},{"ID":"api"}])");
  CHECK(followed(agent, "nomadctl job status w") == "web (service, running)\n");
  CHECK(agent.asked == Words{"GET /v1/jobs?prefix=w&per_page=200"});
  CHECK(followed(agent, "nomadctl job status -namespace prod -token=x -short w")
        == "web (service, running)\n");
  CHECK(agent.asked == Words{"GET /v1/jobs?namespace=prod&prefix=w&per_page=200"});
  CHECK(agent.tokens == Words{"x"});
  CHECK(followed(agent, "nomadctl job status web ").empty());

  agent.answer("GET /v1/namespaces", R"([{"Name":"prod","Description":"what\nusers see"}])");
  CHECK(followed(agent, "nomadctl job status -namespace ") == "prod (what users see)\n");
  CHECK(followed(agent, "nomadctl job status -namespace=p")
        == "-namespace=prod (what users see)\n");

  agent.answer(
      "GET /v1/services",
      R"([{"Namespace":"default","Services":[{"ServiceName":"db"},{"ServiceName":"web"}]}])");
  CHECK(followed(agent, "nomadctl service info d") == "db (default)\n");

  agent.answer("PUT /v1/search", R"({"Matches":{"jobs":["web"],"nodes":["we1"]}})");
  CHECK(followed(agent, "nomadctl status we") == "we1 (nodes)\nweb (jobs)\n");
}

TEST_CASE("completion: parts of what the first word names") {
  test::FakeAgent agent;
  agent.answer("GET /v1/allocations",
               R"([{"ID":"abc1","Name":"web.g[0]","ClientStatus":"running",
                    "TaskStates":{"log":{"State":"dead"},"web":{"State":"running"}}}])");
  CHECK(followed(agent, "nomadctl alloc logs abc") == "abc1 (web.g[0], running)\n");
  CHECK(agent.asked == Words{"GET /v1/allocations?prefix=ab&per_page=200"});
  CHECK(followed(agent, "nomadctl alloc logs abc1 ") == "log (dead)\nweb (running)\n");

  agent.answer("GET /v1/client/fs/ls/abc1",
               R"([{"Name":"alloc","IsDir":true},{"Name":"access.log","IsDir":false}])");
  CHECK(followed(agent, "nomadctl alloc fs abc1 a") == "access.log\nalloc/\n");
  CHECK(followed(agent, "nomadctl alloc fs abc1 web/ac") == "web/access.log\n");
  CHECK(agent.asked.back() == "GET /v1/client/fs/ls/abc1?path=web%2F");

  agent.answer("GET /v1/job/web/versions",
               R"({"Versions":[{"Version":1,"Stable":false},{"Version":0,"Stable":true}]})");
  CHECK(followed(agent, "nomadctl job revert web ") == "0 (stable)\n1\n");
}

TEST_CASE("completion: an agent that refuses, or is not there, knows nothing") {
  test::FakeAgent agent;
  agent.answer("GET /v1/jobs", "Permission denied", 403);
  CHECK(followed(agent, "nomadctl job status ").empty());
  CHECK(agent.err.empty());
  CHECK(texts("nomadctl job status -address http://127.0.0.1:1 ") == Words{});
}

TEST_CASE("completion: files and folders") {
  const Home home;
  home.put("web.nomad.hcl", "");
  home.put(".hidden", "");
  fs::create_directory(home.root / "more");
  const std::string folder = home.root.string() + "/";

  CHECK(texts("nomadctl run " + folder) == Words{folder + "more/", folder + "web.nomad.hcl"});
  CHECK(texts("nomadctl job plan -verbose " + folder + "w") == Words{folder + "web.nomad.hcl"});
  CHECK(texts("nomadctl run " + folder + ".h") == Words{folder + ".hidden"});
  CHECK(texts("nomadctl job init " + folder) == Words{});
  CHECK(texts("nomadctl run ~/w") == Words{"~/web.nomad.hcl"});
  CHECK(texts("nomadctl run -var-file " + folder + "m") == Words{folder + "more/"});
}

TEST_CASE("completion: is installed once, and taken out again") {
  const Home home;
  home.put(".bashrc", "alias l=ls\n");
  home.put(".zshrc", "");

  {
    const test::Capture captured;
    CHECK(install_completion("/opt/bin/nomadctl") == 0);
    for (const char* changed : {".bashrc: ", ".zshrc: "})
      CHECK(captured.out().find((home.root / changed).string()) != std::string::npos);
  }
  CHECK(home.text(".bashrc") == "alias l=ls\ncomplete -C /opt/bin/nomadctl nomadctl\n");
  CHECK(home.text(".zshrc")
        == "autoload -U +X bashcompinit && bashcompinit\n"
           "complete -o nospace -C /opt/bin/nomadctl nomadctl\n");
  CHECK(install_completion("/opt/bin/nomadctl") == 1);

  CHECK(uninstall_completion("/opt/bin/nomadctl") == 0);
  CHECK(home.text(".bashrc") == "alias l=ls\n");
  CHECK(uninstall_completion("/opt/bin/nomadctl") == 1);
}

TEST_CASE("completion: fish has a file for each program") {
  const Home home;
  fs::create_directories(home.root / ".config/fish");
  const test::Capture captured;
  CHECK(install_completion("/opt/bin/nomadctl") == 0);
  CHECK(home.text(".config/fish/completions/nomadctl.fish")
        == "complete -c nomadctl -f -a '(COMP_LINE=(commandline -cp | string collect) "
           "COMP_DESCRIBED=1 /opt/bin/nomadctl)'\n");
  CHECK(install_completion("/opt/bin/nomadctl") == 1);
  CHECK(uninstall_completion("/opt/bin/nomadctl") == 0);
  CHECK_FALSE(fs::exists(home.root / ".config/fish/completions/nomadctl.fish"));
  CHECK(uninstall_completion("/opt/bin/nomadctl") == 1);
}

TEST_CASE("completion: without a shell's file there is nothing to install into") {
  const Home home;
  CHECK(install_completion("/opt/bin/nomadctl") == 1);
}
