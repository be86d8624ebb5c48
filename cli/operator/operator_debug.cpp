// operator debug: collects what helps to understand a cluster, its state, logs, metrics, profiles
// and events over a while, into one archive. No variable, no key, no task's environment.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "cli/absent_services.hpp"
#include "cli/api_command.hpp"
#include "cli/interrupts.hpp"
#include "cli/new_file.hpp"
#include "cli/operator/debug_events.hpp"
#include "cli/operator/debug_streams.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/tar_gz.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// For an answer, besides what a profile takes: an agent that hangs does not hold up the capture.
constexpr std::chrono::seconds answer_timeout{30};

struct DebugOptions : ApiCommand {
  using ApiCommand::ApiCommand;

  const std::string& duration = option("duration", "How long to collect; 2m.", "2m");
  const std::string& interval = option("interval", "How often the state is asked for; 30s.", "30s");
  const std::string& log_level
      = option("log-level", "The lowest level of log lines; DEBUG.", "DEBUG");
  const std::int64_t& max_nodes
      = number("max-nodes", "The most nodes to describe, 0 for all; 10.", 10);
  const std::string& node_id
      = option("node-id", "Nodes whose ids begin so, with commas between; all.", "all");
  const std::string& node_class = option("node-class", "Only nodes of this class.");
  const std::string& server_id
      = option("server-id",
               "Servers whose logs are kept: \"leader\", or names with commas between; all.",
               "all");
  const std::string& output = option("output", "Writes a directory below this one, no archive.");
  const std::string& event_topic
      = option("event-topic",
               "Events to keep: \"all\", or topics with commas between, each as Topic or "
               "Topic:filter; none.",
               "none");
  const std::int64_t& event_index
      = number("event-index", "The first index whose events are kept; 0, which is what comes.", 0);
  const std::string& pprof_duration
      = option("pprof-duration", "How long a profile of processor time takes; 1s.", "1s");
  const std::string& pprof_interval = option(
      "pprof-interval",
      "The time between profiles of an agent; 250ms. From -pprof-duration on there is one.",
      "250ms");
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
  Capture(Api& api, const DebugOptions& options, Clock::time_point end)
      : api_{api}, options_{options}, streams_{end} {}

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
  void ask_nodes() {
    const auto nodes = api_.get("/v1/nodes");
    if (!nodes || options_.node_id.empty()) return;
    std::int64_t taken = 0;
    for (const auto& node : nodes->view().items()) {
      const auto id = node["ID"].text();
      if (!is_wanted(options_.node_id, id)) continue;
      if (!options_.node_class.empty() && node["NodeClass"].text() != options_.node_class) continue;
      if (options_.max_nodes > 0 && taken++ == options_.max_nodes) return;
      const auto folder = folder_of("nodes", id);
      ask(folder + ".json", "/v1/node/" + segment(id));
      if (node["Status"].text() == "ready") follow({folder, {"node_id", id}});
    }
  }

  /// Follows the logs of the servers that are asked for.
  void ask_servers() {
    if (options_.server_id == "leader") return follow({"servers/leader", {"server_id", "leader"}});
    const auto members = api_.get("/v1/agent/members");
    if (!members) return;
    const auto own_region = members->view()["ServerRegion"].text();
    for (const auto& member : members->view()["Members"].items()) {
      const auto name = member["Name"].text();
      if (member["Status"].text() == "alive" && member["Tags"]["region"].text() == own_region
          && is_wanted(options_.server_id, name))
        follow({folder_of("servers", name), {"server_id", name}});
    }
  }

  /// Follows the events of these topics; of none nothing.
  void follow_events(const std::vector<std::string>& topics) {
    if (topics.empty()) return;
    streams_.follow_events(api_, topics, static_cast<std::uint64_t>(options_.event_index));
  }

  /// Takes profiles of the agents whose logs are followed.
  void follow_profiles(Api api, Nanoseconds duration, Nanoseconds interval) {
    if (!agents_.empty()) streams_.follow_profiles(std::move(api), agents_, duration, interval);
  }

  /// All that was collected, when the streams have come to their ends.
  const std::map<std::string, std::string>& finish() {
    files_.merge(streams_.finish());
    return files_;
  }

private:
  /// `wanted` is "all", or beginnings of ids or names with commas between.
  static bool is_wanted(const std::string& wanted, const std::string& id) {
    if (wanted == "all") return true;
    for (const auto part : split(wanted, ','))
      if (!part.empty() && id.starts_with(part)) return true;
    return false;
  }

  /// Others choose the names of agents: none leads out of the archive.
  static std::string folder_of(std::string_view kind, std::string_view name) {
    return fmt::format("{}/{}", kind, segment(name));
  }

  void follow(DebugStreams::Agent agent) {
    streams_.follow_log(api_, agent, options_.log_level);
    agents_.push_back(std::move(agent));
  }

  Api& api_;
  const DebugOptions& options_;
  DebugStreams streams_;
  std::map<std::string, std::string> files_;
  std::vector<DebugStreams::Agent> agents_;  ///< Whose logs and profiles are kept.
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

/// The times of a capture.
struct DebugTimes {
  Nanoseconds duration{};
  Nanoseconds interval{};
  Nanoseconds pprof_duration{};
  Nanoseconds pprof_interval{};
};

Result<DebugTimes> times_of(const DebugOptions& options) {
  DebugTimes times;
  times.duration = NOMAD_TRY(
      parse_duration(options.duration).within("Error parsing duration: " + options.duration));
  times.interval = NOMAD_TRY(
      parse_duration(options.interval).within("Error parsing interval: " + options.interval));
  if (times.interval <= Nanoseconds{0} || times.interval > times.duration)
    return mistake(fmt::format("Error parsing interval: {} is not between 0 and the duration {}",
                               options.interval, options.duration));
  const auto duration
      = NOMAD_TRY(parse_duration(options.pprof_duration)
                      .within("Error parsing pprof duration: " + options.pprof_duration));
  const auto interval
      = NOMAD_TRY(parse_duration(options.pprof_interval)
                      .within("Error parsing pprof-interval: " + options.pprof_interval));
  if (duration < Nanoseconds{0} || interval < Nanoseconds{0})
    return mistake("Error parsing pprof duration: a time is below 0");
  times.pprof_duration = std::min(duration, times.duration);
  times.pprof_interval = std::min(interval, times.pprof_duration);
  return times;
}

/// Asks again and again until `end`, or until somebody has seen enough.
void capture(Capture& into, Nanoseconds interval, Clock::time_point end) {
  for (unsigned number = 0; !NotedInterrupt::came(); ++number) {
    std::cout << fmt::format("    Capture interval {:04}\n", number) << std::flush;
    for (const auto& source : repeated)
      if (!NotedInterrupt::came())
        into.ask(fmt::format("intervals/{:04}/{}", number, source.file), source.path);
    const auto next = std::min(end, Clock::now() + interval);
    sleep_until_interrupt(next);
    if (next >= end) return;
  }
}

Result<int> save(const DebugOptions& options, const std::map<std::string, std::string>& files) {
  const auto name = "nomad-debug-" + stamp();
  if (!options.output.empty()) {
    const auto directory = (fs::path{options.output} / name).string();
    NOMAD_TRY(write_directory(directory, files).within("Error creating output"));
    std::cout << "Created debug directory: " << directory << '\n';
    return 0;
  }
  const auto path = name + ".tar.gz";
  NOMAD_TRY(write_archive(path, name, files).within("Error creating archive"));
  std::cout << "Created debug archive: " << path << '\n';
  return 0;
}

}  // namespace

Result<int> run_operator_debug(const std::vector<std::string>& arguments) {
  DebugOptions command{
      "operator debug [options]",
      "Collects state, logs, metrics and profiles of a cluster over a while into an "
      "archive; Ctrl-C ends it early. Jobs' specifications, variables and keys are left out."};
  accept_without_effect(
      command,
      {"consul-auth", "consul-ca-cert", "consul-ca-path", "consul-client-cert", "consul-client-key",
       "consul-http-addr", "consul-token", "consul-token-file", "vault-address", "vault-ca-cert",
       "vault-ca-path", "vault-client-cert", "vault-client-key", "vault-token"});
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  const auto times = NOMAD_TRY(times_of(command));
  const auto topics
      = NOMAD_TRY(parse_event_topics(command.event_topic).within("Error parsing event topics"));
  if (command.event_index < 0) return mistake("Event stream index must be greater than zero");
  const auto profile_timeout
      = std::chrono::duration_cast<std::chrono::milliseconds>(times.pprof_duration)
        + answer_timeout;
  auto api
      = NOMAD_TRY(Api::make(command.common, answer_timeout).within("Error creating API client"));
  auto profiles
      = NOMAD_TRY(Api::make(command.common, profile_timeout).within("Error creating API client"));
  NOMAD_TRY(api.get("/v1/agent/self").within("Failed to retrieve agent information"));
  std::cout << fmt::format(
      "Starting debugger...\n\n        Interval: {}\n        Duration: {}\n  pprof Interval: {}\n  "
      "pprof Duration: {}\n\n",
      command.interval, command.duration, command.pprof_interval, command.pprof_duration);
  const NotedInterrupt noted;
  const auto end = Clock::now() + times.duration;
  Capture captured{api, command, end};
  captured.follow_events(topics);
  for (const auto& source : once)
    captured.ask(source.file, source.path);
  captured.ask_servers();
  captured.ask_nodes();
  captured.follow_profiles(std::move(profiles), times.pprof_duration, times.pprof_interval);
  capture(captured, times.interval, end);
  if (NotedInterrupt::came())
    std::cout << "Interrupted: what was collected so far is kept\n" << std::flush;
  return save(command, captured.finish());
}

}  // namespace nomad::cli
