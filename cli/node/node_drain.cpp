// node drain: moves what runs on a node elsewhere, and shows how that goes.
#include <iostream>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/node/drain_monitor.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::cli {
namespace {

struct DrainFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& enable = flag("enable", "Drains the node.");
  const bool& disable = flag("disable", "Ends the drain of the node.");
  const std::string& deadline = option(
      "deadline", "When what is left is stopped, from now on: 30m; an hour if it is not given.");
  const bool& detach = flag("detach", "Returns at once, without monitoring the drain.");
  const bool& monitor = flag("monitor", "Monitors a drain that is under way.");
  const bool& force = flag("force", "Stops everything at once.");
  const bool& no_deadline = flag("no-deadline", "Waits for as long as it takes.");
  const bool& ignore_system = flag("ignore-system", "Leaves system jobs on the node.");
  const bool& keep_ineligible
      = flag("keep-ineligible", "With -disable: nothing new is placed on the node.");
  const std::string& message = option("m", "A message that is kept with the drain.");
  const std::vector<std::string>& meta
      = list("meta", "key=value that is kept with the drain; may stand several times.");
  const bool& self = flag("self", "The agent's own node.");
  const bool& yes = flag("yes", "Asks nothing.");
};

/// Why the flags don't go together; empty if they do.
std::string_view contradiction(const DrainFlags& flags, std::size_t arguments) {
  if (flags.monitor && (flags.enable || flags.disable))
    return "The -monitor flag cannot be used with the '-enable' or '-disable' flags";
  if (!flags.monitor && flags.enable == flags.disable)
    return "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'";
  if (arguments != (flags.self ? 0U : 1U))
    return "Node ID must be specified if -self isn't being used";
  const bool has_deadline = !flags.deadline.empty();
  if (flags.disable && (has_deadline || flags.force || flags.no_deadline || flags.ignore_system))
    return "-disable can't be combined with flags configuring drain strategy";
  if (has_deadline && (flags.force || flags.no_deadline))
    return "-deadline can't be combined with -force or -no-deadline";
  if (flags.force && flags.no_deadline) return "-force and -no-deadline are mutually exclusive";
  return {};
}

/// In nanoseconds; negative: at once, 0: none.
Result<std::int64_t> deadline_of(const DrainFlags& flags) {
  using namespace std::chrono_literals;
  if (flags.force) return Nanoseconds{-1s}.count();
  if (flags.no_deadline) return 0;
  if (flags.deadline.empty()) return Nanoseconds{1h}.count();
  const auto deadline = parse_duration(flags.deadline);
  if (!deadline)
    return mistake(
        fmt::format("Failed to parse deadline \"{}\": {}", flags.deadline, deadline.error().what));
  if (deadline->count() <= 0) return mistake("A positive drain duration must be given");
  return deadline->count();
}

/// What is kept with the drain. Who ends one adds to what is kept.
boost::json::object drain_meta(const DrainFlags& flags, const View& node) {
  boost::json::object meta;
  if (flags.disable)
    for (const auto& [key, value] : node["LastDrain"]["Meta"].members())
      meta[key] = value.text();
  if (!flags.message.empty()) meta[flags.enable ? "message" : "cancel_message"] = flags.message;
  for (const auto& entry : flags.meta) {
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    meta[entry.substr(0, equals)]
        = equals == std::string::npos ? std::string{} : entry.substr(equals + 1);
  }
  return meta;
}

/// Asks before a node is drained whose id was not typed whole. Not: the command's exit code.
std::optional<int> refused_drain(const std::string& id, bool enable) {
  std::cout << fmt::format("Are you sure you want to {} drain mode for node \"{}\"? [y/N] ",
                           enable ? "enable" : "disable", id)
            << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y") return std::nullopt;
  if (answer.empty() || answer[0] == 'n' || answer[0] == 'N') {
    std::cout << "Canceling drain toggle\n";
    return 0;
  }
  if (answer[0] == 'y' || answer[0] == 'Y') {
    std::cout << "For confirmation, an exact ‘y’ is required.\n";
    return 0;
  }
  std::cout << "No confirmation detected. For confirmation, an exact 'y' is required.\n";
  return 1;
}

Result<int> toggle_drain(Api& api,
                         const DrainFlags& flags,
                         const Answer& node,
                         std::int64_t deadline) {
  const auto id = node.view()["ID"].text();
  boost::json::object body{{"NodeID", id},
                           {"DrainSpec", nullptr},
                           {"MarkEligible", !flags.keep_ineligible},
                           {"Meta", drain_meta(flags, node.view())}};
  if (flags.enable)
    body["DrainSpec"]
        = boost::json::object{{"Deadline", deadline}, {"IgnoreSystemJobs", flags.ignore_system}};
  const auto set = NOMAD_TRY(
      api.put("/v1/node/" + id + "/drain", body).within("Error updating drain specification"));
  const auto said
      = fmt::format("Node \"{}\" drain strategy {}", id, flags.enable ? "set" : "unset");
  if (!flags.enable || flags.detach) {
    std::cout << said << '\n';
    return 0;
  }
  const auto now = clock_now();
  std::cout << colored(
      fmt::format("{}: Ctrl-C to stop monitoring: will not cancel the node drain", now), "green")
            << '\n'
            << fmt::format("{}: {}", now, said) << std::endl;
  const auto index = static_cast<std::uint64_t>(set.view()["Index"].number());
  return monitor_drain(flags.common, {id, index, flags.ignore_system});
}

}  // namespace

Result<int> run_node_drain(const std::vector<std::string>& arguments) {
  DrainFlags flags{"node drain [options] <node>",
                   "Drains a node: moves what runs on it elsewhere, or ends that."};
  if (auto code = flags.parse(arguments)) return *code;
  const auto wrong = contradiction(flags, flags.positional().size());
  if (!wrong.empty()) return flags.misuse(wrong);
  const auto deadline = NOMAD_TRY(deadline_of(flags));
  auto& api = *NOMAD_TRY(flags.connect());
  const auto prefix = NOMAD_TRY(flags.self ? own_node(api) : flags.positional()[0]);
  const UuidKind kind{node_kind.list_path, node_kind.read_path, node_kind.noun, node_kind.title,
                      "Error toggling drain mode"};
  const auto node = NOMAD_TRY(find_by_prefix(api, kind, prefix, true));
  const auto id = node.view()["ID"].text();
  if (flags.monitor) {
    if (node.view()["DrainStrategy"].is_null()) {
      std::cerr << "No drain strategy set\n";
      return 0;
    }
    std::cout << colored(
        fmt::format("{}: Monitoring node \"{}\": Ctrl-C to detach monitoring", clock_now(), id),
        "green")
              << std::endl;
    return monitor_drain(flags.common, {id, node.index, flags.ignore_system});
  }
  if (prefix != id && !flags.yes)
    if (const auto code = refused_drain(id, flags.enable)) return *code;
  return toggle_drain(api, flags, node, deadline);
}

}  // namespace nomad::cli
