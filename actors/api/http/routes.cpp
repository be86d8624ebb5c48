#include "actors/api/http/routes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/api/audit/audited_call.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/http/call_metrics.hpp"
#include "actors/api/http/path_secrets.hpp"
#include "runtime/base/log.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

Methods method_of(std::string_view name) {
  if (name == "GET") return Methods::get;
  if (name == "PUT") return Methods::put;
  if (name == "POST") return Methods::post;
  if (name == "DELETE") return Methods::remove;
  return Methods{0};
}

bool fits(Methods allowed, Methods asked) {
  return allowed == Methods::any
         || (static_cast<unsigned>(allowed) & static_cast<unsigned>(asked)) != 0;
}

/// Why a page in a browser may not ask for this. What another agent passed on, that one has judged.
std::optional<std::string> refuse_page_of(const Call& call, const Operation& operation) {
  const auto& request = call.request();
  if (request.hops != 0) return {};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const bool acts = !reads || operation.methods == Methods::any || !request.upgrade().empty();
  return net::refuse_page(request, call.context->hosts, acts);
}

/// Of a route of no namespace, unless its handler judges.
Result<> judge_route(const Operation& operation, const Call& call) {
  if (access::is_namespaced(operation.capability) || operation.handler_judges) return {};
  NOMAD_TRY(authorize(call.asking, call.route_target()));
  return {};
}

void refuse(Call call, const Error& why) {
  call.count();
  call.fail(why);
}

Answer ask_later(std::chrono::nanoseconds wait) {
  auto answer = Answer::error({Errc::overloaded, "rate limit exceeded"});
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
  answer.headers.push_back(
      {"Retry-After", std::to_string(std::max<std::int64_t>(seconds.count(), 1))});
  return answer;
}

/// Serves the call of somebody of whom it is known what he may do. The leader may know a newer
/// policy of his than this server: what goes there is not refused here, unless it is served here
/// after all. What takes away from his rights, all know.
void serve(const Operation& operation, Call call) {
  const auto verdict = judge_route(operation, call);
  if (!verdict && (call.asking.who.limits() != nullptr || !goes_to_leader(operation.where, call)))
    return refuse(std::move(call), verdict.error());
  dispatch(operation.where, std::move(call), [verdict, serve = operation.run](Call here) {
    const auto too_soon = here.count();
    if (!verdict) return here.fail(verdict.error());
    if (too_soon) return here.fail(ask_later(*too_soon));
    here.measure();
    here.settle(serve(here));
  });
}

/// The same once the audit log has that the call came, where there is one.
void serve_noted(const Operation& operation, Call call) {
  if (!call.audit) return serve(operation, std::move(call));
  when_noted(std::move(call), [operation](Call known) { serve(operation, std::move(known)); });
}

/// Of what is for another region, and came back to this agent.
void refuse_region(Call here) {
  here.fail(bad_request("No path to region"));
}

/// What another region serves, that region judges by its own tokens.
void pass_to_region(const Operation& operation, Call call) {
  dispatch(operation.where, std::move(call), refuse_region);
}

/// What refuses whose token is none here, unless the body is for another region: it may be one
/// there, and is no guess. Servers know the way to other regions; client nodes have them asked.
auto refusal_of(const Operation& operation) {
  return [where = operation.where, region_of_body = operation.region_of_body](Call call,
                                                                              const Error& why) {
    const bool may_be_elsewhere = why.code == Errc::permission_denied && region_of_body != nullptr
                                  && !call.request().needs_token;
    const auto region = may_be_elsewhere ? region_of_body(call) : std::string{};
    if (region.empty()) return refuse_unknown(std::move(call), why);
    when_noted(std::move(call), [where, region](Call known) {
      const bool is_server = known.context->state.store != nullptr;
      if (is_server) return dispatch_to_region(std::move(known), region, refuse_region);
      dispatch(where, std::move(known), refuse_region);
    });
  };
}

/// Begins what the audit log has of a call, also of one that there is no operation for.
void audit(const std::vector<Operation>& operations, Methods asked, Call& call) {
  const auto found = std::ranges::find_if(
      operations, [asked](const Operation& each) { return fits(each.methods, asked); });
  auto route = found != operations.end() ? found->metered->route : std::string{};
  call.audit
      = std::make_shared<AuditedCall>(call.context->auditor, call.request(), std::move(route));
  call.asking.who = call.audit->watch(call.asking.who);
  // Who shows a token that is known is told at once, though nothing may be judged by it.
  const auto now = call.context->authenticator->at_once(call.asking.who);
  call.audit->knows(now && *now ? **now : call.asking.who, call.context->state.store);
  call.responder.set_gate(call.audit);
}

void run(const std::vector<Operation>& operations, Call call) {
  // Path and query stay out of the log: wherever an id belongs somebody puts a token.
  const auto& request = call.request();
  const auto route
      = operations.empty() ? std::string_view{} : pattern_of(operations.front().metered->route);
  log::debug("http", "request",
             {{"method", request.method}, {"route", route}, {"peer", request.remote}});
  const auto asked = method_of(request.method);
  if (call.context->auditor) audit(operations, asked, call);
  for (const auto& operation : operations) {
    if (!fits(operation.methods, asked)) continue;
    if (const auto why = refuse_page_of(call, operation))
      return call.send(Answer::text(net::status::forbidden, *why));
    call.asking.needed = operation.capability;
    call.metered = operation.metered;
    call.handler_judges = operation.handler_judges;
    call.about = operation.about;
    const bool reads = asked == Methods::get;
    if (operation.capability == Capability::none && call.asking.who.limits() != nullptr && !reads)
      call.asking.needed = Capability::agent_write;  // what all may do, he who is kept to something
    if (operation.where != Where::agent && is_of_other_region(operation.where, call)
        && !request.needs_token)
      return when_noted(std::move(call),
                        [operation](Call known) { pass_to_region(operation, std::move(known)); });
    if (call.asking.needed == Capability::none) return serve_noted(operation, std::move(call));
    return with_rights(
        std::move(call),
        [operation](Call admitted) { serve_noted(operation, std::move(admitted)); },
        refusal_of(operation));
  }
  call.send(Answer::text(net::status::method_not_allowed, "Invalid method"));
}

}  // namespace

/// What is measured of an operation that is listed.
Metered Routes::metered(std::string route, const Operation& operation) const {
  Metered metered;
  metered.route = std::move(route);
  metered.reads = fits(operation.methods, Methods::get);
  metered.is_limited = operation.where != Where::agent;
  const auto metric = metric_of(metered.route);
  if (!metrics_ || metric.empty()) return metered;
  metered.time = &metrics_->sample(metric);
  metered.counters = {&metrics_->counter("nomad.rpc.request")};
  if (metered.reads) metered.counters.push_back(&metrics_->counter("nomad.rpc.query"));
  auto counter = call_counter_of(metered.route, metric);
  if (context_ && context_->meter.has_labels())
    metered.by_identity = std::move(counter);
  else
    metered.counters.push_back(&metrics_->counter(counter));
  return metered;
}

/// Notes what there is, and finds where its times go.
void Routes::list(const std::string& path, std::vector<Operation>& operations, About about) {
  for (auto& operation : operations) {
    operation.about = about;
    const auto* method = operation.methods == Methods::any        ? "ANY "
                         : fits(operation.methods, Methods::put)  ? "PUT "
                         : fits(operation.methods, Methods::get)  ? "GET "
                         : fits(operation.methods, Methods::post) ? "POST "
                                                                  : "DELETE ";
    listed_.emplace_back(method + path, operation.capability);
    operation.metered = std::make_shared<const Metered>(metered(listed_.back().first, operation));
  }
}

void Routes::exact(std::string path, std::vector<Operation> operations, About about) {
  list(path, operations, about);
  router_.handle(std::move(path), [context = context_, operations](net::Responder responder) {
    run(operations, Call{context, std::move(responder), ""});
  });
}

void Routes::below(std::string prefix, std::vector<Suffix> suffixes, About about) {
  for (auto& [suffix, operations] : suffixes)
    list(prefix + '*' + std::string{suffix}, operations, about);
  router_.handle(prefix, [context = context_, skipped = prefix.size(),
                          suffixes = std::move(suffixes)](net::Responder responder) {
    const auto rest = std::string_view{responder.request().path}.substr(skipped);
    const std::string_view target{responder.request().target};
    const auto sent = target.substr(0, target.find('?'));
    for (const auto& [suffix, operations] : suffixes) {
      // A name may end as a route does: its slash comes as %2F.
      if (!rest.ends_with(suffix) || !sent.ends_with(suffix)) continue;
      const auto id = std::string{rest.substr(0, rest.size() - suffix.size())};
      run(operations, Call{context, std::move(responder), id});
      return;
    }
    responder.send({.status = net::status::not_found});
  });
}

}  // namespace nomad::api
