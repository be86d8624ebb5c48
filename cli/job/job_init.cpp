// job init: writes an example job file to start from.
#include <iostream>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/arguments.hpp"
#include "cli/new_file.hpp"
#include "cli/programs.hpp"
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

Result<int> list_templates(Api& api) {
  auto found = NOMAD_TRY(
      api.get("/v1/vars", {{"prefix", std::string{template_path}}})
          .within(
              "Error retrieving job templates from the server; unable to read variables at path "
              "nomad/job-templates/. Error"));
  if (found.view().items().empty()) return mistake("No variables in nomad/job-templates");
  std::cout << as_called("Use nomadctl job init -template=<template> with any of the following:\n");
  for (const auto& variable : found.view().items())
    if (const auto path = variable["Path"].text(); path.starts_with(template_path))
      std::cout << "  " << path.substr(template_path.size()) << '\n';
  return 0;
}

/// The text of a template that is kept in a variable.
Result<std::string> read_template(Api& api, const std::string& name) {
  const auto found = NOMAD_TRY(api.get("/v1/var/" + std::string{template_path} + segment(name))
                                   .within("Error retrieving variable"));
  for (const auto& [item, text] : found.view()["Items"].members())
    if (item == "template") {
      std::cout << fmt::format("Initializing a job template from {}\n", name);
      return text.text();
    }
  return mistake(
      fmt::format("Job template \"{}\" is malformed and is missing a template field", name));
}

}  // namespace

Result<int> run_job_init(const std::vector<std::string>& arguments) {
  ApiCommand command{"job init [options] [file]", "Writes an example job file."};
  auto& brief = command.flag("short", "Without comments.");
  auto& connect = command.flag("connect", "Of a service mesh, which there is not yet: an error.");
  auto& template_name = command.option("template", "A job template that the server keeps.");
  auto& list = command.flag("list-templates", "Lists the job templates that the server keeps.");
  if (auto code = command.parse(arguments, optional_word("<filename>"))) return *code;
  const std::string path
      = command.positional().empty() ? "example.nomad.hcl" : command.positional()[0];

  struct stat info {};

  if (!list && lstat(path.c_str(), &info) == 0)
    return mistake(fmt::format("Job '{}' already exists", path));
  if (connect)
    return mistake(
        "There is no service mesh yet, so that no job with a connect block can run: leave out "
        "-connect");
  std::string text = as_called(brief ? short_example : full_example);
  if (list || !template_name.empty()) {
    auto& api = *NOMAD_TRY(command.connect());
    if (list) return list_templates(api);
    text = NOMAD_TRY(read_template(api, template_name));
  }
  NOMAD_TRY(write_new(path, text).within("Failed to write"));
  std::cout << fmt::format("Example job file written to {}\n", path);
  return 0;
}

}  // namespace nomad::cli
