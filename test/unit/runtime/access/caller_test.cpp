#include "runtime/access/caller.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

TEST_CASE("caller: logs name him by what is proven of him, by what he is himself first") {
  Caller caller{.remote = "10.0.0.7:41234"};
  CHECK(caller.describe() == "anonymous:10.0.0.7:41234");
  caller.peer = PeerIdentity{.role = AgentRole::client, .region = "global"};
  CHECK(caller.describe() == "anonymous:10.0.0.7:41234");  // an agent of a node is none by itself
  caller.peer->role = AgentRole::server;
  CHECK(caller.describe() == "server:10.0.0.7:41234");
  caller.token = TokenIdentity{.secret = {}};
  CHECK(caller.describe() == "token of 10.0.0.7:41234");
  caller.workload
      = WorkloadIdentity{.ns = "default", .job_id = "web", .alloc_id = "a1", .task = {}};
  CHECK(caller.describe() == "alloc:a1");
  caller.node = NodeIdentity{.id = "n1"};
  CHECK(caller.describe() == "client:n1");
}

TEST_CASE("caller: he is a server by his certificate alone, and of its region alone") {
  Caller caller;
  CHECK_FALSE(caller.is_server());
  CHECK_FALSE(caller.is_server_of("global"));
  caller.peer = PeerIdentity{.role = AgentRole::client, .region = "global"};
  CHECK_FALSE(caller.is_server());
  CHECK_FALSE(caller.is_server_of("global"));
  caller.peer->role = AgentRole::server;
  CHECK(caller.is_server());
  CHECK(caller.is_server_of("global"));
  CHECK_FALSE(caller.is_server_of("other"));
  CHECK_FALSE(caller.is_server_of(""));

  Caller behind_a_server;  // a user's request that a server has passed on
  behind_a_server.passed_on_by = PeerIdentity{.role = AgentRole::server, .region = "global"};
  CHECK_FALSE(behind_a_server.is_server());
}

TEST_CASE("caller: he is a node by its secret alone") {
  Caller caller;
  CHECK_FALSE(caller.is_node("n1"));
  CHECK_FALSE(caller.is_node(""));
  caller.node = NodeIdentity{.id = "n1"};
  CHECK(caller.is_node("n1"));
  CHECK_FALSE(caller.is_node("n2"));
}

TEST_CASE("caller: who has shown nothing is anonymous") {
  CHECK(Caller{}.is_anonymous());
  Caller agent;
  agent.peer = PeerIdentity{.role = AgentRole::client, .region = "global"};
  CHECK(agent.is_anonymous());
  agent.peer->role = AgentRole::server;
  CHECK_FALSE(agent.is_anonymous());
  Caller node, user, task;
  node.node = NodeIdentity{.id = "n1"};
  user.token = TokenIdentity{.secret = {}};
  task.workload = WorkloadIdentity{.ns = "default", .job_id = "web", .alloc_id = "a1", .task = "t"};
  for (const auto* each : {&node, &user, &task})
    CHECK_FALSE(each->is_anonymous());
}
