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
  return keeps(filter, row.alloc, extras);
}

Result<Read> make_list(const net::Request& request, const ReadOptions& options) {
  NOMAD_TRY(check_id_prefix("alloc", options));
  const auto resources = NOMAD_TRY(bool_parameter(request, "resources"));
  const auto task_states = NOMAD_TRY(bool_parameter(request, "task_states", true));
  auto filter = NOMAD_TRY(compile_filter(options));
  const StubOptions stub{resources, task_states};
  return Read{
      .watch = {state::watch_prefix(Table::allocs, options.prefix)},
      .index = index_of<Table::allocs>,
      .list =
          [options, stub, filter](const View& snapshot, EarlyBody* early) {
            return list_by_create(
                snapshot, &state::Snapshot::allocs_map, &state::Snapshot::allocs_by_create_map,
                options,
                [&](const AllocRef& row) -> Result<bool> {
                  if (!options.wants(row->alloc->ns())) return false;
                  return keeps_row(filter, *row);
                },
                [&](std::string& out, const AllocRef& row) { append_alloc_stub(out, *row, stub); },
                early);
          },
      .is_heavy = is_long<&state::Snapshot::allocs_map>,
      .cacheable = true};
}

Outcome list_allocs(Call& call) {
  const auto& request = call.request();
  return read_state(call,
                    [&request](const ReadOptions& options) { return make_list(request, options); });
}

Outcome read_alloc(Call& call) {
  if (call.rest.find('/') != std::string::npos) return not_found("resource not found");
  return read_state(call, [&](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("alloc", call.rest));
    auto read = read_row<Table::allocs>(
        call.rest, "alloc", [id = call.rest](const View& snapshot) { return snapshot.alloc(id); },
        [](const View& snapshot, const AllocRef& row) {
          std::string out;
          const auto all = snapshot.in(row->alloc->ns());
          append_alloc(out, *row, all ? signing_key_of(**all, *row->alloc) : std::string{});
          return Answer::json(std::move(out));
        });
    read.cacheable = true;
    read.by_object = true;
    return read;
  });
}

Outcome stop_alloc(Call& call) {
  const auto no_delay = bool_parameter(call.request(), "no_shutdown_delay");
  if (!no_delay)
    return bad_request("no_shutdown_delay value is not a boolean: "
                       + std::string{call.request().parameter_or_empty("no_shutdown_delay")});
  NOMAD_TRY(check_id("alloc", call.rest));
  return write(
      call,
      [no_delay = *no_delay, id = call.rest](const Snapshot& state, const access::Asking& asking,
                                             const cluster::EvalSeed& seed) {
        return cluster::decide_alloc_stop(state, asking, id, no_delay, seed);
      },
      [](const server::Written<cluster::Decision>& done) {
        return Answer::json(JsonObject{}
                                .text("EvalID", done.decision.eval_id)
                                .number("Index", done.index)
                                .take())
            .with_index(done.index);
      });
}

Outcome alloc_services(Call& call) {
  const auto id = call.rest;
  return read_state(call, [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("alloc", id));
    return Read{
        .watch
        = {state::watch_key(Table::services_by_alloc, id), state::watch_key(Table::allocs, id)},
        .index =
            [id](const View& snapshot) {
              return snapshot.alloc(id) ? index_from_one<Table::services>(snapshot) : at_once;
            },
        .answer =
            [id](const View& snapshot) {
              const auto alloc = snapshot.alloc(id);
              if (!alloc) return Answer::error(alloc.error());
              if (!*alloc) return Answer::error(not_found("allocation not found"));
              return list_page(snapshot, &state::Snapshot::services_by_alloc_map,
                               Walk{.prefix = state::join_key(id, "")}, {}, keep_all, key_as_token,
                               append_whole);
            }};
  });
}

}  // namespace

std::string stub_list(std::vector<AllocRef> rows) {
  std::sort(rows.begin(), rows.end(), [](const AllocRef& left, const AllocRef& right) {
    const auto a = left->alloc->create_index();
    const auto b = right->alloc->create_index();
    return a != b ? a < b : left->alloc->id() < right->alloc->id();
  });
  return json_list(rows, [](std::string& to, const AllocRef& row) { append_alloc_stub(to, *row); });
}

void add_alloc_routes(Routes& routes, ClientParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/allocations", {{Methods::get, Capability::read_job, list_allocs}});
  routes.below(
      "/v1/allocation/",
      {{"/stop", {{Methods::write, Capability::alloc_lifecycle, stop_alloc}}},
       {"/services", {{Methods::get, Capability::read_job, alloc_services}}},
       {"/checks",
        {{Methods::any, Capability::read_job, with(alloc_checks), Where::asked_alloc_node}}},
       {"", {{Methods::get, Capability::read_job, read_alloc}}}});
}

}  // namespace nomad::api
