// What jobs cost before the server sees them: taking one in, parsing a job file, telling what
// changed.
#include <chrono>
#include <cstdio>
#include <string>

#include <boost/json.hpp>

#include "runtime/hcl/functions.hpp"
#include "runtime/jobspec/canonicalize.hpp"
#include "runtime/jobspec/diff.hpp"
#include "runtime/jobspec/parse_job.hpp"
#include "runtime/jobspec/validate.hpp"

namespace {

using namespace nomad::jobspec;
using boost::json::object;

const std::string small_request = R"({"Job":{"ID":"bench","Name":"bench","Type":"batch",
"Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Count":1,"Tasks":[{"Name":"t","Driver":"exec",
"Config":{"command":"/bin/true"},"Resources":{"CPU":10,"MemoryMB":10}}]}]}})";

std::string job_file(int groups) {
  std::string out = "variable \"count\" {\n  default = 2\n}\njob \"bench\" {\n";
  for (int at = 0; at < groups; ++at)
    out += "  group \"g" + std::to_string(at) + R"(" {
    count = var.count
    network {
      mode = "bridge"
      port "http" { to = 8080 }
    }
    service {
      name     = "web-${NOMAD_GROUP_NAME}"
      port     = "http"
      provider = "nomad"
      check {
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"
      }
    }
    task "t" {
      driver = "exec"
      config {
        command = "/usr/bin/server"
        args    = ["-port", "${NOMAD_PORT_http}"]
      }
      env {
        MODE = upper("x")
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
)";
  return out + "}\n";
}

template <class Work>
void measure(const char* what, int rounds, Work&& work) {
  work();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i)
    work();
  const double seconds
      = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%-52s %10.2f us\n", what, seconds / rounds * 1e6);
}

bool take_in(object& job) {
  if (match_names(job).has_error()) return false;
  admit(job);
  return validate(job).ok();
}

}  // namespace

int main() {
  bool good = true;
  const object body = boost::json::parse(small_request).as_object();
  const object& job = body.at("Job").as_object();
  object taken = job;
  good = good && take_in(taken);

  measure("a small job's JSON", 20'000, [] { boost::json::parse(small_request); });
  measure("  a copy of its tree", 20'000, [&] { object copy = job; });
  measure("  copied, and its names matched", 20'000, [&] {
    object copy = job;
    good = good && !match_names(copy).has_error();
  });
  measure("  copied, matched, canonical", 20'000, [&] {
    object copy = job;
    good = good && !match_names(copy).has_error();
    canonicalize(copy);
  });
  measure("  copied, matched, in server form", 20'000, [&] {
    object copy = job;
    good = good && !match_names(copy).has_error();
    admit(copy);
  });
  measure("  its rules", 20'000, [&] { good = good && validate(taken).ok(); });
  measure("  all of it, from text", 20'000, [&] {
    boost::json::value tree = boost::json::parse(small_request);
    good = good && take_in(tree.as_object().at("Job").as_object());
  });

  const std::string file = job_file(6);
  const auto functions = nomad::hcl::job_functions({});
  ParseOptions options;
  options.functions = &functions;
  measure("a job file of 200 lines", 500,
          [&] { good = good && parse_job("bench.nomad.hcl", file, options).ok(); });
  measure("  with a table of functions of its own", 500,
          [&] { good = good && parse_job("bench.nomad.hcl", file).ok(); });

  object large = parse_job("bench.nomad.hcl", file, options).job;
  good = good && take_in(large);
  object changed = large;
  changed.at("TaskGroups").at(3).as_object()["Count"] = 5;
  measure("what changed in that job", 500,
          [&] { good = good && !diff(&large, &changed, true).has_error(); });
  measure("whether anything changed", 500,
          [&] { good = good && !same_specification(large, changed); });
  if (!good) std::printf("a job was refused: the figures mean nothing\n");
  return good ? 0 : 1;
}
