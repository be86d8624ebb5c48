#include "actors/rpc/router.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "actors/roles/no_leader.hpp"
#include "runtime/access/login/jwt.hpp"
#include "runtime/base/log.hpp"

namespace nomad::rpc {

std::chrono::milliseconds Envelope::time_left() const {
  const auto now = net::RpcClock::now();
  if (deadline == net::RpcClock::time_point::max()) return std::chrono::hours{24};
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now),
                  std::chrono::milliseconds{0});
}

struct ReplyTo::State {
  Send send;
  std::atomic<bool> answered{false};

  ~State() {
    if (!answered && send) send(Error{Errc::internal, "the request was not answered"});
  }
};

ReplyTo::ReplyTo(Send send) : state_{std::make_shared<State>()} {
  state_->send = std::move(send);
}

void ReplyTo::operator()(Result<Bytes> outcome) const {
  if (state_ && !state_->answered.exchange(true)) state_->send(std::move(outcome));
}

bool may_call(const Caller& caller, Access access, const std::string& own_region) {
  switch (access) {
    case Access::anyone:
      return true;
    case Access::server:
      return caller.is_server();
    case Access::own_server:
      return caller.is_server_of(own_region);
    case Access::cluster_peer:
      return caller.peer.has_value();
    case Access::own_peer:
      return caller.peer && caller.peer->region == own_region;
    case Access::node:
      return caller.node.has_value();
  }
  return false;
}

void MethodRouter::add(Method method, Handle handler) {
  handlers_[static_cast<std::uint16_t>(method)]
      = std::make_shared<const Handle>(std::move(handler));
}

void MethodRouter::on_one_way(Method method, OneWay handler) {
  on_raw(method, [handler = std::move(handler)](const Caller& caller, Inbound inbound) {
    handler(caller, std::move(inbound.body));
  });
}

bool MethodRouter::is_for_elsewhere(const MethodInfo& method, const Inbound& inbound) const {
  if (inbound.envelope.region != region_) return true;
  if (method.serve == Serve::here || inbound.envelope.allow_stale) return false;
  return is_leader_ && !is_leader_();
}

namespace {

/// What a request shows: the certificate of its connection, if that is made out to the role and the
/// region that the peer says to have, and its credentials.
access::Presented presented_by(const net::RpcPeer& peer,
                               const Envelope& envelope,
                               bool requires_proof) {
  const auto name = net::certificate_name(peer.hello.role, peer.hello.region);
  const bool is_proven = peer.is_tls && peer.certificate.has(name);
  access::Presented shown{.remote = peer.remote,
                          .credentials = envelope.credentials,
                          .first_remote = envelope.first_remote};
  if (is_proven || !requires_proof)
    shown.peer = access::PeerIdentity{peer.hello.role, peer.hello.region, is_proven};
  return shown;
}

Error no_such_method(const MethodInfo* method, std::uint16_t number) {
  return {Errc::not_found,
          fmt::format("rpc: can't find method {}",
                      method != nullptr ? std::string{method->name} : std::to_string(number))};
}

/// Guesses count here as at the HTTP port: of whoever came first, as far as a server says who.
void refuse(access::Authenticator& authenticator,
            const access::Principal& who,
            const Error& why,
            const Inbound& inbound) {
  if (why.code == Errc::permission_denied) authenticator.note_refused(who);
  inbound.reply(why);
}

void log_refusal(const MethodInfo& method, const Caller& caller, const std::string& own_region) {
  const bool is_foreign = caller.is_server() && caller.peer->region != own_region;
  log::warn("rpc", "refused a request",
            {{"method", method.name},
             {"peer", caller.describe()},
             {"address", caller.remote},
             {"error", is_foreign ? fmt::format("it is a server of region \"{}\", this is \"{}\"",
                                                caller.peer->region, own_region)
                                  : "it may not call that"}});
}

}  // namespace

void MethodRouter::serve(const net::RpcPeer& peer, Inbound inbound) const {
  const auto number = static_cast<std::uint16_t>(inbound.envelope.method);
  auto shown = presented_by(peer, inbound.envelope, requires_proof_);
  // Whose a task's token is can be asked whatever is allowed to everyone here.
  shown.needs_token = inbound.envelope.method == Method::access_resolve
                      && access::is_signed_token(shown.credentials.token);
  const auto who = authenticator_->identify(shown);
  const auto& caller = who.caller();
  const auto* method = find_method(number);
  const auto found = handlers_.find(number);
  if (method == nullptr || found == handlers_.end()) {
    log::warn("rpc", "refused a request: nobody serves its method here",
              {{"method", number}, {"peer", caller.describe()}});
    return inbound.reply(no_such_method(method, number));
  }
  if (!may_call(caller, method->access, region_)) {
    log_refusal(*method, caller, region_);
    return inbound.reply(access::permission_denied());
  }
  if (is_for_elsewhere(*method, inbound)) {
    if (forward_) return forward_(caller, std::move(inbound));
    return inbound.reply(inbound.envelope.region != region_
                             ? Error{Errc::unavailable, "No path to region"}
                             : no_leader());
  }
  if (found->second->look_up == LookUp::by_handler)
    return found->second->run(who, std::move(inbound));
  if (const auto now = authenticator_->at_once(who)) {
    if (!*now) return refuse(*authenticator_, who, now->error(), inbound);
    return found->second->run(**now, std::move(inbound));
  }
  authenticator_->resolve(who,
                          [authenticator = authenticator_, who, handle = found->second,
                           inbound = std::move(inbound)](const Result<access::Principal>& later) {
                            if (!later) return refuse(*authenticator, who, later.error(), inbound);
                            handle->run(*later, inbound);
                          });
}

}  // namespace nomad::rpc
