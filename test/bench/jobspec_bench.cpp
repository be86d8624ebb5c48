// What jobs cost before the server sees them: taking one in, parsing a job file, telling what
// changed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "runtime/hcl/functions/functions.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/validate.hpp"

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

/// Processor microseconds used so far, by this program or by those it ran.
double processor_time(int whose) {
  rusage used{};
  getrusage(whose, &used);
  const auto microseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

struct Cost {
  double elapsed_us;    ///< by the clock, which on a busy machine tells little
  double processor_us;  ///< of all threads
};

void print(const char* who, const Cost& cost, std::size_t bytes) {
  std::printf("  %-20s %9.1f us, %9.1f us of processors: %6.1f MB/s\n", who, cost.elapsed_us,
              cost.processor_us, static_cast<double>(bytes) / cost.processor_us);
}

/// What another parser takes for the same file: NOMADCTL_OTHER_JOBSPEC names a program that gets
/// the file's name and a number of rounds, parses and canonicalizes it that often, and prints the
/// nanoseconds of one round. Nothing when there is none or it fails.
std::optional<Cost> measure_other(const std::string& file, int rounds) {
  const char* program = std::getenv("NOMADCTL_OTHER_JOBSPEC");
  if (program == nullptr) return std::nullopt;
  std::string path = "/tmp/nomadctl-bench-XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) return std::nullopt;
  const bool written
      = write(descriptor, file.data(), file.size()) == static_cast<ssize_t>(file.size());
  close(descriptor);
  const std::string command = std::string{program} + " " + path + " " + std::to_string(rounds);
  const double before = processor_time(RUSAGE_CHILDREN);
  double nanoseconds = 0;
  if (FILE* out = written ? popen(command.c_str(), "r") : nullptr) {
    if (std::fscanf(out, "%lf", &nanoseconds) != 1) nanoseconds = 0;
    if (pclose(out) != 0) nanoseconds = 0;
  }
  unlink(path.c_str());
  if (nanoseconds <= 0) return std::nullopt;
  return Cost{nanoseconds / 1e3, (processor_time(RUSAGE_CHILDREN) - before) / rounds};
}

/// Parsing, evaluating and canonicalizing one file, beside another parser if there is one.
bool compare_parsers(const std::string& file, const ParseOptions& options) {
  constexpr int rounds = 2'000;
  bool good = true;
  const double before = processor_time(RUSAGE_SELF);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) {
    const ParsedJob parsed = parse_job("input.hcl", file, options);
    good = good && parsed.ok() && !canonical_tree(parsed.job).has_error();
  }
  const std::chrono::duration<double, std::micro> elapsed
      = std::chrono::steady_clock::now() - start;
  const Cost ours{elapsed.count() / rounds, (processor_time(RUSAGE_SELF) - before) / rounds};
  std::printf("a job file of 200 lines (%zu bytes), parsed, evaluated and canonical:\n",
              file.size());
  print("this one", ours, file.size());
  if (const auto other = measure_other(file, 500)) {
    print("the other parser", *other, file.size());
    std::printf("  %.1f times as fast by the clock, %.1f times by processor time\n",
                other->elapsed_us / ours.elapsed_us, other->processor_us / ours.processor_us);
  } else {
    std::printf("  measured alone: NOMADCTL_OTHER_JOBSPEC names no program that answers\n");
  }
  return good;
}

/// A request's way to the object that is stored.
bool take_in(const std::string& request) {
  const auto json = nomad::FlatJson::read(request);
  if (!json) return false;
  auto draft = JobDraft::decode((*json->root().members().begin()).value);
  if (!draft) return false;
  admit(draft->job());
  return validate(draft->job()).ok() && draft->freeze();
}

std::string request_of(const object& job) {
  return boost::json::serialize(object{{"Job", job}});
}

bool measure_request(const char* what, const std::string& request, int rounds) {
  if (!take_in(request)) return false;
  std::printf("%s (%zu bytes):\n", what, request.size());
  const auto json = *nomad::FlatJson::read(request);
  const nomad::JsonNode& job = (*json.root().members().begin()).value;
  measure("  its JSON, laid out flat", rounds, [&] { nomad::FlatJson::read(request).value(); });
  measure("  decoded from that", rounds, [&] { JobDraft::decode(job).value(); });
  measure("  decoded, and canonical", rounds, [&] { canonicalize(JobDraft::decode(job)->job()); });
  measure("  decoded, and in server form", rounds, [&] { admit(JobDraft::decode(job)->job()); });
  auto draft = *JobDraft::decode(job);
  admit(draft.job());
  measure("  its rules", rounds, [&] { validate(draft.job()); });
  measure("  its freezing", rounds, [&] { draft.freeze(); });
  measure("  all of it, from text to object", rounds, [&] { take_in(request); });
  return true;
}

}  // namespace

int main() {
  bool good = true;
  good = good && measure_request("a small job", small_request, 20'000);

  const std::string file = job_file(6);
  const auto functions = nomad::hcl::job_functions({});
  ParseOptions options;
  options.functions = &functions;
  good = compare_parsers(file, options) && good;
  measure("a job file of 200 lines", 500,
          [&] { good = good && parse_job("bench.nomad.hcl", file, options).ok(); });
  measure("  with a table of functions of its own", 500,
          [&] { good = good && parse_job("bench.nomad.hcl", file).ok(); });

  const std::string request = request_of(parse_job("bench.nomad.hcl", file, options).job);
  good = good && measure_request("that job's request", request, 500);
  auto draft = *JobDraft::decode(parse_job("bench.nomad.hcl", file, options).job);
  admit(draft.job());
  const object large = tree_of(draft.job(), block_types().job);
  object changed = large;
  changed.at("TaskGroups").at(3).as_object()["Count"] = 5;
  measure("what changed in that job", 500,
          [&] { good = good && !diff(&large, &changed, true).has_error(); });
  if (!good) std::printf("a job was refused: the figures mean nothing\n");
  return good ? 0 : 1;
}
