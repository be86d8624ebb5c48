// job init: writes an example job file to start from.
#include <fstream>
#include <iostream>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view short_example = R"(job "example" {

  group "cache" {
    network {
      port "db" {
        to = 6379
      }
    }

    task "redis" {
      driver = "docker"

      config {
        image          = "redis:7"
        ports          = ["db"]
        auth_soft_fail = true
      }

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
)";

constexpr std::string_view full_example
    = R"(# An example job. `nomadctl job run example.nomad.hcl` registers it.
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

  group "cache" {
    # How many of this group should run.
    count = 1

    network {
      # A port that the scheduler chooses on the machine, and what it is inside the task.
      port "db" {
        to = 6379
      }
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

    task "redis" {
      # What runs the task: "docker", "exec", "raw_exec"…
      driver = "docker"

      config {
        image          = "redis:7"
        ports          = ["db"]
        auth_soft_fail = true
      }

      # What the task may use; the scheduler finds a machine that has it.
      resources {
        cpu    = 500 # MHz
        memory = 256 # MiB
      }
    }
  }
}
)";

constexpr std::string_view connect_example
    = R"(# An example of two services that talk through Consul Connect's sidecars.
job "countdash" {

  group "api" {
    network {
      mode = "bridge"
    }

    service {
      name = "count-api"
      port = "9001"

      connect {
        sidecar_service {}
      }
    }

    task "web" {
      driver = "docker"

      config {
        image          = "hashicorpdev/counter-api:v3"
        auth_soft_fail = true
      }
    }
  }

  group "dashboard" {
    network {
      mode = "bridge"

      port "http" {
        static = 9002
        to     = 9002
      }
    }

    service {
      name = "count-dashboard"
      port = "http"

      connect {
        sidecar_service {
          proxy {
            upstreams {
              destination_name = "count-api"
              local_bind_port  = 8080
            }
          }
        }
      }
    }

    task "dashboard" {
      driver = "docker"

      env {
        COUNTING_SERVICE_URL = "http://${NOMAD_UPSTREAM_ADDR_count_api}"
      }

      config {
        image          = "hashicorpdev/counter-dashboard:v3"
        auth_soft_fail = true
      }
    }
  }
}
)";

}  // namespace

int run_job_init(const std::vector<std::string>& arguments) {
  bool brief = false;
  bool connect = false;
  Arguments parser{"job init [options] [file]", "Writes an example job file."};
  parser.flag("short", brief, "Without comments.");
  parser.flag("connect", connect, "An example with Consul Connect.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes no arguments or one: <file>");
  const std::string path
      = parser.positional().empty() ? "example.nomad.hcl" : parser.positional()[0];

  struct stat info {};

  if (lstat(path.c_str(), &info) == 0) {
    std::cerr << fmt::format("Job '{}' already exists\n", path);
    return 1;
  }
  std::ofstream file{path, std::ios::binary};
  file << (connect ? connect_example : brief ? short_example : full_example);
  file.close();
  if (!file) {
    std::cerr << fmt::format("Failed to write '{}'\n", path);
    return 1;
  }
  std::cout << fmt::format("Example job file written to {}\n", path);
  return 0;
}

}  // namespace nomad::cli
