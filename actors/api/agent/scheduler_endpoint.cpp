// /v1/agent/schedulers: the scheduler workers of this server, and how many there are to be. Tests:
// scheduler_test.
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/server/scheduler_pool.hpp"

namespace nomad::api {
namespace {

using server::SchedulerSettings;
using server::SchedulerWorkerStats;
using Workers = std::vector<server::SchedulerPool::Worker>;

constexpr std::chrono::seconds worker_timeout{5};

std::string member_name(const AgentInfo& agent) {
  return agent.name + '.' + agent.region;
}

/// What was asked of workers so far.
struct Looks {
  Workers workers;
  std::vector<std::optional<SchedulerWorkerStats>> stats;  ///< Empty: it does not answer.
  std::vector<std::string> types;
};

void append_worker(std::string& out, const Looks& looks, std::size_t i) {
  const auto& stats = looks.stats[i];
  JsonObject object{out};
  append_json_texts(object.raw("enabled_schedulers"), looks.types);
  object.text("id", looks.workers[i].id)
      .text("started", stats ? format_rfc3339(stats->since) : std::string{})
      .text("status", stats ? "Started" : "Unknown")
      .text("workload_status", !stats             ? "Unknown"
                               : stats->works > 0 ? "Scheduling"
                                                  : "WaitingToDequeue");
}

Answer shown_workers(const Looks& looks, const AgentInfo& agent) {
  JsonObject object;
  auto& out = object.raw("schedulers");
  out += '[';
  for (std::size_t i = 0; i < looks.workers.size(); ++i) {
    if (i > 0) out += ',';
    append_worker(out, looks, i);
  }
  out += ']';
  object.text("server_id", member_name(agent));
  return Answer::json(object.take());
}

/// Asks the workers one after the other: there are few, and none waits.
void look_at(const SharedCall& call,
             const std::shared_ptr<Looks>& looks,
             const SchedulerParts& parts) {
  const auto next = looks->stats.size();
  if (next == looks->workers.size()) return call->send(shown_workers(*looks, parts.agent));
  call->context->asker.ask<SchedulerWorkerStats>(
      looks->workers[next].actor, server::GetSchedulerWorkerStats{}, worker_timeout,
      [call, looks, &parts](const Result<SchedulerWorkerStats>& stats) {
        looks->stats.push_back(stats ? std::optional{*stats} : std::nullopt);
        look_at(call, looks, parts);
      });
}

Error server_only() {
  return bad_request("Server only endpoint");
}

Outcome list_schedulers(Call& call, const SchedulerParts& parts) {
  if (!parts.pool) return server_only();
  const auto looks = std::make_shared<Looks>();
  looks->workers = parts.pool->workers();
  looks->types = parts.pool->settings().types;
  look_at(share(std::move(call)), looks, parts);
  return later;
}

Answer shown_settings(const SchedulerSettings& settings, const AgentInfo& agent) {
  JsonObject object;
  append_json_texts(object.raw("enabled_schedulers"), settings.types);
  return Answer::json(object.number("num_schedulers", settings.workers)
                          .text("server_id", member_name(agent))
                          .take());
}

Outcome read_schedulers(Call&, const SchedulerParts& parts) {
  if (!parts.pool) return server_only();
  return shown_settings(parts.pool->settings(), parts.agent);
}

/// The server that the body may name is passed over, so that an answer can be sent back.
Result<SchedulerSettings> wanted_settings(const net::Request& request) {
  const auto body = NOMAD_TRY(read_body(request));
  BodyFields fields{body, "AgentSchedulerWorkerConfigRequest"};
  const auto workers = fields.integer("num_schedulers");
  SchedulerSettings settings{.workers = 0, .types = {}};
  if (const auto* types = fields.array("enabled_schedulers"); types != nullptr)
    for (const auto& type : types->elements()) {
      if (!type.is(JsonKind::text))
        return Error{Errc::invalid_argument, "enabled_schedulers: expected texts"};
      settings.types.emplace_back(type.text());
    }
  NOMAD_TRY(fields.check());
  if (!std::in_range<unsigned>(workers))
    return Error{Errc::invalid_argument,
                 fmt::format("num_schedulers: {} can't be a number of them", workers)};
  settings.workers = static_cast<unsigned>(workers);
  NOMAD_TRY(server::check_settings(settings));
  return settings;
}

Outcome write_schedulers(Call& call, const SchedulerParts& parts) {
  if (!parts.pool) return server_only();
  auto settings = NOMAD_TRY(wanted_settings(call.request()).within("Invalid request"));
  parts.pool->change(std::move(settings));
  return shown_settings(parts.pool->settings(), parts.agent);
}

}  // namespace

void add_scheduler_routes(Routes& routes, SchedulerParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/agent/schedulers",
               {{Methods::get, Capability::agent_read, with(list_schedulers), Where::agent}});
  routes.exact("/v1/agent/schedulers/config",
               {{Methods::get, Capability::agent_read, with(read_schedulers), Where::agent},
                {Methods::write, Capability::agent_write, with(write_schedulers), Where::agent}});
}

}  // namespace nomad::api
