// operator debug: collects what helps to understand a cluster, its state, logs and metrics over a
// while, into one archive. Lists and figures only: no variable, no key, no task's environment.
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/new_file.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/tar_gz.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct DebugOptions : ApiCommand {
  using ApiCommand::ApiCommand;

  const std::string& duration = option("duration", "How long to collect; 2m.", "2m");
  const std::string& interval = option("interval", "How often the state is asked for; 30s.", "30s");
  const std::string& log_level
      = option("log-level", "The lowest level of log lines; DEBUG.", "DEBUG");
  const std::int64_t& max_nodes = number("max-nodes", "The most nodes to describe; 10.", 10);
  const std::string& node_id
      = option("node-id", "Nodes whose ids begin so, with commas between; all.", "all");
  const std::string& node_class = option("node-class", "Only nodes of this class.");
  const std::string& server_id
      = option("server-id",
               "Servers whose logs are kept: \"leader\", or names with commas between; all.",
               "all");
  const std::string& output = option("output", "Writes a directory below this one, no archive.");
  const bool& stale = flag("stale", "Any server may answer, also without a leader.");
  const bool& verbose = flag("verbose", "Shows what is asked.");
};

/// What is asked once, and what at each interval: the file and the path of the API.
struct Source {
  const char* file;
  const char* path;
};

constexpr Source once[] = {
    {"cluster/agent-self.json", "/v1/agent/self"}, {"cluster/members.json", "/v1/agent/members"},
    {"cluster/regions.json", "/v1/regions"},       {"cluster/leader.json", "/v1/status/leader"},
    {"cluster/peers.json", "/v1/status/peers"},    {"cluster/namespaces.json", "/v1/namespaces"},
    {"cluster/node-pools.json", "/v1/node/pools"},
};

constexpr Source repeated[] = {
    {"jobs.json", "/v1/jobs?namespace=*"},
    {"allocations.json", "/v1/allocations?namespace=*"},
    {"evaluations.json", "/v1/evaluations?namespace=*"},
    {"deployments.json", "/v1/deployments?namespace=*"},
    {"nodes.json", "/v1/nodes"},
    {"services.json", "/v1/services?namespace=*"},
    {"metrics.json", "/v1/metrics"},
    {"raft-configuration.json", "/v1/operator/raft/configuration"},
    {"autopilot-health.json", "/v1/operator/autopilot/health"},
    {"scheduler-configuration.json", "/v1/operator/scheduler/configuration"},
    {"root-keys.json", "/v1/operator/keyring/keys"},
    {"decisions.json", "/v1/operator/decisions"},
    {"actors.json", "/v1/agent/actors"},
    {"agent-plugins.json", "/v1/agent/plugins"},
};

class Capture {
public:
  Capture(Api& api, const DebugOptions& options) : api_{api}, options_{options} {}

  /// A failed request leaves its error in the archive instead of ending the capture.
  void ask(const std::string& file, const std::string& path) {
    const auto answer = api_.send("GET", path, options_.stale ? Query{{"stale", ""}} : Query{}, "");
    if (options_.verbose) std::cout << "    " << path << '\n';
    if (!answer)
      files_[file + ".error"] = answer.error().what + '\n';
    else if (answer->status / 100 != 2 && answer->status != 429)  // an unhealthy cluster
      files_[file + ".error"] = refusal(*answer).what + '\n';
    else
      files_[file] = answer->body;
  }

  /// Describes the nodes that are asked for, and follows their logs.
  void ask_nodes(Clock::time_point end) {
    const auto nodes = api_.get("/v1/nodes");
    if (!nodes || options_.node_id.empty()) return;
    std::int64_t taken = 0;
    for (const auto& node : nodes->view().items()) {
      const auto id = node["ID"].text();
      if (!is_wanted(options_.node_id, id)) continue;
      if (!options_.node_class.empty() && node["NodeClass"].text() != options_.node_class) continue;
      if (taken++ == options_.max_nodes) return;
      ask("nodes/" + id + ".json", "/v1/node/" + segment(id));
      if (node["Status"].text() == "ready") follow_log("nodes/" + id, {"node_id", id}, end);
    }
  }

  /// Follows the logs of the servers that are asked for.
  void ask_servers(Clock::time_point end) {
    if (options_.server_id == "leader")
      return follow_log("servers/leader", {"server_id", "leader"}, end);
    const auto members = api_.get("/v1/agent/members");
    if (!members) return;
    const auto own_region = members->view()["ServerRegion"].text();
    for (const auto& member : members->view()["Members"].items()) {
      const auto name = member["Name"].text();
      if (member["Status"].text() == "alive" && member["Tags"]["region"].text() == own_region
          && is_wanted(options_.server_id, name))
        follow_log("servers/" + name, {"server_id", name}, end);
    }
  }

  /// Waits for the ends of the logs.
  void finish() {
    for (auto& log : logs_) {
      log->thread.join();
      files_[log->file] = std::move(log->text);
    }
    logs_.clear();
  }

  const std::map<std::string, std::string>& files() const { return files_; }

private:
  /// A log that a thread of its own takes down.
  struct Log {
    std::string file;
    std::string text;
    std::thread thread;
  };

  /// `wanted` is "all", or beginnings of ids or names with commas between.
  static bool is_wanted(const std::string& wanted, const std::string& id) {
    if (wanted == "all") return true;
    for (const auto part : split(wanted, ','))
      if (!part.empty() && id.starts_with(part)) return true;
    return false;
  }

  void follow_log(const std::string& of,
                  std::pair<std::string, std::string> whose,
                  Clock::time_point end) {
    auto stream
        = api_.stream("/v1/agent/monitor",
                      {std::move(whose), {"log_level", options_.log_level}, {"plain", "true"}});
    if (!stream) {
      files_[of + ".log.error"] = stream.error().what + '\n';
      return;
    }
    auto& log = *logs_.emplace_back(std::make_unique<Log>(Log{of + ".log", {}, {}}));
    log.thread = std::thread{[&log, end, from = std::move(*stream)]() mutable {
      for (auto now = Clock::now(); now < end; now = Clock::now()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
        const auto piece = from.read(left);
        if (!piece || piece->empty()) return;  // the time is over, or the agent has ended it
        log.text += *piece;
      }
    }};
  }

  Api& api_;
  const DebugOptions& options_;
  std::map<std::string, std::string> files_;
  std::vector<std::unique_ptr<Log>> logs_;
};

std::string stamp() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}-{:02}{:02}{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Result<> write_archive(const std::string& path,
                       const std::string& prefix,
                       const std::map<std::string, std::string>& files) {
  auto writer = NOMAD_TRY(storage::TarGzWriter::create(path));
  for (const auto& [name, content] : files) {
    NOMAD_TRY(writer.begin_file(prefix + '/' + name, content.size(), std::time(nullptr)));
    NOMAD_TRY(writer.write(content));
  }
  return writer.finish();
}

Result<> write_directory(const std::string& directory,
                         const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) {
    const auto path = fs::path{directory} / name;
    std::error_code failure;
    fs::create_directories(path.parent_path(), failure);
    if (failure) return Error{Errc::io, path.parent_path().string() + ": " + failure.message()};
    NOMAD_TRY(write_new(path, content));
  }
  return {};
}

void capture(Capture& into, Nanoseconds duration, Nanoseconds interval) {
  const auto end = Clock::now() + duration;
  for (const auto& source : once)
    into.ask(source.file, source.path);
  into.ask_servers(end);
  into.ask_nodes(end);
  for (unsigned number = 0;; ++number) {
    std::cout << fmt::format("    Capture interval {:04}\n", number) << std::flush;
    for (const auto& source : repeated)
      into.ask(fmt::format("intervals/{:04}/{}", number, source.file), source.path);
    const auto next = std::min(end, Clock::now() + interval);
    std::this_thread::sleep_until(next);
    if (next >= end) break;
  }
  into.finish();
}

Result<int> save(const DebugOptions& options, const Capture& captured) {
  const auto name = "nomad-debug-" + stamp();
  if (!options.output.empty()) {
    const auto directory = (fs::path{options.output} / name).string();
    NOMAD_TRY(write_directory(directory, captured.files()).within("Error creating output"));
    std::cout << "Created debug directory: " << directory << '\n';
    return 0;
  }
  const auto path = name + ".tar.gz";
  NOMAD_TRY(write_archive(path, name, captured.files()).within("Error creating archive"));
  std::cout << "Created debug archive: " << path << '\n';
  return 0;
}

}  // namespace

Result<int> run_operator_debug(const std::vector<std::string>& arguments) {
  DebugOptions command{
      "operator debug [options]",
      "Collects state, logs and metrics of a cluster over a while into an archive."};
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  const auto duration = NOMAD_TRY(
      parse_duration(command.duration).within("Error parsing duration: " + command.duration));
  const auto interval = NOMAD_TRY(
      parse_duration(command.interval).within("Error parsing interval: " + command.interval));
  if (interval <= Nanoseconds{0} || interval > duration)
    return mistake(fmt::format("Error parsing interval: {} is not between 0 and the duration {}",
                               command.interval, command.duration));
  auto api = NOMAD_TRY(Api::make(command.common).within("Error creating API client"));
  NOMAD_TRY(api.get("/v1/agent/self").within("Failed to retrieve agent information"));
  std::cout << fmt::format("Starting debugger...\n\n     Interval: {}\n     Duration: {}\n\n",
                           command.interval, command.duration);
  Capture captured{api, command};
  capture(captured, duration, interval);
  return save(command, captured);
}

}  // namespace nomad::cli
