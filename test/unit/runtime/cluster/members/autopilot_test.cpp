// runtime/cluster/members/autopilot: who comes in, who becomes a voter, who goes, and who may not.
#include "runtime/cluster/members/autopilot.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;
using raft::MemberAction;

namespace {

struct Cluster {
  LogStatus log{.self = "a", .term = 3, .last_index = 1'000, .configuration = {}, .peers = {}};
  std::vector<MemberInfo> members;
  AutopilotConfig config;
  Autopilot autopilot;
  Autopilot::Time now = 100s;

  explicit Cluster(const std::vector<std::string>& voters) {
    log.configuration.cluster_id = "c";
    for (const auto& id : voters)
      add(id, true);
  }

  void add(const std::string& id, bool voter) {
    log.configuration.members.push_back({.id = id, .address = id + ":1", .voter = voter});
    if (id != log.self) log.peers.push_back({.id = id, .match_index = 1'000, .silence = 50ms});
    appear(id);
  }

  MemberInfo& appear(const std::string& id) {
    members.push_back({.id = id,
                       .name = id + ".global",
                       .region = "global",
                       .rpc_address = id + ":1",
                       .build = "1.6.5"});
    return members.back();
  }

  MemberInfo& member(const std::string& id) {
    return *std::ranges::find(members, id, &MemberInfo::id);
  }

  std::optional<raft::MemberChange> look(Autopilot::Time after = 1s) {
    now += after;
    autopilot.observe(log, members, "global", config, now);
    return autopilot.next_change();
  }
};

}  // namespace

TEST_CASE("autopilot: a server that answers and takes no entries is not healthy") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.look();
  cluster.log.last_index = 1'001;  // b is silent on this one: its disk is read-only
  cluster.log.peers[1].match_index = 1'001;
  CHECK_FALSE(cluster.look());
  CHECK(cluster.autopilot.health().healthy);  // it may be on its way
  cluster.look(10s);
  CHECK(cluster.autopilot.health().healthy);  // nobody looked meanwhile
  cluster.look(2s);
  CHECK(cluster.autopilot.health().healthy);
  cluster.look(1s);
  CHECK_FALSE(cluster.autopilot.health().healthy);
  CHECK(cluster.autopilot.health().failure_tolerance == 0);
  CHECK_FALSE(cluster.autopilot.health().servers[1].healthy);

  cluster.log.peers[0].match_index = 1'001;
  cluster.look();
  CHECK(cluster.autopilot.health().healthy);
}

TEST_CASE("autopilot: a server that lags behind and catches up is healthy") {
  Cluster cluster{{"a", "b", "c"}};
  for (int i = 0; i < 10; ++i) {
    cluster.log.last_index += 10;
    for (auto& peer : cluster.log.peers)
      peer.match_index += 10 - (i == 0 ? 5 : 0);
    cluster.look(2s);
    CHECK(cluster.autopilot.health().healthy);
  }
}

TEST_CASE("autopilot: a healthy cluster is left alone, and says what it can lose") {
  Cluster cluster{{"a", "b", "c"}};
  CHECK_FALSE(cluster.look());
  CHECK(cluster.autopilot.health().healthy);
  CHECK(cluster.autopilot.health().failure_tolerance == 1);
  cluster.log.peers[0].silence = 300ms;
  cluster.look();
  CHECK_FALSE(cluster.autopilot.health().healthy);
  CHECK(cluster.autopilot.health().failure_tolerance == 0);
}

TEST_CASE(
    "autopilot: a new server becomes a learner, and a voter when it was healthy long enough") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.appear("d");
  const auto added = cluster.look();
  REQUIRE(added);
  CHECK(added->action == MemberAction::add_learner);
  CHECK(added->id == "d");
  CHECK(added->address == "d:1");

  cluster.members.pop_back();
  cluster.add("d", false);
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(9s));
  cluster.log.peers.back().match_index = 100;  // far behind: it begins anew
  CHECK_FALSE(cluster.look());
  cluster.log.peers.back().match_index = 1'000;
  CHECK_FALSE(cluster.look());
  const auto promoted = cluster.look(10s);
  REQUIRE(promoted);
  CHECK(promoted->action == MemberAction::promote);
  CHECK(promoted->id == "d");
}

TEST_CASE("autopilot: strangers, removed ids and other regions stay out") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.appear("d").cluster_id = "another";
  cluster.appear("e").region = "west";
  cluster.appear("f");
  cluster.log.configuration.removed = {"f"};
  cluster.appear("g").status = MemberStatus::failed;
  CHECK_FALSE(cluster.look());
}

TEST_CASE("autopilot: a moved server is followed; one reinstalled takes the place of the dead") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.member("b").rpc_address = "b:2";
  const auto moved = cluster.look();
  REQUIRE(moved);
  CHECK(moved->action == MemberAction::move);
  CHECK(moved->address == "b:2");

  cluster.member("b").rpc_address = "b:1";
  cluster.member("c").status = MemberStatus::failed;
  cluster.appear("c2").rpc_address = "c:1";
  const auto replaced = cluster.look();
  REQUIRE(replaced);
  CHECK(replaced->action == MemberAction::remove);
  CHECK(replaced->id == "c");
}

TEST_CASE("autopilot: who left goes at once, a dead one late, and never half of them") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.member("b").status = MemberStatus::left;
  const auto gone = cluster.look();
  REQUIRE(gone);
  CHECK(gone->action == MemberAction::remove);

  cluster.member("b").status = MemberStatus::leaving;
  const auto going = cluster.look();
  REQUIRE(going);
  CHECK(going->action == MemberAction::remove);
  CHECK(going->id == "b");

  cluster.member("b").status = MemberStatus::failed;
  cluster.log.peers[0].silence = 1h;
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(9min));
  CHECK(cluster.look(2min));
  cluster.config.cleanup_dead_servers = false;
  CHECK_FALSE(cluster.look());
  cluster.config.cleanup_dead_servers = true;
  cluster.config.min_quorum = 3;
  CHECK_FALSE(cluster.look());
  cluster.config.min_quorum = 0;

  cluster.member("c").status = MemberStatus::failed;
  cluster.log.peers[1].silence = 1h;
  CHECK_FALSE(cluster.look(1h));
}

TEST_CASE("autopilot: a dead server that the table does not know goes late, too") {
  Cluster cluster{{"a", "b", "c"}};
  std::erase_if(cluster.members, [](const MemberInfo& member) { return member.id == "b"; });
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(1h));  // the log hears of it

  cluster.log.peers[0].silence = 1h;
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(9min));
  const auto gone = cluster.look(2min);
  REQUIRE(gone);
  CHECK(gone->action == MemberAction::remove);
  CHECK(gone->id == "b");

  // A leader that has just begun to look gives it its time.
  cluster.autopilot = Autopilot{};
  CHECK_FALSE(cluster.look(1h));

  // With half of them dead nobody goes, known or not.
  cluster.member("c").status = MemberStatus::failed;
  cluster.log.peers[1].silence = 1h;
  CHECK_FALSE(cluster.look(1h));
  std::erase_if(cluster.members, [](const MemberInfo& member) { return member.id == "c"; });
  CHECK_FALSE(cluster.look(1h));
}

TEST_CASE("autopilot: a place that is taken is freed when its holder is not there any more") {
  const auto change_when_c = [](auto&& alter) {
    Cluster cluster{{"a", "b", "c"}};
    cluster.appear("c2").rpc_address = "c:1";
    alter(cluster);
    return cluster.look();
  };
  const auto alive
      = change_when_c([](Cluster& cluster) { cluster.member("c").rpc_address = "c:9"; });
  REQUIRE(alive);
  CHECK(alive->action == MemberAction::move);  // it has moved, and is followed
  for (const bool known : {false, true}) {
    const auto gone = change_when_c([known](Cluster& cluster) {
      if (known)
        cluster.member("c").status = MemberStatus::failed;
      else
        std::erase_if(cluster.members, [](const MemberInfo& member) { return member.id == "c"; });
    });
    REQUIRE(gone);
    CHECK(gone->action == MemberAction::remove);
    CHECK(gone->id == "c");
  }
}

TEST_CASE("autopilot: a holder that will move has first to be followed") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.members.insert(cluster.members.begin(), cluster.member("c"));
  cluster.members.front().id = "0";  // looked at before the holder of its address
  cluster.member("c").rpc_address = "c:9";
  const auto change = cluster.look();
  REQUIRE(change);
  CHECK(change->action == MemberAction::move);
  CHECK(change->id == "c");
}

TEST_CASE("autopilot: health ends at its bounds") {
  const auto healthy = [](Autopilot::Time silence, raft::Index match) {
    Cluster cluster{{"a", "b", "c"}};
    cluster.log.peers[0].silence = silence;
    cluster.log.peers[0].match_index = match;
    cluster.look();
    return cluster.autopilot.health().healthy;
  };
  const AutopilotConfig config;
  CHECK(healthy(config.last_contact_threshold - 1ns, 1'000));
  CHECK_FALSE(healthy(config.last_contact_threshold, 1'000));
  CHECK(healthy(0s, 1'000 - config.max_trailing_logs));
  CHECK_FALSE(healthy(0s, 999 - config.max_trailing_logs));
}

TEST_CASE("autopilot: the leader is as near to itself as can be") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.look();
  const auto& rows = cluster.autopilot.health().servers;
  CHECK(rows[0].last_contact == 0s);
  CHECK(rows[0].leader);
  CHECK(rows[1].last_contact == 50ms);
}

TEST_CASE("autopilot: one that the log has not heard of is not healthy") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.log.peers.clear();
  cluster.log.last_index = 0;
  cluster.look();
  CHECK_FALSE(cluster.autopilot.health().servers[1].healthy);
}

TEST_CASE("autopilot: exactly a quorum that is healthy can lose nobody") {
  Cluster cluster{{"a", "b", "c", "d", "e"}};
  cluster.log.peers[0].silence = cluster.log.peers[1].silence = 1h;
  cluster.look();
  CHECK(cluster.autopilot.health().failure_tolerance == 0);
  cluster.log.peers[0].silence = 0s;
  cluster.look();
  CHECK(cluster.autopilot.health().failure_tolerance == 1);
}

TEST_CASE("autopilot: a server is dead for ten minutes to the moment before it goes") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.member("b").status = MemberStatus::failed;
  cluster.log.peers[0].silence = 1h;
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(dead_after - 1ns));
  CHECK(cluster.look(1ns));
}

TEST_CASE("autopilot: dead learners do not keep a dead voter in") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.add("d", false);
  for (const auto* id : {"b", "d"})
    cluster.member(id).status = MemberStatus::failed;
  for (auto& peer : cluster.log.peers)
    if (peer.id != "c") peer.silence = 1h;
  CHECK_FALSE(cluster.look());
  const auto gone = cluster.look(dead_after);
  REQUIRE(gone);
  CHECK(gone->id == "b");
}

TEST_CASE("autopilot: half of the voters dead is too many, of four two") {
  Cluster cluster{{"a", "b", "c", "d"}};
  for (const auto* id : {"b", "c"})
    cluster.member(id).status = MemberStatus::failed;
  cluster.log.peers[0].silence = cluster.log.peers[1].silence = 1h;
  CHECK_FALSE(cluster.look());
  CHECK_FALSE(cluster.look(dead_after));
}

TEST_CASE("autopilot: a dead learner goes though half of the voters are dead") {
  Cluster cluster{{"a", "b", "c", "d"}};
  cluster.log.configuration.members[1].voter = false;
  for (const auto* id : {"b", "c", "d"})
    cluster.member(id).status = MemberStatus::failed;
  for (auto& peer : cluster.log.peers)
    peer.silence = 1h;
  CHECK_FALSE(cluster.look());
  const auto gone = cluster.look(dead_after);
  REQUIRE(gone);
  CHECK(gone->id == "b");
}

TEST_CASE("autopilot: as many voters stay as are wanted at least") {
  Cluster cluster{{"a", "b", "c"}};
  cluster.member("b").status = MemberStatus::left;
  cluster.config.min_quorum = 3;
  CHECK_FALSE(cluster.look());
  cluster.config.min_quorum = 2;
  CHECK(cluster.look());
}
