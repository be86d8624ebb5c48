// GET /v1/job/<id>/explain: why the allocations of a job are where they are, or nowhere, and
// /capacity: how many more would fit (runtime/scheduler/explain). Nomad has neither. Nodes are
// shown to those alone who may read nodes, allocations of other namespaces to those who may read
// jobs there. Tests: job_explain_test.
#include <algorithm>
#include <chrono>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/jobs/explain_json.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/explain/explain.hpp"

namespace nomad::api {
namespace {

using scheduler::explain::Question;
using state::Table;

/// A thread of the query pool is not held for longer; the answer then says what it looked at.
constexpr std::chrono::seconds longest_look{3};

/// The question as it is asked now, with its bounds. `view_of` outlives it.
Question asked_now(const View& view_of, const Question& asked) {
  auto question = asked;
  question.now = unix_now();
  const auto end = std::chrono::steady_clock::now() + longest_look;
  question.goes_on = [end] { return std::chrono::steady_clock::now() < end; };
  question.may_name = [&view_of](std::string_view ns) { return view_of.judge(ns).has_value(); };
  return question;
}

bool may_read_nodes(const View& view_of) {
  return access::authorize(view_of.who(), Capability::node_read, {}).has_value();
}

Answer explanation(const View& view_of, const Question& asked) {
  const auto all = view_of.in(asked.ns);
  if (!all) return Answer::error(all.error());
  const bool shows_nodes = may_read_nodes(view_of);
  if (!asked.node.empty() && !shows_nodes) return Answer::error(access::permission_denied());
  const auto explained = scheduler::explain::explain(**all, asked_now(view_of, asked));
  if (!explained) return Answer::error(explained.error());
  return Answer::json(explanation_json(*explained, shows_nodes));
}

Answer capacity(const View& view_of, const Question& asked) {
  const auto all = view_of.in(asked.ns);
  if (!all) return Answer::error(all.error());
  const auto counted = scheduler::explain::capacity(**all, asked_now(view_of, asked));
  if (!counted) return Answer::error(counted.error());
  return Answer::json(capacity_json(*counted, may_read_nodes(view_of)));
}

/// What changes often of what an answer tells of. Quotas, pools and the schedulers' configuration
/// wake nobody who waits.
std::uint64_t explanation_index(const View& view_of) {
  return std::max({view_of.index(Table::jobs), view_of.index(Table::nodes),
                   view_of.index(Table::allocs), view_of.index(Table::evals),
                   view_of.index(Table::deployments), view_of.index(Table::csi_volumes)});
}

Outcome answer_of(Call& call, Answer (*answer)(const View& view_of, const Question& asked)) {
  const auto& request = call.request();
  Question question;
  question.job_id = call.rest;
  question.group = request.parameter_or_empty("group");
  question.node = request.parameter_or_empty("node");
  question.alloc = request.parameter_or_empty("alloc");
  question.region = call.context->region;
  return read_state(call, [&question, answer](const ReadOptions& options) -> Result<Read> {
    question.ns = options.ns;
    const auto job = state::join_key(options.ns, question.job_id);
    return Read{
        .watch
        = {state::watch_key(Table::jobs, job), state::watch_prefix(Table::nodes, ""),
           state::watch_prefix(Table::allocs, ""), state::watch_key(Table::evals_by_job, job),
           state::watch_key(Table::deployments_by_job, job),
           state::watch_prefix(Table::csi_volumes, state::join_key(options.ns, ""))},
        .index = explanation_index,
        .answer = [question, answer](const View& view_of) { return answer(view_of, question); },
        .is_heavy = [](const View&) { return true; }};
  });
}

}  // namespace

Outcome explain_job(Call& call) {
  return answer_of(call, explanation);
}

Outcome job_capacity(Call& call) {
  return answer_of(call, capacity);
}

}  // namespace nomad::api
