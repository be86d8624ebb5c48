// /v1/evaluations and /v1/evaluation/<id>.
#include <boost/json.hpp>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/eval_deletion.hpp"
#include "runtime/object/enum_name.hpp"
#include "schema/eval.capnp.h"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;
using EvalRef = Object<schema::Evaluation>;

constexpr std::size_t most_deleted = 7'281;  ///< Ids of one request, as Nomad bounds it.

/// What a list of evaluations is narrowed down to.
struct EvalSelection {
  ReadOptions options;
  std::string status;
  std::string job;
  RowFilter filter;

  /// Whether an evaluation need not be looked at, because what counts is part of its key by job.
  bool is_of_keys() const { return !filter && options.prefix.empty(); }

  Result<bool> keeps_eval(const EvalRef& eval) const {
    static const object::TextField<schema::Evaluation> ns{"Namespace"};
    if (!options.wants(ns.of(eval))) return false;
    if (!status.empty() && enum_name(eval->getStatus()) != status) return false;
    if (!job.empty() && view(eval->getJobId()) != job) return false;
    return keeps(filter, eval);
  }
};

Result<EvalSelection> select(const net::Request& request, const ReadOptions& options) {
  EvalSelection selection;
  selection.options = options;
  selection.status = request.parameter_or_empty("status");
  selection.job = request.parameter_or_empty("job");
  if (!options.filter.empty() && (!selection.status.empty() || !selection.job.empty()))
    return Error{Errc::invalid_argument,
                 "Filter expression cannot be used with other filter parameters"};
  NOMAD_TRY(check_id_prefix("eval", options));
  selection.filter = NOMAD_TRY(compile_filter(options));
  return selection;
}

Outcome list_evals(Call& call) {
  const auto& request = call.request();
  return read_state(call, [&request](const ReadOptions& options) -> Result<Read> {
    auto selection = NOMAD_TRY(select(request, options));
    return Read{.watch = {state::watch_prefix(Table::evals, options.prefix)},
                .index = index_of<Table::evals>,
                .list =
                    [selection](const View& snapshot, EarlyBody* early) {
                      return list_by_create(
                          snapshot, &state::Snapshot::evals_map,
                          &state::Snapshot::evals_by_create_map, selection.options,
                          [&](const EvalRef& eval) { return selection.keeps_eval(eval); },
                          append_whole, early);
                    },
                .is_heavy = is_long<&state::Snapshot::evals_map>,
                .cacheable = true};
  });
}

Answer eval_count(const View& snapshot, std::uint64_t count) {
  JsonObject object;
  object.number("Count", count);
  append_query_meta(object, snapshot.index(Table::evals), true);
  return Answer::json(object.take());
}

Outcome count_evals(Call& call) {
  const auto& request = call.request();
  return read_state(call, [&request](const ReadOptions& options) -> Result<Read> {
    auto selection = NOMAD_TRY(select(request, options));
    return Read{.watch = {state::watch_prefix(Table::evals, options.prefix)},
                .index = index_of<Table::evals>,
                .answer =
                    [selection](const View& snapshot) {
                      std::uint64_t count = 0;
                      if (selection.is_of_keys()) {
                        const auto& status = selection.status;
                        snapshot.each_eval_status(
                            selection.options.ns, selection.job, [&](schema::EvalStatus has) {
                              count += status.empty() || enum_name(has) == status ? 1 : 0;
                            });
                        return eval_count(snapshot, count);
                      }
                      snapshot.walk(&state::Snapshot::evals_map,
                                    {.prefix = selection.options.prefix}, [&](const auto& entry) {
                                      const auto kept = selection.keeps_eval(entry.value());
                                      // As deletions, which pass over what a filter can't judge.
                                      count += kept && *kept ? 1 : 0;
                                      return true;
                                    });
                      return eval_count(snapshot, count);
                    },
                .is_heavy = is_long<&state::Snapshot::evals_map>};
  });
}

void append_related(JsonObject& parent, const View& snapshot, schema::Evaluation::Reader eval) {
  std::vector<EvalRef> related;
  for (const auto id : {eval.getNextEval(), eval.getPreviousEval(), eval.getBlockedEval()})
    if (const auto other = snapshot.eval(view(id)); other && *other) related.push_back(*other);
  if (related.empty()) return;  // left out like everything that is zero
  append_json_list(parent.raw("RelatedEvals"), related, [](std::string& to, const EvalRef& other) {
    const auto stub = *other;
    JsonObject object{to};
    object.text("BlockedEval", stub.getBlockedEval())
        .number("CreateIndex", stub.getCreateIndex())
        .number("CreateTime", stub.getCreateTime())
        .text("DeploymentID", stub.getDeploymentId())
        .text("ID", stub.getId())
        .text("JobID", stub.getJobId())
        .number("ModifyIndex", stub.getModifyIndex())
        .number("ModifyTime", stub.getModifyTime())
        .text("Namespace", stub.getNamespace())
        .text("NextEval", stub.getNextEval())
        .text("NodeID", stub.getNodeId())
        .text("PreviousEval", stub.getPreviousEval())
        .number("Priority", stub.getPriority())
        .text("Status", enum_name(stub.getStatus()))
        .text("StatusDescription", stub.getStatusDescription())
        .text("TriggeredBy", enum_name(stub.getTriggeredBy()))
        .text("Type", stub.getType());
    append_time(object, "WaitUntil", stub.getWaitUntil());
  });
}

Outcome read_eval(Call& call) {
  const bool related = call.request().parameter_or_empty("related") == "true";
  return read_state(call, [&](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("failed to lookup eval: eval", call.rest));
    return read_row<Table::evals>(
        call.rest, "eval", [id = call.rest](const View& snapshot) { return snapshot.eval(id); },
        [related](const View& snapshot, const EvalRef& eval) {
          JsonObject object;
          object.members(*eval);
          if (related) append_related(object, snapshot, *eval);
          return Answer::json(object.take());
        });
  });
}

Outcome eval_allocations(Call& call) {
  return read_state(call, [id = call.rest](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("", id));
    return Read{.watch = {state::watch_key(Table::allocs_by_eval, id)},
                .index = index_of<Table::allocs>,
                .answer = [id](const View& snapshot) {
                  return Answer::json(stub_list(snapshot.allocs_by_eval(id)));
                }};
  });
}

/// What a deletion names, or else a filter.
struct EvalsToDelete {
  std::vector<std::string> ids = {};
  std::string filter = {};
};

Result<EvalsToDelete> evals_to_delete(const net::Request& request) {
  const auto body = NOMAD_TRY(read_body(request));
  BodyFields fields{body, "EvalDeleteRequest"};
  EvalsToDelete wanted{.filter = fields.text("Filter")};
  const auto* ids = fields.array("EvalIDs");
  NOMAD_TRY(fields.check());
  const bool has_ids = ids != nullptr && ids->size != 0;
  const auto bad = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (has_ids && !wanted.filter.empty())
    return bad("evals cannot be deleted by both ID and filter");
  if (!has_ids && wanted.filter.empty()) return bad("evals must be deleted by either ID or filter");
  if (!has_ids) return wanted;
  if (ids->size > most_deleted)
    return bad("request includes " + std::to_string(ids->size) + " evaluation IDs, must be "
               + std::to_string(most_deleted) + " or fewer");
  for (const JsonNode& id : ids->elements()) {
    if (!id.is(JsonKind::text)) return bad("evaluation IDs must be strings");
    wanted.ids.emplace_back(id.text());
  }
  return wanted;
}

Answer deleted_answer(std::uint64_t count, std::uint64_t index) {
  return Answer::json(JsonObject{}.number("Count", count).number("Index", index).take())
      .with_index(index);
}

Outcome delete_by_filter(Call& call, std::string_view filter) {
  const auto& state = call.context->state;
  if (!state.writer) return no_leader();
  const auto snapshot = state.store->snapshot();
  auto deletion = NOMAD_TRY(cluster::decide_delete_by_filter(snapshot, call.asking, filter));
  if (deletion.commands.empty()) return deleted_answer(0, snapshot.index());
  const auto& writer = *state.writer;
  const auto count = std::make_shared<std::uint64_t>(0);  // of the Raft node's thread
  const auto shared = share(std::move(call));
  writer.propose_all(
      deletion.allowed, std::move(deletion.commands), shared->turns(),
      responding(
          shared,
          [count](const server::Committed& done) { return deleted_answer(*count, done.index); }),
      [count](const server::Committed& done) { *count += done.outcome->evals_deleted; });
  return later;
}

Outcome delete_evals_here(Call& call) {
  const auto wanted = NOMAD_TRY(evals_to_delete(call.request()));
  if (wanted.ids.empty()) return delete_by_filter(call, wanted.filter);
  return write(
      call,
      [ids = wanted.ids](const Snapshot& state, const access::Asking& asking,
                         const cluster::EvalSeed&) {
        return cluster::decide_delete_evals(state, asking, ids);
      },
      [](const server::Written<cluster::Decision>& done) {
        return deleted_answer(done.outcome->evals_deleted, done.index);
      });
}

/// Finding what a filter holds for takes as long as the table is.
Outcome delete_evals(Call& call) {
  return on_pool(call, delete_evals_here);
}

}  // namespace

void add_eval_routes(Routes& routes) {
  routes.exact("/v1/evaluations", {{Methods::get, Capability::read_job, list_evals},
                                   {Methods::remove, Capability::management, delete_evals}});
  routes.exact("/v1/evaluations/count", {{Methods::get, Capability::read_job, count_evals}});
  routes.below("/v1/evaluation/",
               {{"/allocations", {{Methods::get, Capability::read_job, eval_allocations}}},
                {"", {{Methods::get, Capability::read_job, read_eval}}}});
}

}  // namespace nomad::api
