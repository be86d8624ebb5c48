// Completion: what can follow on a line, and how shells are told to ask.
#include "cli/completion.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "test/unit/cli/capture.hpp"

namespace fs = std::filesystem;
using namespace nomad;
using namespace nomad::cli;
using Words = std::vector<std::string>;

namespace {

constexpr Command completed_commands[] = {
    {"fmt", "", run_fmt},         {"job init", "", run_job_init}, {"job plan", "", run_job_plan},
    {"job run", "", run_job_run}, {"run", "", run_job_run},       {"version", "", run_version},
};
constexpr CommandTree command_table{completed_commands, {}};

/// A folder of its own, which is also the user's home.
struct Home {
  Home() {
    std::string name = (fs::temp_directory_path() / "nomadctl-home-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
    setenv("HOME", name.c_str(), 1);
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
  CHECK(completions(command_table, "nomadctl ") == Words{"fmt", "job", "run", "version"});
  CHECK(completions(command_table, "nomadctl j") == Words{"job"});
  CHECK(completions(command_table, "nomadctl job ") == Words{"init", "plan", "run"});
  CHECK(completions(command_table, "nomadctl  job  p") == Words{"plan"});
  CHECK(completions(command_table, "nomadctl nothing") == Words{});
  CHECK(completions(command_table, "nomadctl") == Words{});
  CHECK(completions(command_table, "") == Words{});
}

TEST_CASE("completion: a command's flags") {
  CHECK(completions(command_table, "nomadctl fmt -")
        == Words{"-check", "-list", "-recursive", "-write"});
  const Words flags = completions(command_table, "nomadctl job run -va");
  CHECK(flags == Words{"-var", "-var-file"});
  CHECK(completions(command_table, "nomadctl -") == Words{});
}

TEST_CASE("completion: files and folders") {
  const Home home;
  home.put("web.nomad.hcl", "");
  home.put(".hidden", "");
  fs::create_directory(home.root / "more");
  const std::string folder = home.root.string() + "/";

  CHECK(completions(command_table, "nomadctl run " + folder)
        == Words{folder + "more/", folder + "web.nomad.hcl"});
  CHECK(completions(command_table, "nomadctl job plan -verbose " + folder + "w")
        == Words{folder + "web.nomad.hcl"});
  CHECK(completions(command_table, "nomadctl run " + folder + ".h") == Words{folder + ".hidden"});
  CHECK(completions(command_table, "nomadctl job init " + folder) == Words{});
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

TEST_CASE("completion: without a shell's file there is nothing to install into") {
  const Home home;
  CHECK(install_completion("/opt/bin/nomadctl") == 1);
}
