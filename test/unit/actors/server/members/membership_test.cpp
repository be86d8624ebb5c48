// actors/server/membership and autopilot: servers find each other, notice who is gone, found one
// cluster and no second. The transport is played, the clock is virtual.
#include "actors/server/members/membership.hpp"

#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/rpc/router.hpp"
#include "actors/server/autopilot.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;
using cluster::MemberStatus;

namespace {

struct MembersFixture : test::ActorFixture {
  struct Server {
    Membership membership;
    std::shared_ptr<MemberView> view = std::make_shared<MemberView>();
    std::string kept{};  ///< The keyring's text.
    bool is_full = false;
  };

  std::map<std::string, Server> servers;  ///< By id, which is the address too.
  std::set<std::string> dead;
  std::set<std::pair<std::string, std::string>> cut;             ///< From, to.
  std::optional<Object<schema::membership::Sealed>> last_order;  ///< That went over the network.
  Bytes last_report;
  Bytes put_report;  ///< If it is not empty, who gives orders has it instead of the real one.
  std::int64_t wall_clock = 1'700'000'000'000'000'000;

  using Reply = rpc::transport::Reply;

  /// Whoever asks by this transport asks from `from`.
  rpc::CallTransport transport(const std::string& from) {
    return adopt(actor::spawn(
        system(),
        [this, from](rpc::CallTransport::pointer self) -> rpc::CallTransport::behavior_type {
          return {[this, self, from](const rpc::transport::Call& msg) -> actor::Answer<Reply> {
            auto promise = self->make_response_promise<Reply>();
            const auto& to = msg.to.address;
            if (dead.contains(to) || dead.contains(from) || cut.contains({from, to})
                || !servers.contains(to)) {
              promise.deliver(Reply{Error{Errc::unavailable, "connection refused"},
                                    rpc::transport::Delivery::surely_not});
              return promise;
            }
            pass_on(self, msg, promise);
            return promise;
          }};
        }));
  }

  void pass_on(rpc::CallTransport::pointer self,
               const rpc::transport::Call& msg,
               actor::Promise<Reply> promise) {
    const auto& to = servers.at(msg.to.address).membership;
    const auto fail = [promise](const Error& err) mutable {
      promise.deliver(Reply{err, rpc::transport::Delivery::answered});
    };
    if (msg.method == rpc::Method::member_probe) {
      const auto request
          = Object<schema::membership::ProbeRequest>::from_bytes(msg.body.view()).value();
      self->request(to, 10s,
                    membership::Probe{copy(request->getAddress()), copy(request->getRegion())})
          .then(
              [promise](membership::Probed probed) mutable {
                promise.deliver(Reply{rpc::make_body<schema::membership::ProbeReply>(
                                          [&](auto reply) { reply.setReached(probed.reached); }),
                                      rpc::transport::Delivery::answered});
              },
              fail);
      return;
    }
    if (msg.method == rpc::Method::member_keyring) {
      last_order = Object<schema::membership::Sealed>::from_bytes(msg.body.view()).value();
      self->request(to, 10s, membership::KeyringOrder{*last_order})
          .then(
              [this, promise](const membership::KeyringReport& report) mutable {
                last_report = rpc::bytes_of(report.sealed);
                promise.deliver(Reply{put_report.view().empty() ? last_report : put_report,
                                      rpc::transport::Delivery::answered});
              },
              fail);
      return;
    }
    REQUIRE(msg.method == rpc::Method::member_exchange);
    auto envelope = Object<schema::membership::Envelope>::from_bytes(msg.body.view()).value();
    self->request(to, 10s, membership::Exchange{"global", std::move(envelope)})
        .then(
            [promise](const membership::Exchanged& answer) mutable {
              promise.deliver(
                  Reply{rpc::bytes_of(answer.envelope), rpc::transport::Delivery::answered});
            },
            fail);
  }

  static cluster::MemberInfo info(const std::string& id) {
    return {.id = id,
            .name = id + ".global",
            .region = "global",
            .rpc_address = id,
            .build = "1.6.5",
            .expect = 3};
  }

  Server& start(const std::string& id, std::vector<std::string> join, const std::string& key = {}) {
    auto& server = servers[id];
    server.view = std::make_shared<MemberView>();
    MembershipActorOptions options;
    options.self = info(id);
    options.keyring = cluster::MemberKeyring::of(key).value();
    options.keep = [&server](const cluster::MemberKeyring& keyring) {
      if (server.is_full) return Result<>{Error{Errc::overloaded, "no space"}};
      server.kept = keyring.text();
      return Result<>{};
    };
    options.retry_join = std::move(join);
    options.random_seed = servers.size();
    options.wall_clock = [this] { return wall_clock; };
    server.membership
        = adopt(spawn_membership(system(), transport(id), server.view, std::move(options)));
    settle();
    return server;
  }

  std::string statuses(const std::string& at) {
    std::string text;
    for (const auto& member : *servers.at(at).view->members())
      text += member.id + ":" + std::string{to_string(member.status)} + " ";
    return text;
  }
};

}  // namespace

TEST_CASE_FIXTURE(MembersFixture, "membership: servers find each other by any one of them") {
  start("a", {"a", "b"});
  advance(3s);
  start("b", {});
  advance(5s);
  start("c", {"b"});
  advance(1s);
  for (const char* id : {"a", "b", "c"})
    CHECK(statuses(id) == "a:alive b:alive c:alive ");
  CHECK(servers.at("a").view->servers_in("global").size() == 3);
  CHECK(servers.at("a").view->servers_in("west").empty());
}

TEST_CASE_FIXTURE(MembersFixture,
                  "membership: a dead server is failed everywhere, and comes back") {
  start("a", {});
  start("b", {"a"});
  start("c", {"a"});
  advance(2s);
  dead.insert("c");
  advance(8s);
  CHECK(statuses("a") == "a:alive b:alive c:failed ");
  CHECK(statuses("b") == "a:alive b:alive c:failed ");
  dead.erase("c");
  advance(15s);
  for (const char* id : {"a", "b", "c"})
    CHECK(statuses(id) == "a:alive b:alive c:alive ");
}

TEST_CASE_FIXTURE(MembersFixture, "membership: one broken link is no failure") {
  start("a", {});
  start("b", {"a"});
  start("c", {"a"});
  advance(2s);
  cut = {{"a", "c"}, {"c", "a"}};
  advance(60s);
  for (const char* id : {"a", "b", "c"})
    CHECK(statuses(id) == "a:alive b:alive c:alive ");
}

TEST_CASE_FIXTURE(MembersFixture, "membership: who leaves says so") {
  start("a", {});
  start("b", {"a"});
  advance(2s);
  const auto begun
      = ask<membership::Done>(servers.at("b").membership, membership::Leave{MemberStatus::leaving});
  CHECK(begun->has_value());
  CHECK(statuses("a") == "a:alive b:leaving ");
  CHECK(servers.at("a").view->servers_in("global").size() == 1);
  advance(60s);  // however long it takes: it is still there
  CHECK(statuses("a") == "a:alive b:leaving ");
  const auto done = ask<membership::Done>(servers.at("b").membership, membership::Leave{});
  CHECK(done->has_value());
  dead.insert("b");
  CHECK(statuses("a") == "a:alive b:left ");
  advance(60s);
  CHECK(statuses("a") == "a:alive b:left ");
}

TEST_CASE_FIXTURE(MembersFixture, "membership: who has another key stays out") {
  const std::string key = "QUFBQUFBQUFBQUFBQUFBQQ==";
  const std::string other = "QUFBQUFBQUFBQUFBQUFBQg==";
  start("a", {}, key);
  start("b", {"a"}, key);
  start("c", {"a"}, other);
  start("d", {"a"});
  advance(30s);
  CHECK(statuses("a") == "a:alive b:alive ");
  CHECK(statuses("d") == "d:alive ");
  const auto joined
      = ask<membership::Joined>(servers.at("c").membership, membership::Join{{"a", "b"}});
  REQUIRE(joined->has_value());
  CHECK((*joined)->value().count == 0);
  REQUIRE((*joined)->value().errors.size() == 2);
  CHECK((*joined)->value().errors[0].find("encrypt") != std::string::npos);
}

TEST_CASE_FIXTURE(MembersFixture, "membership: a key is replaced while servers go on") {
  using cluster::KeyringAction;
  const std::string key = "QUFBQUFBQUFBQUFBQUFBQQ==";
  const std::string next = "QUFBQUFBQUFBQUFBQUFBQg==";
  for (const char* id : {"a", "b", "c"})
    start(id, {"a"}, key);
  advance(5s);
  const auto order = [&](KeyringAction action, const std::string& on) {
    const auto done = ask<membership::KeyringChanged>(servers.at("b").membership,
                                                      membership::ChangeKeyring{action, on});
    REQUIRE((done->has_value() && (*done)->has_value()));
    return (**done)->answers;
  };
  const auto early = order(KeyringAction::use, next);
  CHECK(early.servers == 3);
  CHECK(early.messages.at("a.global") == "requested key is not in the keyring");
  CHECK(early.messages.size() == 3);
  CHECK(order(KeyringAction::install, next).keys
        == std::map<std::string, std::size_t>{{key, 3}, {next, 3}});
  CHECK(order(KeyringAction::use, next).primaries == std::map<std::string, std::size_t>{{next, 3}});
  const auto last = order(KeyringAction::remove, key);
  CHECK(last.messages.empty());
  CHECK(last.keys == std::map<std::string, std::size_t>{{next, 3}});
  advance(60s);
  for (const char* id : {"a", "b", "c"}) {
    CHECK(statuses(id) == "a:alive b:alive c:alive ");
    CHECK(servers.at(id).kept == "[\"" + next + "\"]");
  }
  start("d", {"a"}, key);
  advance(5s);
  CHECK(statuses("d") == "d:alive ");
}

TEST_CASE_FIXTURE(MembersFixture, "membership: a key that can't be kept is not used") {
  using cluster::KeyringAction;
  const std::string key = "QUFBQUFBQUFBQUFBQUFBQQ==";
  start("a", {"a"}, key);
  start("b", {"a"}, key).is_full = true;
  advance(5s);
  const auto done = ask<membership::KeyringChanged>(
      servers.at("a").membership,
      membership::ChangeKeyring{KeyringAction::install, "QUFBQUFBQUFBQUFBQUFBQg=="});
  REQUIRE((done->has_value() && (*done)->has_value()));
  CHECK((**done)->answers.messages
        == std::map<std::string, std::string>{{"b.global", "the keyring can't be kept: no space"}});
  CHECK((**done)->answers.keys.at(key) == 2);
  CHECK((**done)->answers.keys.size() == 2);
}

namespace {

/// Two servers that seal by one key, and what somebody between them records.
struct OrdersFixture : MembersFixture {
  static constexpr auto key = "QUFBQUFBQUFBQUFBQUFBQQ==";
  static constexpr auto next = "QUFBQUFBQUFBQUFBQUFBQg==";

  OrdersFixture() {
    start("a", {"a"}, key);
    start("b", {"a"}, key);
    advance(5s);
  }

  cluster::KeyringAnswers order(cluster::KeyringAction action, const std::string& on = {}) {
    const auto done = ask<membership::KeyringChanged>(servers.at("a").membership,
                                                      membership::ChangeKeyring{action, on});
    REQUIRE((done->has_value() && (*done)->has_value()));
    return (**done)->answers;
  }

  std::string refusal(const std::string& at, const Object<schema::membership::Sealed>& order) {
    const auto report = ask<membership::KeyringReport>(servers.at(at).membership,
                                                       membership::KeyringOrder{order});
    REQUIRE(report->has_value());
    if ((*report)->has_value()) return "";
    CHECK((*report)->error().code == Errc::permission_denied);
    return (*report)->error().what;
  }
};

}  // namespace

TEST_CASE_FIXTURE(OrdersFixture, "membership: an order that was recorded does nothing again") {
  using cluster::KeyringAction;
  CHECK(order(KeyringAction::install, next).messages.empty());
  const auto recorded = last_order.value();
  CHECK(order(KeyringAction::remove, next).keys.size() == 1);

  CHECK(refusal("b", recorded)
        == "the order about the keyring was obeyed already: it was recorded and sent again");
  CHECK(refusal("a", recorded) == "the order about the keyring is for another server");
  wall_clock += 1;
  start("b", {"a"}, key);  // what it has obeyed before is forgotten
  CHECK(refusal("b", recorded).starts_with("the order about the keyring is older than this"));
  wall_clock += std::chrono::nanoseconds{2min}.count();
  CHECK(refusal("b", recorded).starts_with("the order about the keyring is not of this minute"));
  CHECK(order(KeyringAction::list).keys == std::map<std::string, std::size_t>{{key, 2}});
}

TEST_CASE_FIXTURE(OrdersFixture, "membership: a report that was recorded is no report") {
  using cluster::KeyringAction;
  CHECK(order(KeyringAction::list).messages.empty());
  put_report = last_report;
  CHECK(order(KeyringAction::install, next).messages
        == std::map<std::string, std::string>{
            {"b.global", "the report is on another order about the keyring"}});
  // An order is no report either, though the same key seals both.
  put_report = rpc::bytes_of(*last_order);
  CHECK(order(KeyringAction::list).messages.at("b.global")
        == "the other server has another \"encrypt\" key");
}

TEST_CASE_FIXTURE(MembersFixture, "membership: without a key there is no keyring") {
  start("a", {});
  const auto done
      = ask<membership::KeyringChanged>(servers.at("a").membership, membership::ChangeKeyring{});
  REQUIRE(done->has_value());
  CHECK((*done)->error().what == "no keyring to change: encryption is not enabled");
  Draft<schema::membership::Sealed> order;
  const auto report = ask<membership::KeyringReport>(servers.at("a").membership,
                                                     membership::KeyringOrder{order.freeze()});
  CHECK((*report)->error().code == Errc::permission_denied);
}

namespace {

/// A log that an autopilot looks after.
struct PilotFixture : MembersFixture {
  raft::RaftStatus status;
  std::vector<raft::MemberChange> changes;
  std::vector<raft::Configuration> founded;

  Autopilot start_pilot(const std::string& id) {
    using Raft = RaftMembers;
    const auto raft = adopt(actor::spawn(system(), [this](Raft::pointer) -> Raft::behavior_type {
      return {[this](raft::GetStatus) { return status; },
              [this](const raft::ChangeMember& msg) {
                changes.push_back(msg.change);
                status.configuration = raft::changed(status.configuration, msg.change).value();
                return raft::Applied{};
              },
              [this](const raft::BootstrapCluster& msg) {
                founded.push_back(msg.configuration);
                status.configuration = msg.configuration;
                return raft::Applied{};
              }};
    }));
    auto pilot = adopt(spawn_autopilot(system(), raft, servers.at(id).membership,
                                       {.self = id, .region = "global", .config = {}}));
    tell(servers.at(id).membership, membership::AddListener{pilot});
    return pilot;
  }
};

}  // namespace

TEST_CASE_FIXTURE(PilotFixture, "autopilot: the server of the lowest id founds the cluster, once") {
  start("a", {});
  start_pilot("a");
  start("b", {"a"});
  advance(5s);
  CHECK(founded.empty());
  start("c", {"a"});
  advance(5s);
  REQUIRE(founded.size() == 1);
  CHECK(founded[0].members.size() == 3);
  CHECK(founded[0].voter_count() == 3);
  CHECK_FALSE(founded[0].cluster_id.empty());
  // The others know now that there is a cluster.
  CHECK(servers.at("c").view->members()->front().cluster_id == founded[0].cluster_id);
}

TEST_CASE_FIXTURE(PilotFixture, "autopilot: the leader takes in a new server, and lets one go") {
  start("a", {});
  const auto pilot = start_pilot("a");
  status.self = "a";
  status.role = raft::Role::leader;
  status.current_term = 2;
  status.configuration
      = {.cluster_id = "c", .members = {{.id = "a", .address = "a", .voter = true}}, .removed = {}};
  tell(pilot, Lead{true});
  start("b", {"a"});
  advance(2s);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].action == raft::MemberAction::add_learner);
  status.peers = {{.id = "b", .match_index = 0, .silence = 10ms}};
  advance(12s);
  REQUIRE(changes.size() == 2);
  CHECK(changes[1].action == raft::MemberAction::promote);
  const auto health = ask<autopilot::Health>(pilot, autopilot::GetHealth{});
  REQUIRE(health->has_value());
  CHECK((*health)->value().cluster.healthy);

  ask<membership::Done>(servers.at("b").membership, membership::Leave{MemberStatus::leaving});
  advance(500ms);
  REQUIRE(changes.size() == 3);
  CHECK(changes[2].action == raft::MemberAction::remove);
  CHECK(changes[2].id == "b");
}

TEST_CASE_FIXTURE(PilotFixture, "membership: a listener that is slow has the newest news alone") {
  start("a", {});
  start_pilot("a");
  start("b", {"a"});
  advance(5s);
  hold("autopilot");
  const auto churn = [this](int times) {
    for (int i = 0; i < times; ++i) {
      dead.insert("b");
      advance(20s);
      dead.erase("b");
      advance(20s);
    }
  };
  churn(2);
  const auto early = fullest("autopilot");
  churn(20);
  CHECK(early >= 1);
  CHECK(fullest("autopilot") <= early + 1);
}

TEST_CASE_FIXTURE(PilotFixture, "autopilot: asks the log once at a time, and tells what is new") {
  start("a", {});
  start_pilot("a");
  start("b", {"a"});
  start("c", {"a"});
  advance(5s);
  hold("membership");
  advance(10s);
  const auto early = fullest("membership");
  advance(300s);
  CHECK(early >= 1);
  CHECK(fullest("membership") <= early + 1);
}
