// GET /v1/job/<id>/scale: how many allocations each group wants and has.
#include <algorithm>
#include <map>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;

struct GroupCounts {
  std::int64_t placed = 0;
  std::int64_t running = 0;
  std::int64_t healthy = 0;
  std::int64_t unhealthy = 0;
};

/// Of the job's present incarnation. Canaries and allocations that have ended do not count.
std::map<std::string_view, GroupCounts> count_groups(const Snapshot& snapshot,
                                                     schema::Job::Reader job) {
  std::map<std::string_view, GroupCounts> groups;
  for (const auto& entry : snapshot.allocs_by_job(view(job.getNamespace()), view(job.getId()))) {
    const auto& row = *entry.value();
    const auto alloc = *row.alloc;
    if (alloc.job_create_index() != job.getCreateIndex() || row.terminal()) continue;
    const auto health = alloc.deployment_status();
    if (health.getCanary()) continue;
    auto& counts = groups[alloc.task_group()];
    ++counts.placed;
    if (alloc.client_status() == schema::ClientStatus::RUNNING) ++counts.running;
    if (!health.getHealthy().isValue()) continue;
    ++(health.getHealthy().getValue() ? counts.healthy : counts.unhealthy);
  }
  return groups;
}

void append_scaling_event(std::string& out, schema::ScalingEvent::Reader event) {
  JsonObject object{out};
  if (event.getCount().isValue())
    object.number("Count", event.getCount().getValue());
  else
    object.null("Count");
  object.number("CreateIndex", event.getCreateIndex()).boolean("Error", event.getError());
  if (event.getEvalId().size() != 0)
    object.text("EvalID", event.getEvalId());
  else
    object.null("EvalID");
  object.text("Message", event.getMessage());
  if (event.getMeta().size() != 0)
    object.raw("Meta") += view(event.getMeta());
  else
    object.null("Meta");
  object.number("PreviousCount", event.getPreviousCount()).number("Time", event.getTime());
}

/// The newest first.
void append_events(JsonObject& object,
                   const Object<schema::JobScalingEvents>& events,
                   std::string_view group) {
  const auto position = events ? find_entry(events->getScalingEvents(), group) : std::nullopt;
  if (!position) {
    object.null("Events");
    return;
  }
  append_json_list(object.raw("Events"), events->getScalingEvents()[*position].getValue(),
                   append_scaling_event);
}

Answer scale_answer(const Snapshot& snapshot, schema::Job::Reader job) {
  auto counts = count_groups(snapshot, job);
  const auto events = snapshot.scaling_events(view(job.getNamespace()), view(job.getId()));
  JsonObject object;
  object.number("JobCreateIndex", job.getCreateIndex())
      .text("JobID", job.getId())
      .number("JobModifyIndex", job.getModifyIndex())
      .boolean("JobStopped", job.getStop())
      .text("Namespace", job.getNamespace());
  {
    JsonObject groups{object.raw("TaskGroups")};
    for (const auto group : job.getTaskGroups()) {
      const auto& count = counts[view(group.getName())];
      JsonObject object{groups.member(view(group.getName()))};
      object.number("Desired", group.getCount());
      append_events(object, events, view(group.getName()));
      object.number("Healthy", count.healthy)
          .number("Placed", count.placed)
          .number("Running", count.running)
          .number("Unhealthy", count.unhealthy);
    }
  }
  return Answer::json(object.take());
}

}  // namespace

Outcome job_scale_status(Call& call) {
  const auto id = call.rest;
  return read_state(call, [&id](const ReadOptions& options) -> Result<Read> {
    const auto key = state::join_key(options.ns, id);
    return Read{
        .watch = {state::watch_key(Table::jobs, key), state::watch_key(Table::allocs_by_job, key),
                  state::watch_key(Table::scaling_events, key)},
        .index =
            [](const View& snapshot) {
              return std::max({snapshot.index(Table::jobs), snapshot.index(Table::allocs),
                               snapshot.index(Table::scaling_events)});
            },
        .answer =
            [ns = options.ns, id](const View& snapshot) {
              const auto all = snapshot.in(ns);
              if (!all) return Answer::error(all.error());
              const auto job = (*all)->job(ns, id);
              return job ? scale_answer(**all, *job) : Answer::error(not_found("job not found"));
            }};
  });
}

}  // namespace nomad::api
