#include "actors/api/audit/audited_call.hpp"

#include <algorithm>
#include <utility>

#include "actors/api/http/answer.hpp"
#include "actors/api/http/path_secrets.hpp"
#include "runtime/access/policy/policy.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/cluster/acl/held_token.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::api {
namespace {

std::string certificate_of(const access::Boxed<access::PeerIdentity>& peer) {
  if (!peer || !peer->is_proven) return {};
  return net::certificate_name(peer->role, peer->region);
}

std::string agent_of(const access::PeerIdentity& peer) {
  const auto* role = peer.role == access::AgentRole::server ? "server." : "client.";
  return role + peer.region;
}

audit::Auth auth_of(const access::Principal& who, const std::shared_ptr<state::Store>& store) {
  audit::Auth auth;
  const auto& caller = who.caller();
  auth.certificate = certificate_of(caller.peer);
  if (caller.node) auth.node = caller.node->id;
  if (caller.workload) auth.alloc = caller.workload->alloc_id;
  if (caller.passed_on_by) auth.passed_on_by = agent_of(*caller.passed_on_by);
  const auto& grant = who.grant();
  if (grant) auth.accessor = grant->accessor;
  std::optional<cluster::HeldToken> token;
  if (store && !auth.accessor.empty())
    token = cluster::held_token(store->snapshot(), auth.accessor);
  if (token) {
    auth.name = token->name;
    auth.type = token->type;
    auth.global = token->global;
    auth.create_time = token->created_at;
    for (const auto& policy : token->policies)
      auth.policies.push_back(policy.name);
  } else if (grant && auth.accessor.empty() && !caller.token && !caller.node && !caller.peer) {
    auth.accessor = "anonymous";
    auth.name = "Anonymous Token";
    auth.policies = {"anonymous"};
  }
  return auth;
}

/// What may be told of an answer that is an error: texts of these name the object at most.
std::string error_text(unsigned status, std::string_view text) {
  if (status < net::status::bad_request) return {};
  for (const auto each :
       {net::status::forbidden, net::status::not_found, net::status::method_not_allowed,
        net::status::too_many_requests, net::status::service_unavailable})
    if (status == each && !text.empty()) return std::string{text.substr(0, audit::most_text)};
  return std::string{net::reason_phrase(status)};
}

std::vector<std::string> policies_of(const access::Explanation& why) {
  std::vector<std::string> names;
  for (const auto& note : why.deciding)
    if (!note.policy.empty() && std::find(names.begin(), names.end(), note.policy) == names.end())
      names.push_back(note.policy);
  return names;
}

}  // namespace

Error not_audited() {
  return {Errc::internal, "event not written"};
}

AuditedCall::AuditedCall(std::shared_ptr<Auditor> auditor,
                         const net::Request& request,
                         std::string route)
    : auditor_{std::move(auditor)}, begun_{std::chrono::steady_clock::now()} {
  const auto ns = request.parameter_or_empty("namespace");
  base_.timestamp = unix_now();
  base_.id = auditor_->make_id();
  base_.route = std::move(route);
  base_.request = {.id = auditor_->make_id(),
                   .operation = request.method,
                   .endpoint = request.path,
                   .ns = ns.empty() ? "default" : std::string{ns},
                   .remote = request.remote,
                   .user_agent = std::string{request.header("User-Agent")},
                   .node_ip = auditor_->node_ip()};
}

void AuditedCall::knows(const access::Principal& who, const std::shared_ptr<state::Store>& store) {
  who_ = who;
  base_.auth = auth_of(who, store);
  mistaken_ = secrets_in(base_.request.endpoint, store);
  for (auto& secret : secrets_in(base_.request.ns, store))
    mistaken_.push_back(std::move(secret));
  base_.request.remote = who.caller().remote;
}

audit::Event AuditedCall::event_of(audit::Stage stage) const {
  auto event = base_;
  event.created_at = unix_now();
  event.stage = stage;
  return event;
}

/// Filters see the path as it came; what is told has the caller's token taken out, and another's
/// that he took for an accessor.
void AuditedCall::tell(audit::Event event, AuditFeed::Done done) const {
  if (!auditor_->wants(event.stage, event.request.endpoint, event.request.operation))
    return done(Result<>{});
  for (const auto& secret : mistaken_)
    audit::redact(event, secret.reveal());
  if (who_ && who_->caller().token) audit::redact(event, who_->caller().token->secret.reveal());
  auditor_->write(audit::to_text(event), std::move(done));
}

void AuditedCall::receive(AuditFeed::Done done) {
  is_received_ = true;
  tell(event_of(audit::Stage::received), std::move(done));
}

void AuditedCall::start_session(AuditFeed::Done done) {
  const bool is_refused
      = status_ >= net::status::bad_request;  // and the tunnel was opened to say so
  if (is_refused || std::exchange(has_started_, true)) return done(Result<>{});
  auto event = event_of(audit::Stage::session_started);
  event.verdict = verdict();
  tell(std::move(event), std::move(done));
}

void AuditedCall::refuse(unsigned status, std::string_view text) {
  status_ = status;
  error_ = error_text(status, text);
}

/// Nothing: nobody was judged. That nothing was allowed is told as a refusal, also where the answer
/// only leaves out what was refused.
std::optional<audit::Verdict> AuditedCall::verdict() const {
  const bool is_refused = status_ == net::status::forbidden;
  auto judged = is_refused ? std::nullopt : judged_->first_allowed();
  audit::Verdict verdict;
  verdict.is_allowed = judged.has_value();
  if (!judged) judged = judged_->last_refused();
  if (!judged && !is_refused) return {};
  if (!judged) return verdict;
  verdict.capability = access::word_of(judged->capability);
  verdict.ns = judged->ns;
  verdict.path = judged->path;
  verdict.node_pool = judged->node_pool;
  verdict.node = judged->node;
  verdict.host_volume = judged->host_volume;
  verdict.plugin = judged->plugin;
  if (who_ && who_->grant())
    verdict.policies = policies_of(
        access::explain(*who_->grant()->rights, judged->capability, judged->target()));
  return verdict;
}

/// Of a call that was refused before the first line, that comes now: nothing was done meanwhile.
void AuditedCall::complete(AuditFeed::Done done) {
  if (std::exchange(is_complete_, true)) return done(Result<>{});
  if (!is_received_) receive([](const Result<>&) {});
  auto event = event_of(audit::Stage::complete);
  event.verdict = verdict();
  event.response = audit::Response{
      .status = status_, .error = error_, .took = std::chrono::steady_clock::now() - begun_};
  tell(std::move(event), std::move(done));
}

void AuditedCall::send(const std::shared_ptr<net::detail::Exchange>& exchange,
                       net::Response response) {
  if (is_complete_) return;
  const auto& body = response.shared_body ? *response.shared_body : response.body;
  const bool is_text = response.content_type.starts_with("text/plain");
  refuse(response.status, is_text ? std::string_view{body} : std::string_view{});
  if (!auditor_->is_enforced()) {
    complete([](const Result<>&) {});
    return exchange->send(std::move(response));
  }
  exchange->prepare(response);  // the line is written elsewhere, by a thread that all wait for
  auto shared = std::make_shared<net::Response>(std::move(response));
  complete([exchange, shared](const Result<>& outcome) {
    if (!outcome) *shared = to_response(Answer::error(not_audited()), exchange->request);
    Turns::Action action = [exchange, shared] { exchange->send(std::move(*shared)); };
    if (!exchange->take(action)) action();
  });
}

void AuditedCall::opened(unsigned status) {
  if (status_ < net::status::bad_request) status_ = status;
  if (status_ == net::status::switching_protocols && !awaits_session_)
    start_session([](const Result<>&) {});
}

void AuditedCall::ended() {
  complete([](const Result<>&) {});
}

void AuditedCall::dropped(const std::shared_ptr<net::detail::Exchange>& exchange) {
  if (status_ != 0) return;  // answered: by `send`, which may still wait, or by a stream
  refuse(net::status::internal_error, {});
  if (exchange->abandoned()) error_ = "the client went away";
  complete([exchange](const Result<>&) { exchange->drop(); });
}

}  // namespace nomad::api
