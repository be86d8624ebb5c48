#include "actors/server/members/membership.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <sodium.h>

#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/members/keyring_orders.hpp"

namespace nomad::server {
namespace {

using namespace membership;
using cluster::MemberInfo;
using cluster::MemberStatus;
using cluster::SealedFor;

/// Looks whether somebody is to be probed.
struct ProbeDue {
  using is_message = void;
};

/// Something changed a moment ago: everybody is told once, with what has changed meanwhile.
struct Spread {
  using is_message = void;
};

struct RetryJoin {
  using is_message = void;
};

using MembershipSelf
    = actor::WithInternal<Membership, void(ProbeDue), void(Spread), void(RetryJoin)>;

constexpr std::chrono::milliseconds spread_delay{20};
constexpr std::chrono::milliseconds leave_patience{1'000};

struct MembershipState {
  static constexpr const char* name = "membership";

  using Self = MembershipSelf::stateful_pointer<MembershipState>;
  using Done = std::function<void(Result<cluster::MemberTable>)>;

  struct Subscriber {
    Listener listener;
    actor::Newest<Listener, MembersChanged> news;
  };

  void start(Self actor,
             rpc::CallTransport to,
             std::shared_ptr<MemberView> shown,
             MembershipActorOptions given) {
    self = actor;
    transport = std::move(to);
    view = std::move(shown);
    options = std::move(given);
    table.emplace(options.self, options.rules, Random{options.random_seed}, now());
    orders.emplace(options.self.id, options.wall_clock());
    publish();
    actor::send_self(self, ProbeDue{});
    if (!options.retry_join.empty()) actor::send_self(self, RetryJoin{});
  }

  std::chrono::nanoseconds now() const { return self->now().time_since_epoch(); }

  static cluster::SealNonce nonce() {
    cluster::SealNonce bytes;
    randombytes_buf(bytes.data(), bytes.size());
    return bytes;
  }

  Object<schema::membership::Envelope> envelope() const {
    auto rows = table->table();
    rows.removed = removed;
    return cluster::write_table(rows, options.keyring.primary(), nonce());
  }

  /// Exchanges tables with the server at `address`; `done` gets the other's, which is merged. If
  /// `region` is empty, the other is asked first which one is its: it counts when the connection
  /// for that region has proven it.
  void exchange(const std::string& address,
                const std::string& region,
                std::chrono::milliseconds timeout,
                Done done) {
    rpc::transport::Call call;
    call.to = {.address = address, .region = region};
    call.method = rpc::Method::member_exchange;
    call.body = rpc::bytes_of(envelope());
    call.timeout = timeout;
    call.priority = rpc::RpcPriority::urgent;
    self->request(transport, timeout + std::chrono::seconds{1}, std::move(call),
                  actor::Priority::urgent)
        .then(
            [this, done, address, region, timeout](const rpc::transport::Reply& reply) {
              auto other = taken(reply.outcome, region);
              auto claimed = other && region.empty() ? region_of_sender(*other) : std::string{};
              if (claimed.empty()) return done(std::move(other));
              exchange(address, claimed, timeout, done);
            },
            [done](const Error& err) { done(err); });
  }

  static std::string region_of_sender(const cluster::MemberTable& table) {
    const auto sender = std::ranges::find(table.members, table.from, &MemberInfo::id);
    return sender == table.members.end() ? std::string{} : sender->region;
  }

  Result<cluster::MemberTable> taken(const Result<Bytes>& outcome, const std::string& region) {
    if (!outcome) return outcome.error();
    auto read = NOMAD_TRY(Object<schema::membership::Envelope>::from_bytes(outcome->view()));
    auto other = cluster::read_table(*read, options.keyring.all());
    if (other && !region.empty()) merge(*other, region);
    return other;
  }

  void merge(const cluster::MemberTable& other, const std::string& region) {
    const bool is_removed
        = region == options.self.region
          && std::ranges::find(other.removed, options.self.id) != other.removed.end();
    if (is_removed) view->set_removed();
    const bool is_expelled = is_removed && table->self().is_usable();  // else it wanted to go
    if (is_expelled && !std::exchange(told_expelled, true))
      log::error("membership",
                 "this server was removed from the cluster; stop it, empty its data directory and "
                 "start it again: it joins under a new id",
                 {{"peer", options.self.id}});
    if (table->merge(other, region, now())) changed();
  }

  void changed() {
    publish();
    if (std::exchange(spreading, true)) return;
    actor::send_self_after(self, spread_delay, Spread{});
  }

  void publish() {
    auto members = std::make_shared<const std::vector<MemberInfo>>(table->members());
    tell_log(*members);
    view->set(members);
    for (auto& [address, hearing] : listeners)
      hearing.news.tell(self, hearing.listener, MembersChanged{members});
  }

  /// A line for each member whose status is news.
  void tell_log(const std::vector<MemberInfo>& members) {
    std::erase_if(logged,
                  [this](const auto& entry) { return table->find(entry.first) == nullptr; });
    for (const auto& member : members) {
      if (member.id == options.self.id) continue;
      auto& known = logged[member.id];
      if (known == member.status) continue;
      known = member.status;
      log::info("membership", "the status of a server has changed",
                {{"peer", member.name},
                 {"address", member.rpc_address},
                 {"status", to_string(member.status)}});
    }
  }

  void spread() {
    spreading = false;
    for (const auto& other : table->others())
      exchange(other.rpc_address, other.region, options.probe_timeout,
               [](const Result<cluster::MemberTable>&) {});
  }

  void beat() {
    table->expire(now());
    if (const auto target = table->next_probe(now())) probe(*target);
    actor::send_self_after(self, options.rules.probe_interval, ProbeDue{});
  }

  void probe(const MemberInfo& target) {
    exchange(target.rpc_address, target.region, options.probe_timeout,
             [this, target](const Result<cluster::MemberTable>& answer) {
               if (answer && answer->from == target.id) return probed(target.id, true);
               const auto helpers = table->helpers(target.id);
               if (helpers.empty()) return probed(target.id, false);
               ask_helpers(target, helpers);
             });
  }

  void ask_helpers(const MemberInfo& target, const std::vector<MemberInfo>& helpers) {
    const auto body = rpc::make_body<schema::membership::ProbeRequest>([&target](auto request) {
      request.setAddress(target.rpc_address);
      request.setRegion(target.region);
    });
    const auto open = std::make_shared<std::size_t>(helpers.size());
    const auto reached = std::make_shared<bool>(false);
    const auto answered = [this, open, reached, id = target.id](bool was_reached) {
      *reached = *reached || was_reached;
      if (--*open == 0) probed(id, *reached);
    };
    for (const auto& helper : helpers) {
      rpc::transport::Call call;
      call.to = {.address = helper.rpc_address, .region = helper.region};
      call.method = rpc::Method::member_probe;
      call.body = body;
      call.timeout = 2 * options.probe_timeout;
      call.priority = rpc::RpcPriority::urgent;
      self->request(transport, 3 * options.probe_timeout, std::move(call), actor::Priority::urgent)
          .then(
              [answered](const rpc::transport::Reply& reply) {
                answered(reply.outcome && says_reached(*reply.outcome));
              },
              [answered](const Error&) { answered(false); });
    }
  }

  static bool says_reached(const Bytes& bytes) {
    const auto reply = Object<schema::membership::ProbeReply>::from_bytes(bytes.view());
    return reply && (*reply)->getReached();
  }

  void probed(const std::string& id, bool answered) {
    if (table->probed(id, answered, now())) changed();
  }

  void join(const std::vector<std::string>& addresses, std::function<void(Joined)> done) {
    if (addresses.empty()) return done(Joined{});
    const auto joined = std::make_shared<Joined>();
    const auto open = std::make_shared<std::size_t>(addresses.size());
    for (const auto& address : addresses) {
      exchange(address, {}, options.join_timeout,
               [joined, open, done, address](const Result<cluster::MemberTable>& answer) {
                 if (answer)
                   ++joined->count;
                 else
                   joined->errors.push_back(address + ": " + answer.error().what);
                 if (--*open == 0) done(*joined);
               });
    }
  }

  void retry_join() {
    ++join_attempts;
    join(options.retry_join, [this](const Joined& joined) {
      // Our own address may be among them.
      if (joined.count > 0 && table->members().size() > 1) {
        log::info("membership", "joined other servers", {{"count", joined.count}});
        return;
      }
      for (const auto& err : joined.errors)
        log::warn("membership", "cannot join", {{"error", err}});
      if (options.retry_max > 0 && join_attempts >= options.retry_max) {
        log::error("membership", "joined nobody, in so many attempts", {{"count", join_attempts}});
        return;
      }
      // The first attempts come fast: servers of a cluster often start together.
      const auto fast = std::chrono::milliseconds{500} * join_attempts;
      actor::send_self_after(self, std::min(fast, options.retry_interval), RetryJoin{});
    });
  }

  void leave(MemberStatus status, actor::Promise<membership::Done> promise) {
    table->set_status(status);
    publish();
    const auto others = table->others();
    if (others.empty()) {
      promise.deliver(membership::Done{});
      return;
    }
    const auto open = std::make_shared<std::size_t>(others.size());
    for (const auto& other : others)
      exchange(other.rpc_address, other.region, leave_patience,
               [open, promise](const Result<cluster::MemberTable>&) mutable {
                 if (--*open == 0) promise.deliver(membership::Done{});
               });
  }

  // -- the keyring
  // ---------------------------------------------------------------------------------

  /// What is kept is what is used: if it can't be kept, nothing changes.
  Result<> change_own(cluster::KeyringAction action, const std::string& key) {
    auto changed = options.keyring;
    NOMAD_TRY(cluster::carry_out(changed, action, key));
    if (changed.keys() == options.keyring.keys()) return {};
    NOMAD_TRY(options.keep(changed).within("the keyring can't be kept"));
    options.keyring = std::move(changed);
    log::info("membership", "the keyring has changed", {{"keys", options.keyring.keys().size()}});
    return {};
  }

  template <class Message, class Fill>
  Object<schema::membership::Sealed> sealed(cluster::SealedFor use, Fill fill) const {
    Draft<Message> draft;
    fill(*draft);
    const auto object = draft.freeze();
    const auto bytes = object.bytes();
    return cluster::seal_bytes(std::as_bytes(std::span{bytes.data(), bytes.size()}),
                               *options.keyring.primary(), use, nonce());
  }

  template <class Message>
  Result<Object<Message>> opened(cluster::SealedFor use,
                                 const Object<schema::membership::Sealed>& from) const {
    const auto plain = NOMAD_TRY(cluster::open_bytes(*from, use, options.keyring.all()));
    return Object<Message>::from_bytes(plain);
  }

  Result<KeyringReport> obey(const Object<schema::membership::Sealed>& from) {
    const auto order
        = NOMAD_TRY(opened<schema::membership::KeyringOrder>(SealedFor::keyring_order, from));
    const auto id = text_of(order->getId());
    NOMAD_TRY(orders->take({id, order->getTime(), copy(order->getTo())}, options.wall_clock()));
    const auto action = static_cast<cluster::KeyringAction>(order->getAction());
    const auto done = change_own(action, copy(order->getKey()));
    return KeyringReport{
        sealed<schema::membership::KeyringReport>(SealedFor::keyring_report, [&](auto report) {
          report.setId(data_of(id));
          if (!done) report.setFailure(text(done.error().what));
          fill_texts(report, options.keyring.keys());
        })};
  }

  static std::string text_of(capnp::Data::Reader bytes) {
    return {bytes.asChars().begin(), bytes.size()};
  }

  static capnp::Data::Reader data_of(const std::string& bytes) {
    return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
  }

  static std::string new_order_id() {
    std::string id(cluster::KeyringOrders::id_bytes, '\0');
    randombytes_buf(id.data(), id.size());
    return id;
  }

  static void fill_texts(schema::membership::KeyringReport::Builder report,
                         const std::vector<std::string>& keys) {
    auto list = report.initKeys(static_cast<unsigned>(keys.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(keys[i]));
  }

  void change_keyring(const ChangeKeyring& msg, actor::Promise<KeyringChanged> promise) {
    if (options.keyring.empty())
      return promise.deliver(cluster::carry_out(options.keyring, msg.action, msg.key).error());
    std::vector<Order> given;  // sealed before the own key may change, which others follow
    for (const auto& other : table->others())
      if (other.is_usable()) given.push_back(order_to(other, msg));
    const auto answers = std::make_shared<cluster::KeyringAnswers>();
    const auto own = change_own(msg.action, msg.key);
    answers->servers = 1;
    answers->count(options.keyring.keys());
    if (!own) answers->messages[options.self.name] = own.error().what;
    if (given.empty()) return promise.deliver(KeyringChanged{*answers});
    const auto open = std::make_shared<std::size_t>(given.size());
    for (const auto& order : given)
      send(order, [answers, open, promise, name = order.to.name](auto report) mutable {
        ++answers->servers;
        if (!report)
          answers->messages[name] = report.error().what;
        else
          take_report(*answers, name, **report);
        if (--*open == 0) promise.deliver(KeyringChanged{*answers});
      });
  }

  /// An order to one server. No two have one id, so that no report stands for another one.
  struct Order {
    MemberInfo to;
    std::string id;
    Object<schema::membership::Sealed> body;
  };

  Order order_to(const MemberInfo& other, const ChangeKeyring& msg) const {
    Order order{.to = other, .id = new_order_id(), .body = {}};
    order.body = sealed<schema::membership::KeyringOrder>(SealedFor::keyring_order, [&](auto to) {
      to.setAction(static_cast<std::uint8_t>(msg.action));
      to.setKey(text(msg.key));
      to.setId(data_of(order.id));
      to.setTime(options.wall_clock());
      to.setTo(text(other.id));
    });
    return order;
  }

  static void take_report(cluster::KeyringAnswers& answers,
                          const std::string& name,
                          schema::membership::KeyringReport::Reader report) {
    if (report.getFailure().size() > 0) answers.messages[name] = copy(report.getFailure());
    std::vector<std::string> keys;
    for (const auto key : report.getKeys())
      if (keys.size() < cluster::MemberKeyring::most_keys) keys.push_back(copy(key));
    answers.count(keys);
  }

  void send(const Order& order,
            std::function<void(Result<Object<schema::membership::KeyringReport>>)> done) {
    rpc::transport::Call call;
    call.to = {.address = order.to.rpc_address, .region = order.to.region};
    call.method = rpc::Method::member_keyring;
    call.body = rpc::bytes_of(order.body);
    call.timeout = options.join_timeout;
    self->request(transport, options.join_timeout + std::chrono::seconds{1}, std::move(call))
        .then([this, done,
               id = order.id](const rpc::transport::Reply& reply) { done(report_on(id, reply)); },
              [done](const Error& err) { done(err); });
  }

  Result<Object<schema::membership::KeyringReport>> report_on(
      const std::string& id, const rpc::transport::Reply& reply) const {
    if (!reply.outcome) return reply.outcome.error();
    const auto body
        = NOMAD_TRY(Object<schema::membership::Sealed>::from_bytes(reply.outcome->view()));
    auto report
        = NOMAD_TRY(opened<schema::membership::KeyringReport>(SealedFor::keyring_report, body));
    if (text_of(report->getId()) != id)
      return Error{Errc::permission_denied, "the report is on another order about the keyring"};
    return report;
  }

  Self self = nullptr;
  rpc::CallTransport transport;
  std::shared_ptr<MemberView> view;
  MembershipActorOptions options;
  std::optional<cluster::Membership> table;
  std::optional<cluster::KeyringOrders> orders;  ///< That were obeyed.
  std::map<actor::Address, Subscriber> listeners;
  std::map<std::string, std::optional<MemberStatus>> logged;
  std::int64_t join_attempts = 0;
  std::vector<std::string> removed;
  bool told_expelled = false;
  bool spreading = false;
};

MembershipSelf::behavior_type membership_actor(MembershipState::Self self,
                                               rpc::CallTransport transport,
                                               std::shared_ptr<MemberView> view,
                                               MembershipActorOptions options) {
  self->state.start(self, std::move(transport), std::move(view), std::move(options));
  return {
      [self](const Exchange& msg) -> actor::Answer<Exchanged> {
        auto& state = self->state;
        const auto other
            = NOMAD_TRY(cluster::read_table(*msg.envelope, state.options.keyring.all()));
        state.merge(other, msg.region);
        return Exchanged{state.envelope()};
      },
      [self](const Probe& msg) -> actor::Answer<Probed> {
        auto promise = self->make_response_promise<Probed>();
        self->state.exchange(msg.address, msg.region, self->state.options.probe_timeout,
                             [promise](const Result<cluster::MemberTable>& answer) mutable {
                               promise.deliver(Probed{answer.has_value()});
                             });
        return promise;
      },
      [self](const Join& msg) -> actor::Answer<Joined> {
        auto promise = self->make_response_promise<Joined>();
        self->state.join(msg.addresses,
                         [promise](Joined joined) mutable { promise.deliver(std::move(joined)); });
        return promise;
      },
      [self](const ForceLeave& msg) -> actor::Answer<Done> {
        auto& state = self->state;
        NOMAD_TRY(state.table->force_leave(msg.name, msg.prune, state.now()));
        state.changed();
        return Done{};
      },
      [self](Leave msg) -> actor::Answer<Done> {
        auto promise = self->make_response_promise<Done>();
        self->state.leave(msg.status, promise);
        return promise;
      },
      [self](const ChangeKeyring& msg) -> actor::Answer<KeyringChanged> {
        auto promise = self->make_response_promise<KeyringChanged>();
        self->state.change_keyring(msg, promise);
        return promise;
      },
      [self](const KeyringOrder& msg) -> actor::Answer<KeyringReport> {
        return NOMAD_TRY(self->state.obey(msg.sealed));
      },
      [self](const UseLog& msg) {
        auto& state = self->state;
        state.removed = msg.removed;
        if (state.table->self().cluster_id == msg.cluster_id) return;
        state.table->set_cluster_id(msg.cluster_id);
        state.changed();
      },
      [self](const AddListener& msg) {
        auto& state = self->state;
        auto& hearing = state.listeners[msg.listener.address()];
        hearing.listener = msg.listener;
        hearing.news.tell(self, msg.listener, MembersChanged{state.view->members()});
      },
      [self](ProbeDue) { self->state.beat(); },
      [self](Spread) { self->state.spread(); },
      [self](RetryJoin) { self->state.retry_join(); },
  };
}

}  // namespace

std::vector<std::string> MemberView::servers_in(const std::string& region) const {
  std::vector<std::string> addresses;
  for (const auto& member : *members())
    if (member.region == region && member.is_usable()) addresses.push_back(member.rpc_address);
  return addresses;
}

Membership spawn_membership(const actor::Owner& owner,
                            const rpc::CallTransport& transport,
                            std::shared_ptr<MemberView> view,
                            MembershipActorOptions options) {
  return actor::spawn<actor::Policy::end_owner>(owner, membership_actor, transport, std::move(view),
                                                std::move(options));
}

}  // namespace nomad::server
