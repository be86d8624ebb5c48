#include "cli/why/ask.hpp"

#include <algorithm>

#include "runtime/base/clock.hpp"

namespace nomad::cli::why {
namespace {

/// Nodes that are looked at, one page of the list.
constexpr std::string_view most_nodes = "50";
/// Suspects whose output is read.
constexpr std::size_t most_failing_allocs = 4;
/// What is read of the end of an output.
constexpr std::string_view output_bytes = "4096";

/// The end of what a task has written: to stderr, or to stdout if nothing.
std::string output_of(Api& api, const std::string& alloc, const std::string& task) {
  for (const auto* type : {"stderr", "stdout"}) {
    auto stream = api.stream("/v1/client/fs/logs/" + alloc, {{"task", task},
                                                             {"type", type},
                                                             {"origin", "end"},
                                                             {"offset", std::string{output_bytes}},
                                                             {"plain", "true"},
                                                             {"follow", "false"}});
    if (!stream) continue;
    if (auto text = stream->read_all(); text && !text->empty()) return std::move(*text);
  }
  return {};
}

bool has_checks(const View& owner) {
  for (const auto& service : owner["Services"].items())
    if (!service["Checks"].items().empty()) return true;
  return false;
}

/// Whether a group has checks, itself or in its tasks.
bool is_checked(const View& group) {
  if (has_checks(group)) return true;
  for (const auto& task : group["Tasks"].items())
    if (has_checks(task)) return true;
  return false;
}

std::string group_of_alloc(const Facts& facts, const std::string& id) {
  for (const auto& alloc : View{facts.allocations}.items())
    if (alloc["ID"].text() == id) return alloc["TaskGroup"].text();
  return {};
}

void ask_of_allocations(Api& api, Facts& facts) {
  std::size_t asked = 0;
  for (const auto& each : failing_allocs(facts)) {
    if (each.task.empty() || ++asked > most_failing_allocs) continue;
    const auto id = each.alloc["ID"].text();
    facts.output[{id, each.task}] = output_of(api, id, each.task);
  }
  for (const auto& id : allocs_to_check(facts)) {
    if (!is_checked(group_of_job(facts, group_of_alloc(facts, id)))) continue;
    if (auto checks = api.get("/v1/client/allocation/" + id + "/checks"))
      facts.checks[id] = std::move(checks->body);
  }
}

void ask_of_placement(Api& api, Facts& facts) {
  const auto metrics = placement_metrics(facts).members();
  if (metrics.empty()) return;
  const bool is_quota = std::ranges::any_of(
      metrics, [](const auto& group) { return !group.second["QuotaExhausted"].items().empty(); });
  if (is_quota)
    if (auto ns = api.get("/v1/namespace/" + segment(View{facts.job}["Namespace"].text())))
      facts.ns = std::move(ns->body);
  if (auto nodes
      = api.get("/v1/nodes", {{"resources", "true"}, {"per_page", std::string{most_nodes}}}))
    facts.nodes = std::move(nodes->body);
}

}  // namespace

Result<Facts> ask(Api& api, const std::string& id, const std::string& only_alloc) {
  const auto path = "/v1/job/" + segment(id);
  Facts facts;
  facts.now = unix_now();
  facts.only_alloc = only_alloc;
  facts.job = NOMAD_TRY(api.get(path).within("Error querying job")).body;
  for (const auto& [name, to] : {std::pair{"evaluations", &facts.evaluations},
                                 {"allocations", &facts.allocations},
                                 {"deployments", &facts.deployments}})
    *to = NOMAD_TRY(api.get(path + '/' + name).within(std::string{"Error querying "} + name)).body;
  ask_of_placement(api, facts);
  ask_of_allocations(api, facts);
  return facts;
}

}  // namespace nomad::cli::why
