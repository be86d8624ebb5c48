// /v1/client/allocation/<id>/<action>, /v1/client/stats, /v1/client/metadata and /v1/client/gc:
// what the client node of this process is and does.
#include <boost/json/object.hpp>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/allocs/exec_endpoint.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

namespace ca = client::client_api;

/// The client of this node, for the allocation of the path. What another node has does not come
/// this far, so without one nobody knows the allocation.
Result<client::ClientApi> client_of(const Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_id("alloc", call.rest));
  if (parts.client) return parts.client;
  return not_found("Unknown allocation \"" + call.rest + '"');
}

bool is_known(const Call& call, std::string_view node) {
  const auto& store = call.context->state.store;
  return store && store->snapshot().node(node);
}

/// The client of this node, if it is the one that is asked for. `named`: by the body.
Result<client::ClientApi> client_asked_for(const Call& call,
                                           const ClientParts& parts,
                                           std::string_view named = {}) {
  const auto parameter = call.request().parameter_or_empty("node_id");
  const std::string_view node = parameter.empty() ? named : parameter;
  if (parts.client && (node.empty() || node == parts.node_id)) return parts.client;
  if (node.empty()) return bad_request("No local Node and node_id not provided");
  NOMAD_TRY(check_id("node", node));
  return not_found(is_known(call, node) ? std::string{"No path to node"}
                                        : "Unknown node " + std::string{node});
}

Answer done_answer(const ca::Done&) {
  return Answer::json(JsonObject{}.number("Index", 0).take());
}

void append_measured(JsonObject& object, const std::vector<std::string>& measured) {
  if (measured.empty())
    object.null("Measured");
  else
    append_json_texts(object.raw("Measured"), measured);
}

void append_usage(std::string& out,
                  const ca::MemoryUsage& memory,
                  const ca::CpuUsage& cpu,
                  bool is_total) {
  JsonObject object{out};
  {
    JsonObject stats{object.raw("CpuStats")};
    append_measured(stats, cpu.measured);
    stats.real("Percent", cpu.percent)
        .real("SystemMode", cpu.system_mode)
        .number("ThrottledPeriods", cpu.throttled_periods)
        .number("ThrottledTime", cpu.throttled_time)
        .real("TotalTicks", cpu.total_ticks)
        .real("UserMode", cpu.user_mode);
  }
  object.raw("DeviceStats") += is_total ? "[]" : "null";
  JsonObject stats{object.raw("MemoryStats")};
  stats.number("Cache", memory.cache)
      .number("KernelMaxUsage", memory.kernel_max_usage)
      .number("KernelUsage", memory.kernel_usage)
      .number("MappedFile", memory.mapped_file)
      .number("MaxUsage", memory.max_usage);
  append_measured(stats, memory.measured);
  stats.number("RSS", memory.rss).number("Swap", memory.swap).number("Usage", memory.usage);
}

void append_task_usage(std::string& out, const ca::TaskUsage& task) {
  JsonObject object{out};
  if (task.processes.empty()) {
    object.null("Pids");
  } else {
    JsonObject pids{object.raw("Pids")};
    for (const auto& process : task.processes)
      append_usage(pids.raw(std::to_string(process.pid)), process.memory, process.cpu, false);
  }
  append_usage(object.raw("ResourceUsage"), task.memory, task.cpu, false);
  object.number("Timestamp", task.timestamp);
}

Outcome alloc_stats(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  ca::ReadAllocUsage request{call.rest, std::string{call.request().parameter_or_empty("task")},
                             call.asking};
  return ask<ca::AllocUsage>(call, client, std::move(request), [](const ca::AllocUsage& usage) {
    const auto total = ca::sum(usage);
    JsonObject object;
    append_usage(object.raw("ResourceUsage"), total.memory, total.cpu, true);
    {
      JsonObject tasks{object.raw("Tasks")};
      for (const auto& [name, task] : usage.tasks)
        append_task_usage(tasks.member(name), task);
    }
    object.number("Timestamp", total.timestamp);
    return Answer::json(object.take());
  });
}

void append_check(std::string& out, const ca::CheckReport& check) {
  JsonObject object{out};
  object.text("Check", check.check)
      .text("Group", check.group)
      .text("ID", check.id)
      .text("Mode", check.mode)
      .text("Output", check.output)
      .text("Service", check.service)
      .text("Status", check.status);
  if (check.status_code != 0) object.number("StatusCode", check.status_code);
  if (!check.task.empty()) object.text("Task", check.task);
  object.number("Timestamp", check.timestamp);
}

/// By id; null when there are none, as Nomad has it.
Answer checks_answer(const ca::CheckReports& reports) {
  if (reports.checks.empty()) return Answer::json("null");
  JsonObject object;
  for (const auto& check : reports.checks)
    append_check(object.member(check.id), check);
  return Answer::json(object.take());
}

}  // namespace

Outcome alloc_checks(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  return ask<ca::CheckReports>(call, client, ca::AllocChecks{call.rest, call.asking},
                               checks_answer);
}

namespace {

Outcome restart_alloc(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  ca::RestartTask request{.alloc_id = call.rest, .task = {}, .asking = call.asking};
  if (!call.request().body.empty()) {
    const auto body = NOMAD_TRY(read_body(call.request()));
    BodyFields fields{body, "AllocRestartRequest"};
    request.task = fields.text("TaskName");
    request.all_tasks = fields.boolean("AllTasks");
    NOMAD_TRY(fields.check());
  }
  return ask<ca::Done>(call, client, std::move(request), done_answer);
}

Outcome signal_alloc(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  const auto body = NOMAD_TRY(read_body(call.request()).within("Failed to decode body"));
  BodyFields fields{body, "AllocSignalRequest"};
  ca::SignalTask request{call.rest, fields.text("Task"), fields.text("Signal"), call.asking};
  NOMAD_TRY(fields.check().within("Failed to decode body"));
  return ask<ca::Done>(call, client, std::move(request), done_answer);
}

Outcome collect_alloc(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  return ask<ca::Done>(call, client, ca::CollectGarbage{call.rest, call.asking},
                       [](const ca::Done&) { return Answer::empty(); });
}

Outcome collect_all(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_asked_for(call, parts));
  return ask<ca::Done>(call, client, ca::CollectGarbage{"", call.asking},
                       [](const ca::Done&) { return Answer::empty(); });
}

// --- host
// ------------------------------------------------------------------------------------------

void append_disk(std::string& out, const ca::DiskUsage& disk) {
  JsonObject{out}
      .number("Available", disk.available)
      .text("Device", disk.device)
      .real("InodesUsedPercent", disk.inodes_used_percent)
      .text("Mountpoint", disk.mountpoint)
      .number("Size", disk.size)
      .number("Used", disk.used)
      .real("UsedPercent", disk.used_percent);
}

Answer host_answer(const ca::HostUsage& usage) {
  JsonObject object;
  append_disk(object.raw("AllocDirStats"), usage.alloc_dir);
  double busy = 0;
  for (const auto& core : usage.cpu)
    busy += core.total;
  const double ticks = busy > 0 ? usage.cpu_ticks_consumed / busy : 0;
  append_json_list(object.raw("CPU"), usage.cpu,
                   [ticks](std::string& to, const ca::CoreUsage& core) {
                     JsonObject{to}
                         .text("CPU", core.cpu)
                         .real("Idle", core.idle)
                         .real("System", core.system)
                         .real("TotalPercent", core.total)
                         .real("TotalTicks", core.total * ticks)
                         .real("User", core.user);
                   });
  object.real("CPUTicksConsumed", usage.cpu_ticks_consumed).null("DeviceStats");
  append_json_list(object.raw("DiskStats"), usage.disks, append_disk);
  JsonObject{object.raw("Memory")}
      .number("Available", usage.memory_available)
      .number("Free", usage.memory_free)
      .number("Total", usage.memory_total)
      .number("Used", usage.memory_used);
  object.number("Timestamp", usage.timestamp).number("Uptime", usage.uptime_seconds);
  return Answer::json(object.take());
}

Outcome host_stats(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_asked_for(call, parts));
  return ask<ca::HostUsage>(call, client, ca::ReadHostUsage{}, host_answer);
}

// --- metadata
// ------------------------------------------------------------------------------------------

void append_meta(std::string& out, const workload::NodeMeta& meta) {
  JsonObject object{out};
  for (const auto& [key, value] : meta)
    append_json_text(object.member(key), value);
}

Answer meta_answer(const ca::NodeMeta& meta) {
  JsonObject object;
  {
    JsonObject dynamic{object.raw("Dynamic")};
    for (const auto& [key, value] : meta.dynamic)
      if (value)
        append_json_text(dynamic.member(key), *value);
      else
        dynamic.member(key) += "null";
  }
  append_meta(object.raw("Meta"), meta.merged);
  append_meta(object.raw("Static"), meta.fixed);
  return Answer::json(object.take());
}

Outcome read_meta(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_asked_for(call, parts));
  return ask<ca::NodeMeta>(call, client, ca::ReadMeta{}, meta_answer);
}

Outcome apply_meta(Call& call, const ClientParts& parts) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "NodeMetaApplyRequest"};
  ca::ApplyMeta request{.change = {}, .asking = call.asking};
  const auto node = fields.text("NodeID");
  const auto* change = fields.object("Meta");
  NOMAD_TRY(fields.check());
  const auto client = NOMAD_TRY(client_asked_for(call, parts, node));
  if (change != nullptr)
    for (const auto& [key, value] : change->members()) {
      if (!value.is(JsonKind::text) && !value.is(JsonKind::null))
        return bad_request("metadata \"" + std::string{key} + "\": expected a text, or null");
      auto& entry = request.change[std::string{key}];
      entry.reset();
      if (value.is(JsonKind::text)) entry = value.text();
    }
  return ask<ca::NodeMeta>(call, client, std::move(request), meta_answer);
}

Outcome no_such_resource(Call&) {
  return not_found("resource not found");
}

/// An action on one allocation; the path has exactly two parts.
template <Outcome (*Action)(Call&, const ClientParts&)>
Outcome on_alloc(Call& call, const ClientParts& parts) {
  if (call.rest.empty() || call.rest.find('/') != std::string::npos) return no_such_resource(call);
  return Action(call, parts);
}

}  // namespace

void add_client_routes(Routes& routes, ClientParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/client/stats",
               {{Methods::any, Capability::node_read, with(host_stats), Where::node}});
  routes.exact("/v1/client/metadata",
               {{Methods::get, Capability::node_read, with(read_meta), Where::node},
                {Methods::write, Capability::node_write, with(apply_meta), Where::body_node}});
  routes.exact("/v1/client/gc",
               {{Methods::any, Capability::node_write, with(collect_all), Where::node}});
  routes.below(
      "/v1/client/allocation/",
      {{"/stats",
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_stats>), Where::alloc_node}}},
       {"/checks",
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_checks>), Where::alloc_node}}},
       {"/restart",
        {{Methods::any, Capability::alloc_lifecycle, with(on_alloc<restart_alloc>),
          Where::alloc_node}}},
       {"/signal",
        {{Methods::write, Capability::alloc_lifecycle, with(on_alloc<signal_alloc>),
          Where::alloc_node}}},
       {"/snapshot",
        {{Methods::get, Capability::none, with(on_alloc<alloc_snapshot>), Where::agent}}},
       {"/exec", {{Methods::any, Capability::none, with(on_alloc<exec_alloc>), Where::agent}}},
       {"/gc",
        {{Methods::any, Capability::submit_job, with(on_alloc<collect_alloc>), Where::alloc_node}}},
       {"", {{Methods::any, Capability::none, no_such_resource, Where::agent}}}});
}

}  // namespace nomad::api
