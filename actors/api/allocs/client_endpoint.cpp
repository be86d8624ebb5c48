// /v1/client/allocation/<id>/<action>, /v1/client/stats, /v1/client/metadata and /v1/client/gc:
// what the client node of this process is and does.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/allocs/exec_endpoint.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/text.hpp"

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

/// Whether there is somebody to ask about the allocation of the path.
Result<> check_alloc(const Call& call, const ClientParts& parts) {
  if (call.node.empty()) NOMAD_TRY(client_of(call, parts));
  return {};
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

/// Whether there is somebody to ask about the node of the request. `named`: by the body.
Result<> check_node(const Call& call, const ClientParts& parts, std::string_view named = {}) {
  if (call.node.empty()) NOMAD_TRY(client_asked_for(call, parts, named));
  return {};
}

/// Asks the node that the call is about, and answers with what `respond` makes of its reply. `fill`
/// gets the builder of the question.
template <class Fill, class Respond>
Outcome ask_node(Call& call, const ClientParts& parts, Fill fill, Respond respond) {
  auto question = door::make_node_ask(call.node.empty() ? parts.node_id : call.node,
                                      call.asking.who, [&](auto& ask) {
                                        ask.setAllocId(text(call.rest));
                                        fill(ask);
                                      });
  const auto context = call.context;
  context->asker.ask<door::NodeReply>(
      parts.nodes, std::move(question), ask_timeout,
      [shared = share(std::move(call)), respond](const Result<door::NodeReply>& reply) {
        if (!reply && reply.error().code == Errc::not_found && !shared->node.empty())
          return relay_to_node(std::move(*shared));
        shared->settle(reply ? Outcome{respond(*reply)} : Outcome{reply.error()});
      });
  return later;
}

Answer done_answer(const door::NodeReply&) {
  return Answer::json(JsonObject{}.number("Index", 0).take());
}

Answer empty_answer(const door::NodeReply&) {
  return Answer::empty();
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

/// Whose, for whom and until when; no token.
Answer identities_answer(const ca::IdentityReports& reports) {
  return Answer::json(
      json_list(reports.identities, [](std::string& out, const ca::IdentityReport& one) {
        JsonObject object{out};
        append_json_list(object.raw("Audience"), one.audience,
                         [](std::string& to, const auto& each) { append_json_text(to, each); });
        object.number("ExpiresAt", one.expires_at)
            .number("IssuedAt", one.issued_at)
            .text("Name", one.name.empty() ? "default" : one.name)
            .text("Service", one.service)
            .text("Task", one.task);
      }));
}

Outcome alloc_identities(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_of(call, parts));
  return ask<ca::IdentityReports>(call, client, ca::AllocIdentities{call.rest, call.asking},
                                  identities_answer);
}

Outcome restart_alloc(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  std::string task;
  bool all = false;
  if (!trim(call.request().body, file_space).empty()) {
    const auto body = NOMAD_TRY(read_body(call.request()));
    BodyFields fields{body, "AllocRestartRequest"};
    task = fields.text("TaskName");
    all = fields.boolean("AllTasks");
    NOMAD_TRY(fields.check());
  }
  return ask_node(
      call, parts,
      [&](auto& ask) {
        auto order = ask.initRestartTasks();
        order.setTask(text(task));
        order.setAll(all);
      },
      done_answer);
}

Outcome signal_alloc(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  const auto body = NOMAD_TRY(read_body(call.request()).within("Failed to decode body"));
  BodyFields fields{body, "AllocSignalRequest"};
  const auto task = fields.text("Task");
  const auto signal = fields.text("Signal");
  NOMAD_TRY(fields.check().within("Failed to decode body"));
  return ask_node(
      call, parts,
      [&](auto& ask) {
        auto order = ask.initSignalTasks();
        order.setTask(text(task));
        order.setSignal(text(signal));
      },
      done_answer);
}

Outcome collect_alloc(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setCollectAlloc(); }, empty_answer);
}

Outcome collect_all(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_node(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setCollectGarbage(); }, empty_answer);
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
      .number("Available", usage.memory.available)
      .number("Free", usage.memory.free)
      .number("Total", usage.memory.total)
      .number("Used", usage.memory.used);
  object.number("Timestamp", usage.timestamp).number("Uptime", usage.uptime_seconds);
  return Answer::json(object.take());
}

Outcome host_stats(Call& call, const ClientParts& parts) {
  const auto client = NOMAD_TRY(client_asked_for(call, parts));
  return ask<ca::HostUsage>(call, client, ca::ReadHostUsage{}, host_answer);
}

// --- metadata
// ------------------------------------------------------------------------------------------

void append_meta(std::string& out, capnp::List<schema::TextEntry>::Reader meta) {
  JsonObject object{out};
  for (const auto entry : meta)
    append_json_text(object.member(view(entry.getKey())), view(entry.getValue()));
}

Answer meta_answer(const door::NodeReply& reply) {
  const auto meta = reply->getMeta();
  JsonObject object;
  {
    JsonObject dynamic{object.raw("Dynamic")};
    for (const auto entry : meta.getDynamic()) {
      auto& out = dynamic.member(view(entry.getKey()));
      if (entry.getUnset())
        out += "null";
      else
        append_json_text(out, view(entry.getValue()));
    }
  }
  append_meta(object.raw("Meta"), meta.getMerged());
  append_meta(object.raw("Static"), meta.getFixed());
  return Answer::json(object.take());
}

Outcome read_meta(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_node(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setReadMeta(); }, meta_answer);
}

Outcome apply_meta(Call& call, const ClientParts& parts) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "NodeMetaApplyRequest"};
  const auto node = fields.text("NodeID");
  const auto* given = fields.object("Meta");
  NOMAD_TRY(fields.check());
  NOMAD_TRY(check_node(call, parts, node));
  std::map<std::string, std::optional<std::string>> change;  // none: it is unset
  if (given != nullptr)
    for (const auto& [key, value] : given->members()) {
      if (!value.is(JsonKind::text) && !value.is(JsonKind::null))
        return bad_request("metadata \"" + std::string{key} + "\": expected a text, or null");
      auto& entry = change[std::string{key}];
      entry.reset();
      if (value.is(JsonKind::text)) entry = value.text();
    }
  return ask_node(
      call, parts,
      [&](auto& ask) {
        auto entries = ask.initApplyMeta(static_cast<unsigned>(change.size()));
        unsigned next = 0;
        for (const auto& [key, value] : change) {
          auto entry = entries[next++];
          entry.setKey(text(key));
          entry.setUnset(!value);
          if (value) entry.setValue(text(*value));
        }
      },
      meta_answer);
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
               {{Methods::any, Capability::node_read, with(host_stats), Where::node}},
               About::asked_node);
  routes.exact("/v1/client/metadata",
               {{Methods::get, Capability::node_read, with(read_meta), Where::asked_node},
                {Methods::write, Capability::node_write, with(apply_meta), Where::asked_body_node}},
               About::asked_node);
  routes.exact("/v1/client/gc",
               {{Methods::any, Capability::node_write, with(collect_all), Where::asked_node}},
               About::asked_node);
  routes.below(
      "/v1/client/allocation/",
      {{"/stats",
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_stats>), Where::alloc_node}}},
       {"/checks",
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_checks>), Where::alloc_node}}},
       {"/identities",
        {{Methods::get, Capability::read_job, with(on_alloc<alloc_identities>),
          Where::alloc_node}}},
       {"/restart",
        {{Methods::any, Capability::alloc_lifecycle, with(on_alloc<restart_alloc>),
          Where::asked_alloc_node}}},
       {"/signal",
        {{Methods::write, Capability::alloc_lifecycle, with(on_alloc<signal_alloc>),
          Where::asked_alloc_node}}},
       {"/snapshot",
        {{Methods::get, Capability::none, with(on_alloc<alloc_snapshot>), Where::agent}}},
       {"/exec", {{Methods::any, Capability::none, with(on_alloc<exec_alloc>), Where::agent}}},
       {"/gc",
        {{Methods::any, Capability::submit_job, with(on_alloc<collect_alloc>),
          Where::asked_alloc_node}}},
       {"", {{Methods::any, Capability::none, no_such_resource, Where::agent}}}});
}

}  // namespace nomad::api
