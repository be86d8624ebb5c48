// /v1/allocations, /v1/allocation/<id>: allocations as the servers know them.
#include "actors/api/allocs/alloc_endpoint.hpp"

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/job_commands.hpp"

namespace nomad::api {
namespace {

using state::AllocRef;
using state::Snapshot;
using state::Table;

Result<bool> keeps_row(const RowFilter& filter, const state::AllocRow& row) {
  if (!filter) return true;
  std::vector<query::Filter::Extra> extras;
  if (row.job) extras.push_back({"Job", *row.job});
  if (row.metric) extras.push_back({"Metrics", *row.metric});
  return keeps(filter, *row.alloc, extras);
}

Result<Read> make_list(const net::Request& request, const ReadOptions& options) {
  NOMAD_TRY(check_id_prefix("alloc", options));
  const auto resources = bool_parameter(request, "resources");
  if (!resources) return resources.error();
  const auto task_states = bool_parameter(request, "task_states", true);
  if (!task_states) return task_states.error();
  auto filter = compile_filter(options);
  if (!filter) return filter.error();
  const StubOptions stub{*resources, *task_states};
  return Read{
      .watch = {state::watch_prefix(Table::allocs, options.prefix)},
      .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::allocs); },
      .answer =
          [options, stub, filter = *filter](const Snapshot& snapshot) {
            const auto& tables = snapshot.tables();
            const bool by_id = !options.prefix.empty();
            return list_page(
                by_id ? tables.allocs : tables.allocs_by_create, walk_by_create(options), options,
                [&](const AllocRef& row) -> Result<bool> {
                  if (!options.wants(view(row->alloc->getNamespace()))) return false;
                  return keeps_row(filter, *row);
                },
                [by_id](std::string_view, const AllocRef& row) {
                  const auto id = view(row->alloc->getId());
                  return by_id ? std::string{id}
                               : query::CreateToken::make(row->alloc->getCreateIndex(), id);
                },
                [&](std::string& out, const AllocRef& row) { append_alloc_stub(out, *row, stub); });
          },
      .is_heavy
      = [](const Snapshot& snapshot) { return snapshot.tables().allocs.size() > heavy_rows; },
      .cacheable = true};
}

void list_allocs(Call call) {
  const auto& request = call.request();
  read_state(std::move(call),
             [&request](const ReadOptions& options) { return make_list(request, options); });
}

void read_alloc(Call call) {
  const auto id = call.rest;
  if (id.find('/') != std::string::npos) return call.fail(not_found("resource not found"));
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("alloc", id));
    return Read{.watch = {state::watch_key(Table::allocs, id)},
                .index =
                    [id](const Snapshot& snapshot) {
                      const auto row = snapshot.alloc(id);
                      return row ? row->alloc->getModifyIndex()
                                 : table_index(snapshot, Table::allocs);
                    },
                .answer =
                    [id](const Snapshot& snapshot) {
                      const auto row = snapshot.alloc(id);
                      if (!row) return Answer::error(not_found("alloc not found"));
                      std::string out;
                      append_alloc(out, *row);
                      return Answer::json(std::move(out));
                    },
                .cacheable = true};
  });
}

void stop_alloc(Call call) {
  const auto no_delay = bool_parameter(call.request(), "no_shutdown_delay");
  if (!no_delay)
    return call.fail(
        bad_request("no_shutdown_delay value is not a boolean: "
                    + std::string{call.request().parameter_or_empty("no_shutdown_delay")}));
  if (const auto checked = check_id("alloc", call.rest); !checked)
    return call.fail(checked.error());
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const cluster::EvalSeed& seed) {
        return cluster::decide_alloc_stop(state, id, *no_delay, seed);
      },
      [](const server::Written<cluster::Decision>& done) {
        std::string out;
        JsonObject{out}.text("EvalID", done.decision.eval_id).number("Index", done.index);
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

void alloc_services(Call call) {
  const auto id = call.rest;
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("alloc", id));
    return Read{
        .watch
        = {state::watch_key(Table::services_by_alloc, id), state::watch_key(Table::allocs, id)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::services); },
        .answer =
            [id](const Snapshot& snapshot) {
              if (!snapshot.alloc(id)) return Answer::error(not_found("allocation not found"));
              std::string out;
              append_json_list(
                  out, snapshot.services_by_alloc(id),
                  [](std::string& to, const auto& entry) { append_json(to, *entry.value()); });
              return Answer::json(std::move(out));
            }};
  });
}

}  // namespace

std::string stub_list(std::vector<AllocRef> rows) {
  std::sort(rows.begin(), rows.end(), [](const AllocRef& left, const AllocRef& right) {
    const auto a = left->alloc->getCreateIndex();
    const auto b = right->alloc->getCreateIndex();
    return a != b ? a < b : view(left->alloc->getId()) < view(right->alloc->getId());
  });
  std::string out;
  append_json_list(out, rows,
                   [](std::string& to, const AllocRef& row) { append_alloc_stub(to, *row); });
  return out;
}

void add_alloc_routes(Routes& routes) {
  routes.exact("/v1/allocations", {{Methods::get, Capability::read_job, list_allocs}});
  routes.below(
      "/v1/allocation/",
      {{"/stop", {{Methods::write, Capability::alloc_lifecycle, stop_alloc}}},
       {"/services", {{Methods::get, Capability::read_job, alloc_services}}},
       {"/checks", {{Methods::any, Capability::read_job, alloc_checks, Where::alloc_node}}},
       {"", {{Methods::get, Capability::read_job, read_alloc}}}});
}

}  // namespace nomad::api
