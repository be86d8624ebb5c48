#include "actors/api/http/routes.hpp"

#include <optional>
#include <utility>

#include "actors/api/forward/dispatch.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/http/call_metrics.hpp"
#include "runtime/base/log.hpp"

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

/// Serves the call of somebody of whom it is known what he may do. The leader may know a newer
/// policy of his than this server: what goes there is not refused here, unless it is served here
/// after all. What takes away from his rights, all know.
void serve(const Operation& operation, Call call) {
  const auto verdict = judge_route(operation, call);
  if (!verdict && (call.asking.who.limits() != nullptr || !goes_to_leader(operation.where, call)))
    return call.fail(verdict.error());
  dispatch(operation.where, std::move(call),
           [verdict, serve = operation.run, time = operation.time,
            counters = operation.counters](Call here) {
             if (!verdict) return here.fail(verdict.error());
             here.measure_in(time);
             for (auto* counter : counters)
               counter->add();
             here.settle(serve(here));
           });
}

/// Of what is for another region, and came back to this agent.
void refuse_region(Call here) {
  here.fail(bad_request("No path to region"));
}

/// What another region serves, that region judges by its own tokens.
void pass_to_region(const Operation& operation, Call call) {
  dispatch(operation.where, std::move(call), refuse_region);
}

/// A token that is none here may be one in the region that the body is for.
std::string region_of_unknown(const Operation& operation, const Call& call) {
  if (operation.region_of_body == nullptr || call.request().needs_token) return {};
  const auto now = call.context->authenticator->at_once(call.asking.who);
  if (!now || *now) return {};
  return operation.region_of_body(call);
}

void run(const std::vector<Operation>& operations, Call call) {
  // The query stays out of the log: it may carry a token.
  const auto& request = call.request();
  log::debug("http", "request from {}: {} {}", request.remote, request.method, request.path);
  const auto asked = method_of(request.method);
  for (const auto& operation : operations) {
    if (!fits(operation.methods, asked)) continue;
    if (const auto why = refuse_page_of(call, operation)) return call.send(Answer::text(403, *why));
    call.asking.needed = operation.capability;
    call.handler_judges = operation.handler_judges;
    call.about = operation.about;
    const bool reads = asked == Methods::get;
    if (operation.capability == Capability::none && call.asking.who.limits() != nullptr && !reads)
      call.asking.needed = Capability::agent_write;  // what all may do, he who is kept to something
    if (operation.where != Where::agent && is_of_other_region(operation.where, call)
        && !request.needs_token)
      return pass_to_region(operation, std::move(call));
    if (const auto region = region_of_unknown(operation, call); !region.empty())
      return dispatch_to_region(std::move(call), region, refuse_region);
    if (call.asking.needed == Capability::none) return serve(operation, std::move(call));
    return with_rights(std::move(call),
                       [operation](Call admitted) { serve(operation, std::move(admitted)); });
  }
  call.send(Answer::text(405, "Invalid method"));
}

}  // namespace

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
    const auto metric = metric_of(listed_.back().first);
    if (!metrics_ || metric.empty()) continue;
    operation.time = &metrics_->sample(metric);
    operation.counters = {&metrics_->counter("nomad.rpc.request"),
                          &metrics_->counter(call_counter_of(listed_.back().first, metric))};
    if (fits(operation.methods, Methods::get))
      operation.counters.push_back(&metrics_->counter("nomad.rpc.query"));
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
    responder.send({.status = 404});
  });
}

}  // namespace nomad::api
