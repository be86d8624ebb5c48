// Writes of the API: decided on the thread of the request, proposed by the server's Writer, and
// answered on the thread of the request's connection, so that no answer is made on that of the log.
#pragma once

#include <utility>

#include "actors/api/http/call.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/sealed_written.hpp"
#include "runtime/cluster/variable_commands.hpp"

namespace nomad::api {

/// The namespace of a write: the query's, or "default".
inline std::string write_namespace(const net::Request& request) {
  const auto ns = request.parameter_or_empty("namespace");
  return ns.empty() ? "default" : std::string{ns};
}

/// The job, or the object of access control, that something written is about; "" of others.
template <class Done>
std::string_view object_of_write(const Done& done) {
  if constexpr (requires { done.decision.job_id; })
    return done.decision.job_id;
  else if constexpr (requires { done.decision.id; })
    return done.decision.id;
  else
    return {};
}

/// Answers with what `respond(*result)` makes of a result, or with its error. To be called once.
template <class Respond>
auto responding(SharedCall call, Respond respond) {
  return [call = std::move(call), respond = std::move(respond)](const auto& result) {
    if (const auto object = result ? object_of_write(*result) : std::string_view{}; !object.empty())
      call->is_about(object);
    call->settle(result ? respond(*result) : Outcome{result.error()});
  };
}

/// Decisions that are made anew are made on the query pool; 429 when too much waits there already.
inline server::Writer::Run deciding_anew(std::shared_ptr<Context> context) {
  return [context = std::move(context)](std::function<void()> job) -> Result<> {
    if (!context->pool.submit(job)) return too_many_queries();
    return {};
  };
}

/// `decide(snapshot, asking, seed)` as the Writer wants it.
template <class Decide>
auto deciding_for(const Call& call, Decide decide) {
  return [decide = std::move(decide), asking = call.asking](const state::Snapshot& snapshot,
                                                            const cluster::EvalSeed& seed) {
    return decide(snapshot, asking, seed);
  };
}

/// Writes what `decide(snapshot, asking, seed)` decides (server::Writer) and answers with
/// `respond(server::Written<Decision>)`. `decide` may be called again, and holds what it needs by
/// value.
template <class Decide, class Respond>
Outcome write(Call& call, Decide decide, Respond respond) {
  const auto context = call.context;
  const auto& writer = context->state.writer;
  if (!writer) return no_leader();
  auto decide_for = deciding_for(call, std::move(decide));
  const auto shared = share(std::move(call));
  writer->write(std::move(decide_for), shared->turns(), responding(shared, std::move(respond)),
                deciding_anew(context));
  return later;
}

/// The same, and `written(server::Written<Decision>)` is called when it is written, also when
/// nobody waits for the answer any more; on the Raft node's thread.
template <class Decide, class Done, class Respond>
Outcome write_and(Call& call, Decide decide, Done written, Respond respond) {
  const auto context = call.context;
  const auto& writer = context->state.writer;
  if (!writer) return no_leader();
  auto decide_for = deciding_for(call, std::move(decide));
  const auto shared = share(std::move(call));
  auto answer = shared->turns().callback(responding(shared, std::move(respond)));
  writer->write(
      std::move(decide_for), Turns::here(),
      [written = std::move(written), answer = std::move(answer)](const auto& result) {
        if (result) written(*result);
        answer(result);
      },
      deciding_anew(context));
  return later;
}

/// Writes a command that is sealed (server::SealedWritten) and answers with what `respond` makes of
/// its end.
template <class Respond>
Outcome write_sealed(Call& call, const cluster::SealedDecision& decision, Respond respond) {
  const auto context = call.context;
  const auto& writer = context->state.writer;
  if (!writer) return no_leader();
  const auto shared = share(std::move(call));
  writer->propose_raw(
      decision.allowed, decision.command, shared->turns(),
      [answer = responding(shared, std::move(respond))](const Result<raft::Applied>& applied) {
        answer(server::to_sealed(applied));
      });
  return later;
}

/// Nothing but the index: `{"Index":7}`.
template <class Decision>
Answer index_answer(const server::Written<Decision>& done) {
  return Answer::json(JsonObject{}.number("Index", done.index).take()).with_index(done.index);
}

}  // namespace nomad::api
