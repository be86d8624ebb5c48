// /v1/client/allocation/<id>/<action>, /v1/client/stats, /v1/client/metrics/history,
// /v1/client/metadata and /v1/client/gc: what the client node of this process is and does.
#include <cmath>
#include <iterator>
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
#include "runtime/object/enum_name.hpp"

namespace nomad::api {
namespace {

bool is_known(const Call& call, std::string_view node) {
  const auto& store = call.context->state.store;
  return store && store->snapshot().node(node);
}

/// Whether there is somebody to ask about the allocation of the path. What another node has does
/// not come this far, so without a client nobody knows it.
Result<> check_alloc(const Call& call, const ClientParts& parts) {
  if (!call.node.empty()) return {};
  NOMAD_TRY(check_id("alloc", call.rest));
  if (parts.client) return {};
  return not_found("Unknown allocation \"" + call.rest + '"');
}

/// Whether there is somebody to ask about the node of the request. `named`: by the body.
Result<> check_node(const Call& call, const ClientParts& parts, std::string_view named = {}) {
  if (!call.node.empty()) return {};
  const auto parameter = call.request().parameter_or_empty("node_id");
  const std::string_view node = parameter.empty() ? named : parameter;
  if (parts.client && (node.empty() || node == parts.node_id)) return {};
  if (node.empty()) return bad_request("No local Node and node_id not provided");
  NOMAD_TRY(check_id("node", node));
  return not_found(is_known(call, node) ? std::string{"No path to node"}
                                        : "Unknown node " + std::string{node});
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

Outcome alloc_stats(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  const auto task = text(call.request().parameter_or_empty("task"));
  return ask_node(
      call, parts, [task](auto& ask) { ask.setReadAllocUsage(task); },
      [](const door::NodeReply& reply) { return Answer::json(to_json(reply->getAllocUsage())); });
}

/// By id; null when there are none, as Nomad has it.
Answer checks_answer(const door::NodeReply& reply) {
  const auto checks = reply->getChecks();
  if (checks.size() == 0) return Answer::json("null");
  JsonObject object;
  for (const auto check : checks)
    append_json(object.member(view(check.getId())), check);
  return Answer::json(object.take());
}

}  // namespace

Outcome alloc_checks(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setReadChecks(); }, checks_answer);
}

namespace {

/// Whose, for whom and until when; no token.
Outcome alloc_identities(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setReadIdentities(); },
      [](const door::NodeReply& reply) {
        return Answer::json(json_list(reply->getIdentities(),
                                      [](std::string& out, auto one) { append_json(out, one); }));
      });
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

using schema::TaskScheduleOrder;

Result<TaskScheduleOrder> read_order(std::string_view name) {
  for (const auto order :
       {TaskScheduleOrder::PAUSE, TaskScheduleOrder::RUN, TaskScheduleOrder::SCHEDULED})
    if (enum_name(order) == name) return order;
  return bad_request("Not a valid task schedule state");
}

Result<> check_task_named(std::string_view task) {
  if (task.empty()) return bad_request("task name must be set");
  return {};
}

Outcome pause_task(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "AllocPauseRequest"};
  const auto task = fields.text("Task");
  const auto state = fields.text("ScheduleState");
  NOMAD_TRY(fields.check());
  const auto order = NOMAD_TRY(read_order(state));
  NOMAD_TRY(check_task_named(task));
  return ask_node(
      call, parts,
      [&](auto& ask) {
        auto pause = ask.initPauseTask();
        pause.setTask(text(task));
        pause.setOrder(order);
      },
      done_answer);
}

Outcome read_pause(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  const auto task = call.request().parameter_or_empty("task");
  NOMAD_TRY(check_task_named(task));
  return ask_node(
      call, parts, [&](auto& ask) { ask.setReadPause(text(task)); },
      [](const door::NodeReply& reply) {
        return Answer::json(
            JsonObject{}.text("ScheduleState", enum_name(reply->getScheduleState())).take());
      });
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

Outcome host_stats(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_node(call, parts));
  return ask_node(
      call, parts, [](auto& ask) { ask.setReadHostUsage(); },
      [](const door::NodeReply& reply) { return Answer::json(to_json(reply->getHostUsage())); });
}

// --- history
// ------------------------------------------------------------------------------------------

/// Null where nothing is known; a tenth of one otherwise.
void append_points(std::string& out, capnp::List<float>::Reader points) {
  out += '[';
  bool is_first = true;
  for (const auto point : points) {
    if (!std::exchange(is_first, false)) out += ',';
    if (point < 0)
      out += "null";
    else
      fmt::format_to(std::back_inserter(out), "{}",
                     std::round(static_cast<double>(point) * 10) / 10);
  }
  out += ']';
}

void append_series(std::string& out, schema::door::UsageSeries::Reader series) {
  JsonObject object{out};
  object.number("Interval", series.getInterval()).number("End", series.getEnd());
  append_points(object.raw("CPU"), series.getCpu());
  append_points(object.raw("Memory"), series.getMemory());
  append_points(object.raw("Network"), series.getNetwork());
}

void append_history(std::string& out, schema::door::UsageHistory::Reader history) {
  JsonObject object{out};
  object.raw("Advice") += json_list(history.getAdvice(), [](std::string& to, auto advice) {
    JsonObject{to}
        .text("Resource", advice.getResource())
        .text("Unit", advice.getUnit())
        .number("Reserved", advice.getReserved())
        .number("Used", advice.getUsed())
        .number("Suggested", advice.getSuggested())
        .text("Text", advice.getText());
  });
  JsonObject{object.raw("P95")}
      .real("CPU", history.getP95Cpu())
      .real("Memory", history.getP95Memory())
      .number("Seconds", history.getP95Seconds());
  JsonObject{object.raw("Reserved")}
      .number("CPU", history.getReservedCpu())
      .number("MemoryMB", history.getReservedMemory());
  object.raw("RestartTimes") += json_list(
      history.getRestartTimes(), [](std::string& to, auto time) { to += std::to_string(time); });
  object.number("Restarts", history.getRestarts());
  object.raw("Series") += json_list(history.getSeries(), append_series);
  object.text("Task", history.getTask());
}

Answer history_answer(const door::NodeReply& reply) {
  return Answer::json(json_list(reply->getUsageHistory(), append_history));
}

Outcome alloc_history(Call& call, const ClientParts& parts) {
  NOMAD_TRY(check_alloc(call, parts));
  const auto task = text(call.request().parameter_or_empty("task"));
  return ask_node(
      call, parts, [task](auto& ask) { ask.setReadUsageHistory(task); }, history_answer);
}

/// Of the allocation that `alloc_id` names, wherever it is; else of a node.
Outcome read_history(Call& call, const ClientParts& parts) {
  const auto alloc_id = call.request().parameter_or_empty("alloc_id");
  if (alloc_id.empty()) {
    NOMAD_TRY(authorize(call.asking, call.route_target()));
    NOMAD_TRY(check_node(call, parts));
    return ask_node(
        call, parts, [](auto& ask) { ask.setReadHostUsageHistory(); }, history_answer);
  }
  if (!call.request().parameter_or_empty("node_id").empty())
    return bad_request("history is of a node or of an allocation: give node_id or alloc_id");
  NOMAD_TRY(check_id("alloc", alloc_id));
  call.rest = alloc_id;
  call.asking.needed = Capability::read_job;
  dispatch(Where::asked_alloc_node, std::move(call),
           [&parts](Call here) { here.settle(alloc_history(here, parts)); });
  return later;
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
               {{Methods::any, Capability::node_read, with(host_stats), Where::asked_node}},
               About::asked_node);
  routes.exact("/v1/client/metrics/history",
               {{.methods = Methods::get,
                 .capability = Capability::node_read,
                 .run = with(read_history),
                 .where = Where::asked_node,
                 .handler_judges = true}},
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
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_stats>),
          Where::asked_alloc_node}}},
       {"/checks",
        {{Methods::any, Capability::read_job, with(on_alloc<alloc_checks>),
          Where::asked_alloc_node}}},
       {"/identities",
        {{Methods::get, Capability::read_job, with(on_alloc<alloc_identities>),
          Where::asked_alloc_node}}},
       {"/restart",
        {{Methods::any, Capability::alloc_lifecycle, with(on_alloc<restart_alloc>),
          Where::asked_alloc_node}}},
       {"/signal",
        {{Methods::write, Capability::alloc_lifecycle, with(on_alloc<signal_alloc>),
          Where::asked_alloc_node}}},
       {"/pause",
        {{Methods::get, Capability::read_job, with(on_alloc<read_pause>), Where::asked_alloc_node},
         {Methods::write, Capability::submit_job, with(on_alloc<pause_task>),
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
