// Call: one request on its way through a handler, with everything the handler may use. Context:
// what all handlers of an Api share. What else a family of operations reads, it gets by itself
// (routes.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/api/api.hpp"
#include "actors/api/forward/body_transfer.hpp"
#include "actors/api/http/answer.hpp"
#include "actors/api/http/call_meter.hpp"
#include "actors/api/http/presented.hpp"
#include "actors/api/http/read_options.hpp"
#include "actors/api/http/response_cache.hpp"
#include "actors/api/http/rights_watch.hpp"
#include "actors/api/jobs/namespace_use.hpp"
#include "actors/core/asker.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"
#include "runtime/net/http/responder.hpp"
#include "runtime/net/query_pool.hpp"
#include "runtime/net/timer_queue.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::api {

class AuditedCall;
class Auditor;
class FileService;
class LeaderWatch;
struct ForwardParts;

/// Lives as long as the Api and the last request in flight. Whoever has made it stops it before he
/// lets go: the last to hold it may be a thread of its pools, which could not wait for itself.
struct Context {
  Context(const actor::Owner& owner, const ApiOptions& options);
  ~Context();

  const std::string region;      ///< Of this agent.
  const jobspec::Bounds bounds;  ///< Of what requests leave in the state.
  const StateParts state;        ///< By which `read_state` and `write` go.
  const std::shared_ptr<access::Authenticator> authenticator;
  const net::HostRules hosts;
  const std::shared_ptr<Auditor> auditor;             ///< Null: nothing is audited.
  const std::shared_ptr<const ForwardParts> forward;  ///< How requests are passed on.
  const actor::System& system;                        ///< Whose actors the agent's are.
  actor::Asker asker;
  net::TimerQueue timers;
  RightsWatch rights_watch;  ///< For what goes on for long.
  NamespaceUse namespaces;
  net::QueryPool pool;
  net::QueryPool listings;  ///< Of directories, fair to each allocation; logs never wait for them.
  net::QueryPool archives;  ///< For archives: what takes seconds, and must not hold up a query.
  ResponseCache cache;
  CallMeter meter;
  std::unique_ptr<FileService> files;
  std::shared_ptr<LeaderWatch> leader_watch;  ///< Of what was passed on to a leader.
  std::atomic<int> asked_plans{0};            ///< Of jobs, that wait for schedulers of plugins.
  std::vector<std::shared_ptr<const void>> parts;  ///< Of families; see Routes::with.
  std::vector<std::function<void()>> at_stop;      ///< Ends what they have begun; before `pool`.

  /// What `bytes` of a version of a job and its source add to its namespace (`namespaces.add`), if
  /// there is room for them. Thread-safe.
  Result<JobGrowth> room_for(std::string_view ns, std::string_view job_id, std::uint64_t bytes);

  /// A random number below `bound`. Thread-safe.
  std::uint64_t random_below(std::uint64_t bound);

  /// Ends what runs by itself: gateways, timers, pool, file streams.
  void stop();

private:
  std::mutex random_guard_;
  Random random_;
};

/// What the routes of a path are about, besides what is of a namespace.
enum class About : std::uint8_t {
  nothing,
  node,        ///< The one that the path names.
  pool,        ///< The same.
  asked_node,  ///< The one that `node_id` names, else this agent's own.
};

class Call {
public:
  /// Its sender is identified and has no rights yet (`with_rights`).
  Call(std::shared_ptr<Context> shared, net::Responder responder, std::string_view rest_of_path);

  std::shared_ptr<Context> context;

  /// Who asks, and what the route says that he needs.
  access::Asking asking;
  net::Responder responder;

  /// What follows the route's pattern in the path, without the operation's suffix: an id.
  std::string rest;

  /// Of a route of no namespace: its handler judges what it finds, and nobody before.
  bool handler_judges = false;

  /// As the route says.
  About about = About::nothing;

  /// The node elsewhere that it is about and that the handler is to ask; empty: this agent's own.
  std::string node = {};

  /// How a client hears of a failure that does not read HTTP answers any more: set before the call
  /// goes on, and called instead of answering.
  void (*tell_failure)(Call& call, const Answer& answer) = nullptr;

  /// What becomes of the call when it was refused because nobody leads (`Errc::no_leader`): nothing
  /// was done then, so it may be served elsewhere. Set by `dispatch`; without, the client is told.
  std::function<void(Call call, const Error& why)> when_unserved;

  const net::Request& request() const { return responder.request(); }

  /// What a route of no namespace is about: a pool or a node, where the request names one. Valid as
  /// long as this is not moved.
  access::Target route_target() const;

  /// What the audit log is told of it; null: nothing.
  std::shared_ptr<AuditedCall> audit = {};

  /// Says which object it is about to the audit log, where the path does not. Before it is
  /// answered, by whoever has the call.
  void is_about(std::string_view object) const;

  /// What is counted and measured of it; null: nothing.
  std::shared_ptr<const Metered> metered = {};

  /// From now on it is known who asks, and what he may do.
  void become(access::Principal who);

  /// Counts it, the first time; by how much it comes too soon for its caller's rate.
  std::optional<std::chrono::nanoseconds> count();

  /// Where the answer goes out: those of the request's connection, or the query pool's if another
  /// agent passed it on. What waits is bounded by the requests that do, and is dropped when the
  /// client is gone.
  Turns turns() const;

  /// What it takes from now until it is answered is measured, if any operation's time is.
  void measure() {
    time_ = metered ? metered->time : nullptr;
    if (time_ != nullptr) begun_ = std::chrono::steady_clock::now();
  }

  /// It is answered. Of an answer that was begun by `stream`; `send` does it by itself.
  void note_time() const {
    if (time_ == nullptr) return;
    const auto took = std::chrono::steady_clock::now() - begun_;
    time_->observe(std::chrono::duration<double, std::milli>{took}.count());
  }

  /// Begins an answer whose body is JSON and follows in pieces.
  net::BodyStream stream(Answer head) {
    auto response = to_response(std::move(head), request());
    response.content_type = "application/json";
    return responder.stream(std::move(response));
  }

  void send(Answer answer) {
    note_time();
    responder.send(to_response(std::move(answer), request()));
  }

  void fail(const Error& error) {
    if (error.code == Errc::no_leader && when_unserved)
      return std::exchange(when_unserved, {})(std::move(*this), error);
    fail(Answer::error(error));
  }

  void fail(Answer answer) {
    if (tell_failure != nullptr)
      tell_failure(*this, answer);
    else
      send(std::move(answer));
  }

  void settle(Outcome outcome) {
    if (!outcome)
      fail(outcome.error());
    else if (*outcome)
      send(std::move(**outcome));
  }

private:
  bool is_counted_ = false;
  telemetry::Sample* time_ = nullptr;
  std::chrono::steady_clock::time_point begun_{};
};

/// Serves a call, on the thread of its connection: answers it, or takes it over.
using Handler = Outcome (*)(Call& call);

/// Refuses whose token is none; who guesses tokens waits for it.
void refuse_unknown(Call call, const Error& why);

/// Goes on with a call that shows a secret without being judged by it. `is_one`: there is such a
/// secret. If not, that is noted as of any token, and who guesses waits.
Outcome after_secret(Call& call,
                     const SecretText& secret,
                     bool is_one,
                     std::function<Outcome(Call&)> then);

/// Goes on once the audit log has that the call came, if it must be told.
void when_noted(Call call, std::function<void(Call)> then);

/// `with_rights` for those whose rights have to be asked for.
void with_rights_later(Call call,
                       std::function<void(Call)> then,
                       std::function<void(Call, const Error&)> refuse);

/// Goes on with a call whose sender has his rights of now: at once as a rule, else back on the
/// request's own thread when they are known. `refuse` gets it when his token is none, or nobody can
/// say.
template <class Then, class Refuse = decltype(&refuse_unknown)>
void with_rights(Call call, Then then, Refuse refuse = &refuse_unknown) {
  auto now = call.context->authenticator->at_once(call.asking.who);
  if (!now) return with_rights_later(std::move(call), std::move(then), std::move(refuse));
  if (!*now) return refuse(std::move(call), now->error());
  call.become(std::move(**now));
  then(std::move(call));
}

/// Runs jobs on the threads for archives.
RunBlocking run_blocking(const std::shared_ptr<Context>& context);

/// Calls that wait for an actor or a thread are shared by the callbacks.
using SharedCall = std::shared_ptr<Call>;

inline SharedCall share(Call&& call) {
  return std::make_shared<Call>(std::move(call));
}

/// How long writes and actions may take before the API gives up on an answer.
inline constexpr std::chrono::seconds ask_timeout{60};

/// Asks an actor and answers with what `respond(reply)` makes of its reply, or with its error.
template <class Reply, class Handle, class Request, class Respond>
Outcome ask(Call& call, Handle dest, Request request, Respond respond) {
  const auto context = call.context;
  context->asker.ask<Reply>(dest, std::move(request), ask_timeout,
                            [shared = share(std::move(call)), respond](Result<Reply> reply) {
                              shared->settle(reply ? respond(*reply) : Outcome{reply.error()});
                            });
  return later;
}

inline Error too_many_queries() {
  return {Errc::overloaded, "too many queries are waiting"};
}

/// Runs `work(call)` on a thread of `pool`; 429 when too much waits there already.
template <class Work>
void run_on(net::QueryPool& pool, const SharedCall& call, Work work, std::string_view owner = {}) {
  std::function<void()> job = [call, work] { call->settle(work(*call)); };
  if (!pool.submit(job, owner)) call->fail(too_many_queries());
}

/// The same on the query pool.
template <class Work>
Outcome on_pool(Call& call, Work work) {
  const auto shared = share(std::move(call));
  run_on(shared->context->pool, shared, std::move(work));
  return later;
}

}  // namespace nomad::api
