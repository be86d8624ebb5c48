// NodeFixture: the servers' side of one client node, on one thread under a virtual clock.
#pragma once

#include "actors/server/nodes/node_endpoint.hpp"
#include "test/support/door.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

namespace nomad::test {

using namespace nomad::server;
using namespace std::chrono_literals;
using schema::NodeStatus;

struct NodeFixture : ServerFixture {
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  NodeDoor endpoint = adopt(spawn_node_endpoint(system(), store, proposer, lease, 3));
  std::shared_ptr<telemetry::Registry> metrics
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  HeartbeatTracker tracker = adopt(
      spawn_heartbeat_tracker(system(),
                              store,
                              proposer,
                              {.leases = {}, .metrics = telemetry::ServerMetrics::make(metrics)}));
  std::string id = make_uuid(random);

  NodeFixture() {
    lease->set(raft::LeaderLease::unlimited);
    tell(tracker, Lead{true});
  }

  Object<schema::Node> node(const char* secret = "secret") {
    Draft<schema::Node> draft;
    fill_node(*draft, id);
    draft->setSecretId(secret);
    draft->setComputedClass("");
    return draft.freeze();
  }

  using DoorAnswer = Answer<door::Reply>;

  Result<Lease> register_node(const char* secret = "secret") {
    return lease_of(ask<door::Reply>(tracker, registration(node(secret))));
  }

  Result<Lease> beat() { return lease_of(ask<door::Reply>(tracker, heartbeat_of(id))); }

  Result<Lease> lease_of(const DoorAnswer& answer) {
    commit();
    REQUIRE(answer->has_value());
    if (!**answer) return (**answer).error();
    return lease_in(***answer);
  }

  NodeStatus status() const { return state().node(id)->getStatus(); }

  DoorAnswer watch(std::uint64_t min_index) {
    return ask<door::Reply>(endpoint, watch_allocs(id, min_index));
  }

  static AssignedAllocs told(const DoorAnswer& answer) { return allocs_in(***answer); }

  DoorAnswer report(const std::string& alloc, schema::ClientStatus status) {
    return ask<door::Reply>(endpoint, update_allocs(id, {make_report(alloc, id, status)}));
  }

  static Object<schema::Allocation> make_report(const std::string& alloc,
                                                const std::string& node_id,
                                                schema::ClientStatus status) {
    Draft<schema::Allocation> draft;
    draft->setId(text(alloc));
    draft->setNodeId(text(node_id));
    draft->setClientStatus(status);
    draft->setModifyTime(1);
    return draft.freeze();
  }

  /// Puts an allocation of job "web" on the node, past the schedulers.
  std::string place(std::uint64_t number = 0, const std::string& previous = {}) {
    const auto alloc_id = make_uuid(random);
    const auto job = state().job("default", "web");
    write([&](schema::Command::Builder command) {
      auto alloc = command.initPlanResults().initPlans(1)[0].initPlaced(1)[0];
      alloc.setId(text(alloc_id));
      alloc.setNamespace("default");
      alloc.setName(text("web.api[" + std::to_string(number) + "]"));
      alloc.setNodeId(text(id));
      alloc.setJobId("web");
      alloc.setJobVersion(job->getVersion());
      alloc.setJobCreateIndex(job->getCreateIndex());
      alloc.setTaskGroup("api");
      alloc.setPreviousAllocation(text(previous));
    });
    return alloc_id;
  }
};

}  // namespace nomad::test
