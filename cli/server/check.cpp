// check: the health of an agent as an exit code that Nagios knows.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::cli {
namespace {

constexpr int is_well = 0;
constexpr int has_warnings = 1;
constexpr int is_critical = 2;

int report_critical(std::string_view what) {
  std::cout << what << '\n';
  return is_critical;
}

int check_server(const View& stats, std::int64_t least_peers) {
  const auto text = stats["raft"]["num_peers"].text();
  const auto peers = nomad::whole_number<std::int64_t>(text);
  if (!peers)
    return report_critical(fmt::format("unable to get known peers: \"{}\" is no number", text));
  if (*peers >= least_peers) return is_well;
  return report_critical(fmt::format("known peers: {}, is less than expected number of peers: {}",
                                     *peers, least_peers));
}

int check_client(const View& client, std::int64_t least_servers) {
  const auto ttl = parse_duration(client["heartbeat_ttl"].text());
  if (!ttl) return report_critical("unable to parse heartbeat TTL: " + ttl.error().what);
  const auto last = parse_duration(client["last_heartbeat"].text());
  if (!last) return report_critical("unable to parse last heartbeat: " + last.error().what);
  if (*last > *ttl)
    return report_critical(
        fmt::format("last heartbeat was \"{}\" time ago, expected heartbeat ttl: \"{}\"",
                    format_duration(*last), format_duration(*ttl)));
  const auto known = client["known_servers"].text();
  const auto servers = known.empty() ? 0 : std::ssize(split(known, ','));
  if (servers >= least_servers) return is_well;
  return report_critical(fmt::format(
      "known servers: {}, is less than expected number of servers: {}", servers, least_servers));
}

}  // namespace

Result<int> run_check(const std::vector<std::string>& arguments) {
  ApiCommand command{"check [options]",
                     "Says by its exit code how the agent is: 0 well, 1 a warning, 2 critical."};
  auto& peers = command.number("min-peers", "Other servers that a server has to know.");
  auto& servers = command.number("min-servers", "Servers that a client has to know.", 1);
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  if (const auto made = command.connect(); !made)
    return report_critical("error initializing client: " + made.error().what);
  const auto self = command.api->get("/v1/agent/self").within("failed querying self endpoint");
  if (!self) return report_critical("unable to query agent info: " + self.error().what);
  const auto stats = self->view()["stats"];
  if (!stats["nomad"].is_null()) return check_server(stats, peers);
  if (!stats["client"].is_null()) return check_client(stats["client"], servers);
  return has_warnings;
}

}  // namespace nomad::cli
