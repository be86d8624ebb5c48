#include "actors/rpc/rights_link.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/access/policy/rights_cache.hpp"
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

constexpr std::string_view silence = "the servers do not say what the token allows: ";

/// At agents without the state, which can't see whether the allocation still runs.
constexpr std::chrono::milliseconds workload_known_for{5'000};

constexpr const char* enforced_nowhere = "they do not enforce ACLs";

/// Somebody was there.
Error cannot_say(const std::string& why) {
  return {Errc::internal, std::string{silence} + why};
}

/// What was known may count then.
Error nobody_there(const std::string& why) {
  return {Errc::unavailable, std::string{silence} + why};
}

access::ImplicitRights read_workload(ResolveReply::Workload::Reader from) {
  return {.ns = copy(from.getNamespace()),
          .job_id = copy(from.getJobId()),
          .group = copy(from.getGroup()),
          .task = copy(from.getTask())};
}

Result<access::RightsRef> read_rights(ResolveReply::Reader reply, access::RightsCache& cache) {
  switch (reply.which()) {
    case ResolveReply::NOTHING:
      return Rights::nothing();
    case ResolveReply::EVERYTHING:
      return Rights::everything();
    case ResolveReply::POLICIES:
      break;
    default:
      return cannot_say("they do so in a newer form");
  }
  std::vector<access::NamedPolicy> policies;
  for (const auto each : reply.getPolicies()) {
    auto policy = cache.read_policy(view(each.getRules()));
    if (!policy)
      return cannot_say("the policy \"" + copy(each.getName())
                        + "\" cannot be read here: " + policy.error().what);
    policies.push_back({copy(each.getName()), each.getModifyIndex(), std::move(*policy)});
  }
  if (!reply.hasImplicit()) return cache.rights_of(std::move(policies));
  const auto workload = read_workload(reply.getImplicit());
  return cache.rights_of(std::move(policies), &workload);
}

/// Of no token, what cannot be read here gives nothing: by the answer's index changes are noticed.
Result<Grant> read_grant(const Bytes& body, access::RightsCache& cache, bool is_of_token) {
  const auto reply = NOMAD_TRY(Object<ResolveReply>::from_bytes(body.view()));
  // As servers of earlier releases answer for any token with ACLs off. Who manages has an accessor.
  if (reply->isEverything() && reply->getAccessor().size() == 0)
    return cannot_say(enforced_nowhere);
  auto rights = read_rights(*reply, cache);
  if (!rights && is_of_token) return rights.error();
  Grant grant{.rights = rights ? std::move(*rights) : Rights::nothing(),
              .accessor = copy(reply->getAccessor()),
              .index = reply->getIndex()};
  if (const auto left = reply->getValidForMs(); left > 0)
    grant.until = net::RpcClock::now() + std::chrono::milliseconds{left};
  if (const auto task = reply->getWorkload(); reply->hasWorkload())
    grant.workload = access::WorkloadIdentity{copy(task.getNamespace()), copy(task.getJobId()),
                                              copy(task.getAllocId()), copy(task.getTask())};
  return grant;
}

void write_policies(ResolveReply::Builder reply, const Rights& rights) {
  const auto& policies = access::policies_of(rights);
  auto list = reply.initPolicies(static_cast<unsigned>(policies.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(text(policies[i].name));
    list[i].setModifyIndex(policies[i].modify_index);
    list[i].setRules(text(access::rules_text(*policies[i].policy)));
  }
  const auto* const workload = access::workload_of(rights);
  if (workload == nullptr) return;
  auto shown = reply.initImplicit();
  shown.setNamespace(text(workload->ns));
  shown.setJobId(text(workload->job_id));
  shown.setGroup(text(workload->group));
  shown.setTask(text(workload->task));
}

void write_workload(ResolveReply::Workload::Builder to, const access::WorkloadIdentity& task) {
  to.setNamespace(text(task.ns));
  to.setJobId(text(task.job_id));
  to.setTask(text(task.task));
  to.setAllocId(text(task.alloc_id));
}

/// With ACLs off nobody is told rights, but whose a task's token is: at its socket nobody comes
/// without one.
Bytes write_workload_alone(const access::WorkloadIdentity& task) {
  return make_body<ResolveReply>([&](auto& reply) {
    reply.setNothing();
    reply.setValidForMs(static_cast<std::uint64_t>(workload_known_for.count()));
    write_workload(reply.initWorkload(), task);
  });
}

Result<Bytes> write_grant(const Grant& grant, const access::Caller& caller) {
  const auto form = grant.rights->form();
  if (form == Rights::Form::rule) return cannot_say("the rights stay in their process");
  if (form == Rights::Form::everything && grant.accessor.empty() && caller.workload)
    return write_workload_alone(*caller.workload);
  if (form == Rights::Form::everything && grant.accessor.empty())
    return Error{Errc::internal, enforced_nowhere};
  return make_body<ResolveReply>([&](auto& reply) {
    reply.setIndex(grant.index);
    reply.setAccessor(text(grant.accessor));
    switch (form) {
      case Rights::Form::everything:
        reply.setEverything();
        break;
      case Rights::Form::policies:
        write_policies(reply, *grant.rights);
        break;
      default:
        reply.setNothing();
    }
    if (grant.workload) write_workload(reply.initWorkload(), *grant.workload);
    const auto ends = grant.workload
                          ? std::min(grant.ends, net::RpcClock::now() + workload_known_for)
                          : grant.ends;
    if (ends == access::Time::max()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(ends - net::RpcClock::now());
    reply.setValidForMs(static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count())));
  });
}

}  // namespace

void serve_rights(MethodRouter& router) {
  router.on_raw(Method::access_resolve, [](const access::Principal& who, const Inbound& inbound) {
    inbound.reply(write_grant(*who.grant(), who.caller()));
  });
}

struct RightsLink::Shared : std::enable_shared_from_this<Shared> {
  Shared(const actor::Owner& owner, RightsLinkOptions given)
      : options{std::move(given)}, asker{owner, 1} {}

  const RightsLinkOptions options;
  actor::Asker asker;
  std::mutex guard;
  CallTransport transport;
  access::RightsCache cache;

  CallTransport open_transport() {
    const std::lock_guard lock{guard};
    return transport;
  }

  /// Asks the servers one after the other; what a server itself says counts.
  void ask(const SecretText& token, std::vector<std::string> servers, const Found& found) {
    const auto to = open_transport();
    if (!to || servers.empty()) return found(nobody_there("there are none"));
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
                       if (reply && reply->outcome)
                         return found(read_grant(*reply->outcome, self->cache, !token.empty()));
                       const auto& why = reply ? reply->outcome.error() : reply.error();
                       const bool is_said = reply && reply->delivery == Delivery::answered;
                       if (is_said && why.code == Errc::permission_denied) return found(why);
                       if (servers.empty())
                         return found(is_said && why.code != Errc::no_leader
                                          ? cannot_say(why.what)
                                          : nobody_there(why.what));
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
