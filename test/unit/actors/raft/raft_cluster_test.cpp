// actors/raft with more than one server: real nodes with real files in one process; messages go
// from hand to hand. Joining by snapshot, replication, change of leader, restart.
#include <future>
#include <map>
#include <mutex>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"
#include "test/support/leadership_listener.hpp"
#include "test/support/list_fsm.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

/// Carries messages to whoever is connected. Thread-safe.
class Network {
public:
  void connect(const ServerId& id, const RaftInbox& inbox) {
    const std::scoped_lock lock{guard_};
    inboxes_.insert_or_assign(id, inbox);
  }

  void disconnect(const ServerId& id) {
    const std::scoped_lock lock{guard_};
    inboxes_.erase(id);
  }

  void carry(const Carry& carried) {
    std::optional<RaftInbox> inbox;
    {
      const std::scoped_lock lock{guard_};
      if (const auto to = inboxes_.find(carried.to); to != inboxes_.end()) inbox = to->second;
    }
    carried.done(inbox ? inbox->deliver(carried.bytes)
                       : Result<>{Error{Errc::unavailable, "nobody listens there"}});
    test::note_change();
  }

private:
  std::mutex guard_;
  std::map<ServerId, RaftInbox> inboxes_;
};

struct ClusterFixture {
  test::TempDir dir;
  actor::SystemConfig config{{.workers = 2}};
  actor::System system{config};
  std::shared_ptr<Network> net = std::make_shared<Network>();
  LeadershipListener listener = test::spawn_leadership_listener(system);
  std::map<ServerId, StartedRaft> servers;
  std::map<ServerId, std::shared_ptr<test::ListFsm>> fsms;

  ~ClusterFixture() {
    while (!servers.empty())
      stop(servers.begin()->first);
    actor::stop(listener);
    system.await_all_actors_done();
  }

  void start(const ServerId& id, bool bootstrap) {
    RaftOptions options{.directory = dir.file(id), .self = id, .address = id};
    options.bootstrap = bootstrap;
    options.heartbeat_interval = 20ms;
    options.election_timeout = 300ms;
    options.snapshot_threshold = 0;
    options.trailing_entries = 0;
    options.carrier = [network = net](const Carry& carried) { network->carry(carried); };
    fsms[id] = std::make_shared<test::ListFsm>();
    auto started = start_raft(system, options, fsms[id], listener);
    REQUIRE(started);
    net->connect(id, started->inbox);
    servers.emplace(id, std::move(*started));
  }

  void stop(const ServerId& id) {
    net->disconnect(id);
    actor::BlockingAsker self{system};
    auto node = servers.at(id).node;
    servers.erase(id);
    actor::stop(node);
    self.wait_for(node);
  }

  template <class Reply, class M>
  Result<Reply> ask(const ServerId& id, M msg) {
    actor::BlockingAsker self{system};
    Result<Reply> answer = Error{Errc::internal, "not answered"};
    self.request(servers.at(id).node, 30s, std::move(msg))
        .receive([&answer](Reply& reply) { answer = std::move(reply); },
                 [&answer](const Error& err) { answer = err; });
    return answer;
  }

  /// Heartbeats go on, and with each that is carried it looks again.
  template <class Condition>
  void eventually(Condition condition) {
    REQUIRE(test::eventually(condition));
  }

  ServerId leader() {
    ServerId found;
    eventually([&] {
      for (const auto& [id, server] : servers)
        if (server.lease->holds()) found = id;
      return !found.empty();
    });
    return found;
  }

  Result<Applied> write(const std::string& command) {
    std::promise<Result<Applied>> done;
    servers.at(leader()).proposer.propose(Bytes::copy(command), [&done](Result<Applied> outcome) {
      done.set_value(std::move(outcome));
    });
    return done.get_future().get();
  }

  void join(const ServerId& id) {
    start(id, false);
    REQUIRE(ask<Applied>(leader(), ChangeMember{{MemberAction::add_learner, id, id}}));
    eventually([&] {
      return ask<Applied>(leader(), ChangeMember{{MemberAction::promote, id, {}}}).has_value();
    });
  }

  bool all_hold(const std::vector<std::string>& list) {
    return std::ranges::all_of(
        servers, [&](const auto& item) { return *fsms.at(item.first)->published() == list; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(ClusterFixture, "raft cluster: servers join by snapshot, lead in turn, restart") {
  std::vector<std::string> list;
  const auto write_some = [&](const std::string& when) {
    for (int number = 0; number < 20; ++number) {
      list.push_back(when + " " + std::to_string(number) + std::string(500, '.'));
      REQUIRE(write(list.back()));
    }
  };
  start("a", true);
  write_some("alone");
  // Nothing stays in the log: whoever joins needs the snapshot.
  REQUIRE(ask<SnapshotTaken>("a", TakeSnapshot{}));
  write_some("behind the snapshot");
  REQUIRE(ask<SnapshotTaken>("a", TakeSnapshot{}));
  join("b");
  join("c");
  write_some("with three");
  eventually([&] { return all_hold(list); });
  CHECK(ask<RaftStatus>("b", GetStatus{})->configuration.voter_count() == 3);
  CHECK(ask<RaftStatus>("b", GetStatus{})->snapshot_index > 0);

  // The leader hands over, and is stopped.
  REQUIRE(ask<Transferred>("a", TransferLeadership{"b"}));
  eventually([&] { return servers.at("b").lease->holds(); });
  CHECK_FALSE(servers.at("a").lease->holds());
  stop("a");
  write_some("without a");
  eventually([&] { return all_hold(list); });

  // The next leader is stopped without a word: with two of three gone nothing is answered.
  start("a", false);
  eventually([&] { return all_hold(list); });
  stop("b");
  write_some("without b");
  start("b", false);
  eventually([&] { return all_hold(list); });
  const auto read = ask<ReadReady>(leader(), ReadIndex{});
  REQUIRE(read);
  CHECK(read->index >= list.size());
}

TEST_CASE_FIXTURE(ClusterFixture,
                  "raft cluster: without a quorum a write is not answered as done") {
  start("a", true);
  REQUIRE(write("one"));
  join("b");
  REQUIRE(write("two"));
  const auto boss = leader();
  stop(boss == "a" ? "b" : "a");

  std::promise<Result<Applied>> done;
  servers.at(boss).proposer.propose(Bytes::copy("three"), [&done](Result<Applied> outcome) {
    done.set_value(std::move(outcome));
  });
  const auto outcome = done.get_future().get();

  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Errc::unavailable);
  CHECK_FALSE(servers.at(boss).lease->holds());
  CHECK(ask<ReadReady>(boss, ReadIndex{}).error().code == Errc::unavailable);
}
