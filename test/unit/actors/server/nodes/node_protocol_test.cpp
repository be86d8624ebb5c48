// The protocol by which a node that was away becomes ready again: registering never changes its
// status, heartbeats lead it through `initializing`, and only a report of its allocations makes it
// ready. The table says what comes of register, heartbeat and report in every order, from every
// state that a node can be in.
#include <array>

#include "node_fixture.hpp"
#include "runtime/base/clock.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// One row: in which state the node is, what its client sends, and what becomes of each.
/// r: Node.Register, h: Node.UpdateStatus, u: Node.UpdateAlloc. After each, how it was answered
/// ('+' accepted, '-' refused) and the node's status then: none, init, ready, down or disc.
struct Row {
  const char* start;
  const char* order;
  std::array<const char*, 3> outcome;
};

// What differs from Nomad 1.6: its nodes go from down to ready by one heartbeat, reported or not.
constexpr Row table[] = {
    // Never seen: only a registration makes it known.
    {"unknown", "rhu", {"+init", "+ready", "+ready"}},
    {"unknown", "ruh", {"+init", "+init", "+ready"}},
    {"unknown", "hru", {"-none", "+init", "+init"}},
    {"unknown", "hur", {"-none", "-none", "+init"}},
    {"unknown", "urh", {"-none", "+init", "+ready"}},
    {"unknown", "uhr", {"-none", "-none", "+init"}},
    // Registered, has never sent a heartbeat.
    {"new", "rhu", {"+init", "+ready", "+ready"}},
    {"new", "ruh", {"+init", "+init", "+ready"}},
    {"new", "hru", {"+ready", "+ready", "+ready"}},
    {"new", "hur", {"+ready", "+ready", "+ready"}},
    {"new", "urh", {"+init", "+init", "+ready"}},
    {"new", "uhr", {"+init", "+ready", "+ready"}},
    {"ready", "rhu", {"+ready", "+ready", "+ready"}},
    {"ready", "ruh", {"+ready", "+ready", "+ready"}},
    {"ready", "hru", {"+ready", "+ready", "+ready"}},
    {"ready", "hur", {"+ready", "+ready", "+ready"}},
    {"ready", "urh", {"+ready", "+ready", "+ready"}},
    {"ready", "uhr", {"+ready", "+ready", "+ready"}},
    // Missed its heartbeats; its allocations are given up.
    {"down", "rhu", {"+down", "+init", "+init"}},
    {"down", "ruh", {"+down", "-down", "+init"}},
    {"down", "hru", {"+init", "+init", "+init"}},
    {"down", "hur", {"+init", "+init", "+init"}},
    {"down", "urh", {"-down", "+down", "+init"}},
    {"down", "uhr", {"-down", "+init", "+init"}},
    // Missed them too, but its allocations may outlive that.
    {"disconnected", "rhu", {"+disc", "+init", "+init"}},
    {"disconnected", "ruh", {"+disc", "-disc", "+init"}},
    {"disconnected", "hru", {"+init", "+init", "+init"}},
    {"disconnected", "hur", {"+init", "+init", "+init"}},
    {"disconnected", "urh", {"-disc", "+disc", "+init"}},
    {"disconnected", "uhr", {"-disc", "+init", "+init"}},
    // Back, but it has not said what became of its allocations.
    {"owing", "rhu", {"+init", "+init", "+init"}},
    {"owing", "ruh", {"+init", "+init", "+ready"}},
    {"owing", "hru", {"+init", "+init", "+init"}},
    {"owing", "hur", {"+init", "+init", "+init"}},
    {"owing", "urh", {"+init", "+init", "+ready"}},
    {"owing", "uhr", {"+init", "+ready", "+ready"}},
    // Back, and it has said so.
    {"reported", "rhu", {"+init", "+ready", "+ready"}},
    {"reported", "ruh", {"+init", "+init", "+ready"}},
    {"reported", "hru", {"+ready", "+ready", "+ready"}},
    {"reported", "hur", {"+ready", "+ready", "+ready"}},
    {"reported", "urh", {"+init", "+init", "+ready"}},
    {"reported", "uhr", {"+init", "+ready", "+ready"}},
};

/// A node with one allocation, whose group may outlive an absence of its client or may not.
struct ProtocolFixture : NodeFixture {
  std::string alloc;

  void register_web(bool may_disconnect) {
    Draft<schema::Job> job{make_job("web", 1)};
    if (may_disconnect)
      job->getTaskGroups()[0].getMaxClientDisconnect().setValue(3'600'000'000'000);
    register_job(job.freeze());
  }

  /// Every lease runs out.
  void miss() {
    advance(60s);
    commit();
  }

  /// Whether the servers accepted it.
  bool send(char what) {
    switch (what) {
      case 'r':
        return register_node().has_value();
      case 'h':
        return beat().has_value();
      case 'u': {
        const auto answer = report(alloc, schema::ClientStatus::RUNNING);
        commit();
        REQUIRE(answer->has_value());
        return (*answer)->has_value();
      }
      default:
        FAIL("no such request");
        return false;
    }
  }

  void bring_to(std::string_view start) {
    register_web(start == "disconnected");
    alloc = place();
    if (start == "unknown") return;
    REQUIRE(send('r'));
    if (start == "new") return;
    REQUIRE(send('h'));
    REQUIRE(send('u'));
    REQUIRE(status() == NodeStatus::READY);
    if (start == "ready") return;
    miss();
    REQUIRE(status_name() == (start == "disconnected" ? "disc" : "down"));
    if (start == "down" || start == "disconnected") return;
    REQUIRE(send('h'));
    if (start == "reported") REQUIRE(send('u'));
    REQUIRE(status() == NodeStatus::INITIALIZING);
  }

  std::string status_name() const {
    const auto node = state().node(id);
    if (!node) return "none";
    switch (node->getStatus()) {
      case NodeStatus::INITIALIZING:
        return "init";
      case NodeStatus::READY:
        return "ready";
      case NodeStatus::DOWN:
        return "down";
      case NodeStatus::DISCONNECTED:
        return "disc";
    }
    return "";
  }
};

}  // namespace

TEST_CASE("node protocol: register, heartbeat and report in every order from every state") {
  for (const auto& row : table) {
    ProtocolFixture node;
    node.bring_to(row.start);
    for (std::size_t i = 0; i < 3; ++i) {
      const bool accepted = node.send(row.order[i]);
      const auto outcome = (accepted ? "+" : "-") + node.status_name();
      CHECK_MESSAGE(outcome == row.outcome[i], row.start, " ", row.order, ", step ", i);
    }
  }
}

TEST_CASE("node protocol: whatever the order, a node is ready only when it has reported") {
  // Every sequence of five from a ready node, with absences in between.
  constexpr std::string_view moves = "rhum";
  for (unsigned number = 0; number < 4 * 4 * 4 * 4 * 4; ++number) {
    ProtocolFixture node;
    node.bring_to("ready");
    bool is_given_up = false, owes = false;
    std::string sequence;
    for (unsigned rest = number, i = 0; i < 5; ++i, rest /= 4) {
      const char move = moves[rest % 4];
      sequence += move;
      const auto before = node.status_name();
      if (move == 'm') {
        node.miss();
        is_given_up = owes = true;
        CHECK_MESSAGE(node.status_name() == "down", sequence);
        continue;
      }
      const bool accepted = node.send(move);
      CHECK_MESSAGE(accepted == (move != 'u' || !is_given_up), sequence);
      if (move == 'r') CHECK_MESSAGE(node.status_name() == before, sequence);
      if (move == 'h') {
        const bool ready = !is_given_up && !owes;
        CHECK_MESSAGE(node.status_name() == (ready ? "ready" : "init"), sequence);
        is_given_up = false;
      }
      if (move == 'u' && accepted) owes = false;
      CHECK_MESSAGE((node.status_name() != "ready" || !owes), sequence);
    }
  }
}

TEST_CASE_FIXTURE(
    ProtocolFixture,
    "node protocol: a report that waited while the node went down counts for nothing") {
  bring_to("ready");
  write([&](schema::Command::Builder command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId(text(id));
    update.setStatus(NodeStatus::DOWN);
  });
  write([&](schema::Command::Builder command) {
    auto report = command.initAllocClientUpdate().initAllocations(1)[0];
    report.setId(text(alloc));
    report.setNodeId(text(id));
    report.setClientStatus(schema::ClientStatus::FAILED);
  });

  CHECK(state().alloc(alloc)->alloc->client_status() == schema::ClientStatus::RUNNING);
  REQUIRE(send('h'));
  REQUIRE(send('h'));
  CHECK(status() == NodeStatus::INITIALIZING);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: heartbeats that cross each other are one step each") {
  bring_to("down");

  const auto first = ask<door::Reply>(tracker, heartbeat_of(id));
  const auto second = ask<door::Reply>(tracker, heartbeat_of(id));
  const auto third = ask<door::Reply>(tracker, heartbeat_of(id));
  commit();

  CHECK(status() == NodeStatus::INITIALIZING);
  REQUIRE(third->has_value());
  CHECK(lease_in(***third).awaits_reports);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: what the servers gave up is to be reported as well") {
  bring_to("down");
  write([&](schema::Command::Builder command) {
    auto stopped = command.initPlanResults().initPlans(1)[0].initStopped(1)[0];
    stopped.setId(text(alloc));
    stopped.setClientStatus(schema::ClientStatus::LOST);
  });

  REQUIRE(send('h'));
  REQUIRE(send('h'));
  CHECK(status() == NodeStatus::INITIALIZING);  // its client may run it still
  REQUIRE(send('u'));
  REQUIRE(send('h'));
  CHECK(status() == NodeStatus::READY);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: a heartbeat that crosses the end of its lease is not lost") {
  bring_to("ready");

  advance(60s);  // it is being written that the node is down
  const auto lease = ask<door::Reply>(tracker, heartbeat_of(id));
  commit();

  CHECK(status() == NodeStatus::INITIALIZING);
  REQUIRE(lease->has_value());
  CHECK(lease_in(***lease).awaits_reports);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: the first allocation names the node that reports") {
  bring_to("ready");
  const auto running = schema::ClientStatus::RUNNING;
  const auto send_reports
      = [&](const std::string& claimed, const std::vector<Object<schema::Allocation>>& reports) {
          const auto answer = ask<door::Reply>(endpoint, update_allocs(claimed, reports));
          commit();
          REQUIRE(answer->has_value());
          return **answer;
        };
  const auto other = add_node();

  CHECK(send_reports(id, {}).error().what == "must update at least one allocation");
  CHECK(send_reports("", {make_report(alloc, "", running)}).error().what == "missing node ID");
  CHECK(send_reports(other, {make_report(alloc, id, running)}).has_error());
  CHECK(send_reports("", {make_report(alloc, id, schema::ClientStatus::COMPLETE)}).has_value());
  CHECK(state().alloc(alloc)->alloc->client_status() == schema::ClientStatus::COMPLETE);
  // Another node has no say in it, whatever it calls itself.
  CHECK(send_reports("", {make_report(alloc, other, running)}).has_value());
  CHECK(state().alloc(alloc)->alloc->client_status() == schema::ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: an id that is used again with another secret is refused") {
  bring_to("ready");

  const auto answer = register_node("another");
  REQUIRE(answer.has_error());
  CHECK(answer.error().what == "node secret ID does not match. Not registering node.");
  CHECK(view(state().node(id)->getSecretId()) == "secret");

  // Two that register at the same time: the second one is refused where entries are applied.
  id = make_uuid(random);
  const auto mine = ask<door::Reply>(tracker, registration(node("mine")));
  const auto yours = ask<door::Reply>(tracker, registration(node("yours")));
  commit();
  REQUIRE(mine->has_value());
  REQUIRE(yours->has_value());
  CHECK((*mine)->has_value());
  CHECK((*yours)->has_error());
  CHECK(view(state().node(id)->getSecretId()) == "mine");
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: a disconnected node goes down when its time is over") {
  bring_to("disconnected");
  const auto mark_unknown = [this](std::int64_t since) {
    write([&](schema::Command::Builder command) {
      const auto stored = state().alloc(alloc)->alloc;
      auto plan = command.initPlanResults().initPlans(1)[0];
      Draft<schema::Allocation> draft{stored};
      draft->setClientStatus(schema::ClientStatus::UNKNOWN);
      auto known = draft->initAllocStates(1)[0];
      known.setField("client_status");
      known.setValue("unknown");
      known.setTime(since);
      plan.initPlaced(1).setWithCaveats(0, draft.reader());
    });
  };

  mark_unknown(unix_now());
  miss();
  CHECK(status() == NodeStatus::DISCONNECTED);
  mark_unknown(unix_now() - 3'600'000'000'000);
  miss();
  CHECK(status() == NodeStatus::DOWN);
}

TEST_CASE_FIXTURE(ProtocolFixture,
                  "node protocol: a new leader watches disconnected nodes as well") {
  bring_to("disconnected");
  tell(tracker, Lead{false});
  tell(tracker, Lead{true});
  settle();

  const auto count = ask<heartbeat::Count>(tracker, heartbeat::GetCount{});
  REQUIRE(count->has_value());
  CHECK((**count)->leases == 1);
}
