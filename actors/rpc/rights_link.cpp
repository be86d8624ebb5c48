#include "actors/rpc/rights_link.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/object/draft.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::rpc {
namespace {

using access::Grant;
using access::Rights;
using schema::rpc::ResolveReply;
using transport::Call;
using transport::Delivery;
using transport::Reply;
using Found = access::Lookup::Found;

constexpr std::chrono::milliseconds transport_slack{1'000};

Error cannot_say(const std::string& why) {
  return {Errc::unavailable, "the servers do not say what the token allows: " + why};
}

Result<access::RightsRef> read_rights(ResolveReply::Reader reply) {
  switch (reply.which()) {
    case ResolveReply::NOTHING:
      return Rights::nothing();
    case ResolveReply::EVERYTHING:
      return Rights::everything();
  }
  return cannot_say("they do so in a newer form");
}

Result<Grant> read_grant(const Bytes& body) {
  const auto reply = NOMAD_TRY(Object<ResolveReply>::from_bytes(body.view()));
  Grant grant{.rights = NOMAD_TRY(read_rights(*reply)),
              .accessor = copy(reply->getAccessor()),
              .index = reply->getIndex()};
  if (const auto left = reply->getValidForMs(); left > 0)
    grant.until = net::RpcClock::now() + std::chrono::milliseconds{left};
  return grant;
}

Result<Bytes> write_grant(const Grant& grant) {
  const auto form = grant.rights->form();
  if (form == Rights::Form::rule) return cannot_say("the rights stay in their process");
  return make_body<ResolveReply>([&](auto& reply) {
    reply.setIndex(grant.index);
    reply.setAccessor(text(grant.accessor));
    if (form == Rights::Form::everything)
      reply.setEverything();
    else
      reply.setNothing();
    if (grant.until == access::Time::max()) return;
    const auto left
        = std::chrono::duration_cast<std::chrono::milliseconds>(grant.until - net::RpcClock::now());
    reply.setValidForMs(static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count())));
  });
}

}  // namespace

void serve_rights(MethodRouter& router) {
  router.on_raw(Method::access_resolve, [](const access::Principal& who, const Inbound& inbound) {
    inbound.reply(write_grant(*who.grant()));
  });
}

struct RightsLink::Shared : std::enable_shared_from_this<Shared> {
  Shared(const actor::Owner& owner, RightsLinkOptions given)
      : options{std::move(given)}, asker{owner, 1} {}

  const RightsLinkOptions options;
  actor::Asker asker;
  std::mutex guard;
  CallTransport transport;

  CallTransport open_transport() {
    const std::lock_guard lock{guard};
    return transport;
  }

  /// Asks the servers one after the other; what a server itself says counts.
  void ask(const SecretText& token, std::vector<std::string> servers, const Found& found) {
    const auto to = open_transport();
    if (!to || servers.empty()) return found(cannot_say("there are none"));
    Call call;
    call.to = {.address = servers.front(), .region = options.region};
    call.method = Method::access_resolve;
    call.timeout = options.patience;
    call.credentials.token = token.reveal();
    call.region = options.region;
    servers.erase(servers.begin());
    asker.ask<Reply>(to, std::move(call), options.patience + transport_slack,
                     [self = shared_from_this(), token, servers = std::move(servers),
                      found](const Result<Reply>& reply) {
                       if (reply && reply->outcome) return found(read_grant(*reply->outcome));
                       const auto& why = reply ? reply->outcome.error() : reply.error();
                       const bool is_said = reply && reply->delivery == Delivery::answered;
                       if (is_said && why.code == Errc::permission_denied) return found(why);
                       if (servers.empty()) return found(cannot_say(why.what));
                       self->ask(token, servers, found);
                     });
  }
};

RightsLink::RightsLink(const actor::Owner& owner, RightsLinkOptions options)
    : shared_{std::make_shared<Shared>(owner, std::move(options))} {}

void RightsLink::open(const CallTransport& transport) const {
  const std::lock_guard lock{shared_->guard};
  shared_->transport = transport;
}

void RightsLink::stop() const {
  {
    const std::lock_guard lock{shared_->guard};
    shared_->transport = CallTransport{};
  }
  shared_->asker.stop();
}

access::Lookup RightsLink::lookup() const {
  return {.elsewhere = [shared = shared_](const SecretText& token, const Found& found) {
    auto servers = shared->options.servers();
    if (servers.size() > shared->options.most_tries) servers.resize(shared->options.most_tries);
    shared->ask(token, std::move(servers), found);
  }};
}

}  // namespace nomad::rpc
