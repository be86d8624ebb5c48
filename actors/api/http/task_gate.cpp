#include "actors/api/http/task_gate.hpp"

#include <utility>

#include "actors/api/audit/audited_call.hpp"
#include "actors/api/http/presented.hpp"
#include "runtime/access/login/jwt.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {

namespace {

/// What a guess of a token costs a task that makes one after the other.
constexpr std::chrono::seconds guess_pause{1};

/// In Nomad's words.
net::Response refusal_of(unsigned status) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = status == net::status::internal_error ? "Server error authenticating request"
                                                        : std::string{net::reason_phrase(status)}};
}

/// What a token that is none is answered with. One that does not even look like a secret can be a
/// signed one alone.
unsigned status_of(const Error& why, const access::Presented& shown) {
  if (why.code == Errc::overloaded) return net::http_status(why.code);
  const bool is_secret = is_uuid(shown.credentials.token);
  return why.code == Errc::permission_denied && is_secret ? net::status::forbidden
                                                          : net::status::internal_error;
}

/// What refusals are counted by. No rate is meant for them: who guesses waits as it is.
struct RefusalMeters {
  Metered reads;
  Metered writes;
};

RefusalMeters refusal_meters(const std::shared_ptr<telemetry::Registry>& metrics) {
  RefusalMeters meters;
  meters.reads.is_limited = meters.writes.is_limited = false;
  if (!metrics) return meters;
  auto* all = &metrics->counter("nomad.rpc.request");
  meters.reads.counters = {all, &metrics->counter("nomad.rpc.query")};
  meters.writes.counters = {all};
  return meters;
}

/// Before a refusal is sent.
void note_refusal(Context& context,
                  const net::Responder& responder,
                  const access::Principal& who,
                  const RefusalMeters& meters) {
  const auto& request = responder.request();
  context.meter.count(request.method == "GET" ? meters.reads : meters.writes, who);
  if (!context.auditor) return;
  auto audit = std::make_shared<AuditedCall>(context.auditor, request, std::string{});
  audit->knows(who, context.state.store);
  responder.set_gate(std::move(audit));
}

void refuse(Context& context,
            net::Responder responder,
            const access::Principal& who,
            const Error& why,
            unsigned status) {
  auto& authenticator = *context.authenticator;
  const bool is_none = why.code == Errc::permission_denied;
  if (is_none) authenticator.note_refused(who);
  if (!is_none || !authenticator.is_guessing(who)) return responder.send(refusal_of(status));
  context.timers.call_after(
      guess_pause, [shared = std::make_shared<net::Responder>(std::move(responder)), status] {
        shared->send(refusal_of(status));
      });
}

}  // namespace

net::Handler task_gate(std::shared_ptr<Context> context,
                       std::shared_ptr<const net::HttpRouter> routes,
                       const std::shared_ptr<telemetry::Registry>& metrics) {
  return [context = std::move(context), routes = std::move(routes),
          meters = std::make_shared<const RefusalMeters>(refusal_meters(metrics))](
             net::Responder responder) {
    auto shown = presented_by(responder.request());
    shown.needs_token = true;
    auto& authenticator = *context->authenticator;
    const auto who = authenticator.identify(shown);
    if (shown.credentials.token.empty()) {
      note_refusal(*context, responder, who, *meters);
      return responder.send(refusal_of(net::status::unauthorized));
    }
    // Without ACLs nobody knows secrets, and no one is asked for any.
    if (!authenticator.enforces() && !access::is_signed_token(shown.credentials.token)) {
      const auto why = access::permission_denied();
      note_refusal(*context, responder, who, *meters);
      return refuse(*context, std::move(responder), who, why, status_of(why, shown));
    }
    const auto judge
        = [context, routes, meters, who, status_of_refusal = [shown](const Error& why) {
            return status_of(why, shown);
          }](net::Responder answerer, const Result<access::Principal>& known) {
            if (!known) {
              note_refusal(*context, answerer, who, *meters);
              return refuse(*context, std::move(answerer), who, known.error(),
                            status_of_refusal(known.error()));
            }
            if (!context->authenticator->enforces() && !known->caller().workload) {
              note_refusal(*context, answerer, *known, *meters);
              return answerer.send(refusal_of(net::status::forbidden));
            }
            net::serve(*routes, std::move(answerer));
          };
    if (const auto now = authenticator.at_once(who)) return judge(std::move(responder), *now);
    auto waiting = std::make_shared<net::Responder>(std::move(responder));
    authenticator.resolve(
        who, waiting->turns().callback([waiting, judge](const Result<access::Principal>& later) {
          judge(std::move(*waiting), later);
        }));
  };
}

}  // namespace nomad::api
