// job init: writes an example job file to start from.
#include <fstream>
#include <iostream>
#include <optional>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view short_example = R"(job "example" {

  group "clock" {
    network {
      port "http" {}
    }

    task "tick" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while date; do sleep 10; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
)";

constexpr std::string_view full_example
    = R"(# An example job. `nomadctl job run example.nomad.hcl` registers it, `nomadctl job status example`
# shows it, and `nomadctl alloc logs -job example` what it prints.
#
# A job is what you hand in; it has groups, and a group has tasks. All tasks of a group run on the
# same machine. Everything that stands here as a comment shows a default.
job "example" {
  # "service" runs for ever, "batch" until it is done, "system" once on every machine, and
  # "sysbatch" until it is done on every machine.
  # type = "service"

  # Where the job may run. "*" is every datacenter of the region.
  # datacenters = ["*"]

  # How changes of the job are rolled out.
  update {
    max_parallel      = 1
    min_healthy_time  = "10s"
    healthy_deadline  = "3m"
    progress_deadline = "10m"
    auto_revert       = false
    canary            = 0
  }

  group "clock" {
    # How many of this group should run.
    count = 1

    network {
      # A port that the scheduler chooses on the machine; the task finds it in NOMAD_PORT_http.
      port "http" {}
    }

    # What happens when a task fails: restarts on the same machine, within these bounds.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    # Disk that the tasks of the group share.
    ephemeral_disk {
      size = 300
    }

    task "tick" {
      # What runs the task. raw_exec starts a program of the machine as it is; the agent's
      # configuration has to allow it: plugin "raw_exec" { config { enabled = true } }
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while date; do sleep 10; done"]
      }

      # What the task may use; the scheduler finds a machine that has it.
      resources {
        cpu    = 50 # MHz
        memory = 32 # MiB
      }
    }
  }
}
)";

constexpr std::string_view template_path = "nomad/job-templates/";

int list_templates(Api& api) {
  auto found = api.get("/v1/vars", {{"prefix", std::string{template_path}}});
  if (!found)
    return fail(
        "Error retrieving job templates from the server; unable to read variables at path "
        "nomad/job-templates/. Error",
        found.error());
  if (found->view().items().empty()) {
    std::cerr << "No variables in nomad/job-templates\n";
    return 1;
  }
  std::cout << "Use nomad job init -template=<template> with any of the following:\n";
  for (const auto& variable : found->view().items())
    std::cout << "  " << variable["Path"].text().substr(template_path.size()) << '\n';
  return 0;
}

/// The text of a template that is kept in a variable; nothing when that was told to have failed.
std::optional<std::string> read_template(Api& api, const std::string& name) {
  auto found = api.get("/v1/var/" + std::string{template_path} + segment(name));
  if (!found) {
    fail("Error retrieving variable", found.error());
    return std::nullopt;
  }
  for (const auto& [item, text] : found->view()["Items"].members())
    if (item == "template") {
      std::cout << fmt::format("Initializing a job template from {}\n", name);
      return text.text();
    }
  std::cerr << fmt::format("Job template \"{}\" is malformed and is missing a template field\n",
                           name);
  return std::nullopt;
}

/// Nothing when no template was asked for, or it could not be read (then `code` is set).
std::optional<std::string> chosen_template(const CommonFlags& common,
                                           const std::string& name,
                                           bool list,
                                           std::optional<int>& code) {
  if (!list && name.empty()) return std::nullopt;
  auto api = Api::make(common);
  if (!api) {
    code = fail("Error initializing client", api.error());
    return std::nullopt;
  }
  if (list) {
    code = list_templates(*api);
    return std::nullopt;
  }
  auto text = read_template(*api, name);
  if (!text) code = 1;
  return text;
}

}  // namespace

int run_job_init(const std::vector<std::string>& arguments) {
  bool brief = false;
  bool connect = false;
  bool list = false;
  std::string template_name;
  CommonFlags common;
  Arguments parser{"job init [options] [file]", "Writes an example job file."};
  common.add_to(parser);
  parser.flag("short", brief, "Without comments.");
  parser.flag("connect", connect, "Of a service mesh, which there is not yet: an error.");
  parser.option("template", template_name, "A job template that the server keeps.");
  parser.flag("list-templates", list, "Lists the job templates that the server keeps.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes either no arguments or one: <filename>");
  const std::string path
      = parser.positional().empty() ? "example.nomad.hcl" : parser.positional()[0];

  struct stat info {};

  if (!list && lstat(path.c_str(), &info) == 0) {
    std::cerr << fmt::format("Job '{}' already exists\n", path);
    return 1;
  }
  if (connect) {
    std::cerr << "There is no service mesh yet, so that no job with a connect block can run\n";
    return 1;
  }
  std::optional<int> code;
  const auto from_server = chosen_template(common, template_name, list, code);
  if (code) return *code;
  std::ofstream file{path, std::ios::binary};
  file << (from_server ? std::string_view{*from_server} : brief ? short_example : full_example);
  file.close();
  if (!file) {
    std::cerr << fmt::format("Failed to write '{}'\n", path);
    return 1;
  }
  std::cout << fmt::format("Example job file written to {}\n", path);
  return 0;
}

}  // namespace nomad::cli
