// /v1/evaluations and /v1/evaluation/<id>.
#include <boost/json.hpp>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/enum_name.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/gc_rules.hpp"
#include "schema/eval.capnp.h"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;
using EvalRef = Object<schema::Evaluation>;

constexpr std::size_t most_deleted = 7'281;  ///< Ids of one request, as Nomad bounds it.

std::uint64_t evals_index(const Snapshot& snapshot) {
  return table_index(snapshot, Table::evals);
}

/// What a list of evaluations is narrowed down to.
struct EvalSelection {
  ReadOptions options;
  std::string status;
  std::string job;
  RowFilter filter;

  Result<bool> keeps_eval(const EvalRef& eval) const {
    if (!options.wants(view(eval->getNamespace()))) return false;
    if (!status.empty() && enum_name(eval->getStatus()) != status) return false;
    if (!job.empty() && view(eval->getJobId()) != job) return false;
    return keeps(filter, *eval);
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
  auto filter = compile_filter(options);
  if (!filter) return filter.error();
  selection.filter = *filter;
  return selection;
}

void list_evals(Call call) {
  const auto& request = call.request();
  read_state(std::move(call), [&request](const ReadOptions& options) -> Result<Read> {
    auto selection = select(request, options);
    if (!selection) return selection.error();
    return Read{
        .watch = {state::watch_prefix(Table::evals, options.prefix)},
        .index = evals_index,
        .answer =
            [selection = *selection](const Snapshot& snapshot) {
              const auto& wanted = selection.options;
              const bool by_id = !wanted.prefix.empty();
              const auto& tables = snapshot.tables();
              return list_page(
                  by_id ? tables.evals : tables.evals_by_create, walk_by_create(wanted), wanted,
                  [&](const EvalRef& eval) { return selection.keeps_eval(eval); },
                  [by_id](std::string_view, const EvalRef& eval) {
                    const auto id = view(eval->getId());
                    return by_id ? std::string{id}
                                 : query::CreateToken::make(eval->getCreateIndex(), id);
                  },
                  [](std::string& out, const EvalRef& eval) { append_json(out, *eval); });
            },
        .is_heavy
        = [](const Snapshot& snapshot) { return snapshot.tables().evals.size() > heavy_rows; },
        .cacheable = true};
  });
}

void count_evals(Call call) {
  const auto& request = call.request();
  read_state(std::move(call), [&request](const ReadOptions& options) -> Result<Read> {
    auto selection = select(request, options);
    if (!selection) return selection.error();
    return Read{
        .watch = {state::watch_prefix(Table::evals, options.prefix)},
        .index = evals_index,
        .answer =
            [selection = *selection](const Snapshot& snapshot) {
              std::uint64_t count = 0;
              for (const auto& entry : snapshot.evals(selection.options.prefix)) {
                const auto kept = selection.keeps_eval(entry.value());
                if (!kept) return Answer::error(kept.error());
                count += *kept ? 1 : 0;
              }
              std::string out;
              {
                JsonObject object{out};
                object.number("Count", count);
                append_query_meta(object, evals_index(snapshot), true);
              }
              return Answer::json(std::move(out));
            },
        .is_heavy
        = [](const Snapshot& snapshot) { return snapshot.tables().evals.size() > heavy_rows; }};
  });
}

void append_related(JsonObject& parent, const Snapshot& snapshot, schema::Evaluation::Reader eval) {
  std::vector<EvalRef> related;
  for (const auto id : {eval.getNextEval(), eval.getPreviousEval(), eval.getBlockedEval()})
    if (const auto other = snapshot.eval(view(id))) related.push_back(other);
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

void read_eval(Call call) {
  const auto id = call.rest;
  const bool related = call.request().parameter_or_empty("related") == "true";
  read_state(std::move(call), [&](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("failed to lookup eval: eval", id));
    return Read{.watch = {state::watch_key(Table::evals, id)},
                .index =
                    [id](const Snapshot& snapshot) {
                      const auto eval = snapshot.eval(id);
                      return eval ? eval->getModifyIndex() : evals_index(snapshot);
                    },
                .answer =
                    [id, related](const Snapshot& snapshot) {
                      const auto eval = snapshot.eval(id);
                      if (!eval) return Answer::error(not_found("eval not found"));
                      std::string out;
                      {
                        JsonObject object{out};
                        object.members(*eval);
                        if (related) append_related(object, snapshot, *eval);
                      }
                      return Answer::json(std::move(out));
                    }};
  });
}

void eval_allocations(Call call) {
  const auto id = call.rest;
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {state::watch_key(Table::allocs_by_eval, id)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::allocs); },
        .answer =
            [id](const Snapshot& snapshot) {
              return Answer::json(stub_list(snapshot.allocs_by_eval(id)));
            }};
  });
}

/// The ids that a deletion names, or those that its filter finds.
Result<std::vector<std::string>> evals_to_delete(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "EvalDeleteRequest"};
  const auto filter_text = fields.text("Filter");
  const auto* ids = fields.array("EvalIDs");
  NOMAD_TRY(fields.check());
  const bool has_ids = ids != nullptr && ids->size != 0;
  const auto bad = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (has_ids && !filter_text.empty()) return bad("evals cannot be deleted by both ID and filter");
  if (!has_ids && filter_text.empty()) return bad("evals must be deleted by either ID or filter");
  std::vector<std::string> found;
  if (has_ids) {
    if (ids->size > most_deleted)
      return bad("request includes " + std::to_string(ids->size) + " evaluation IDs, must be "
                 + std::to_string(most_deleted) + " or fewer");
    for (const JsonNode& id : ids->elements()) {
      if (!id.is(JsonKind::text)) return bad("evaluation IDs must be strings");
      found.emplace_back(id.text());
    }
    return found;
  }
  ReadOptions options;
  options.filter = filter_text;
  const auto filter = compile_filter(options);
  if (!filter) return filter.error();
  if (!call.context->options.store) return no_leader();
  const auto snapshot = call.context->options.store->snapshot();
  for (const auto& entry : snapshot.evals()) {
    const auto kept = keeps(*filter, *entry.value());
    if (!kept) return kept.error();
    if (*kept && found.size() < most_deleted) found.push_back(copy(entry.value()->getId()));
  }
  return found;
}

void delete_evals_here(Call& call) {
  const auto ids = evals_to_delete(call);
  if (!ids) return call.fail(ids.error());
  write(
      std::move(call),
      [&](const Snapshot& state, const cluster::EvalSeed&) {
        return cluster::decide_delete_evals(state, *ids);
      },
      [count = ids->size()](const server::Written<cluster::Decision>& done) {
        std::string out;
        JsonObject{out}.number("Count", count).number("Index", done.index);
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

void delete_evals(Call call) {
  on_pool(std::move(call), delete_evals_here);
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
