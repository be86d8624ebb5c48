// The volume endpoint: claims of nodes, and volumes that are given back.
#include "actors/server/volumes/volume_endpoint.hpp"

#include <functional>

#include "test/support/door.hpp"
#include "test/unit/actors/server/server_fixture.hpp"
#include "test/unit/runtime/state/volumes/volume_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;

namespace {

struct Nodes {
  std::vector<std::string> asked;
  std::function<Result<door::NodeReply>(const door::NodeAsk&)> say;
  std::vector<actor::Promise<door::NodeReply>> held;
  bool holds = false;
};

struct Nameless {
  static constexpr const char* name = "played_nodes";
};

AskedNode::behavior_type play_nodes(AskedNode::stateful_pointer<Nameless> self,
                                    std::shared_ptr<Nodes> played) {
  return {[self, played](const door::NodeAsk& ask) -> actor::Answer<door::NodeReply> {
    const auto kind = ask->isCsiNode()                     ? "node detach"
                      : ask->getCsiController().isAttach() ? "attach"
                                                           : "detach";
    played->asked.push_back(kind + (" " + ask.subject()));
    if (played->holds) {
      played->held.push_back(self->make_response_promise<door::NodeReply>());
      return played->held.back();
    }
    auto said = played->say(ask);
    for (auto& one : std::exchange(played->held, {}))
      if (said) one.deliver(*said);
    if (!said) return said.error();
    return *std::move(said);
  }};
}

struct Endpoint : test::ServerFixture {
  std::shared_ptr<Nodes> played = std::make_shared<Nodes>();
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  actor::Latest<AskedNode> nodes;
  VolumeEndpoint endpoint;

  Endpoint() {
    lease->set(raft::LeaderLease::unlimited);
    played->say = [](const door::NodeAsk& ask) -> Result<door::NodeReply> {
      return door::make_node_reply([&](auto& reply) {
        if (ask->isCsiNode()) return static_cast<void>(reply.initCsiNode());
        auto result = reply.initCsiController();
        if (!ask->getCsiController().isAttach()) return result.setDone();
        auto context = result.initPublishContext(1);
        context[0].setKey("device");
        context[0].setValue("/dev/x");
      });
    };
    nodes.set(adopt(actor::spawn(actor::Owner{system()}, play_nodes, played)));
    endpoint = adopt(spawn_volume_endpoint(
        actor::Owner{system()},
        {.store = store, .proposer = proposer, .lease = lease, .keyring = {}, .nodes = nodes}));
    write([](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      fill_node(node, "node");
      auto plugin = node.initCsiNodePlugins(1)[0];
      plugin.setKey("p");
      plugin.initValue().setHealthy(true);
      plugin.getValue().initNodeInfo().setId("ext-node");
      auto controller = node.initCsiControllerPlugins(1)[0];
      controller.setKey("p");
      controller.initValue().setHealthy(true);
      controller.getValue().setRequiresControllerPlugin(true);
      controller.getValue().initControllerInfo().setSupportsAttachDetach(true);
    });
    write([](schema::Command::Builder command) {
      test::fill(command.initCsiVolumeRegister().initVolume(), test::VolumeSpec{});
    });
    Draft<schema::Job> job{make_job("web", 1)};
    auto volume = job->getTaskGroups()[0].initVolumes(1)[0];
    volume.setKey("disk");
    volume.initValue().setType("csi");
    volume.getValue().setSource("data");
    write(
        [&](schema::Command::Builder command) { command.initJobRegister().setJob(job.reader()); });
    write([&](schema::Command::Builder command) {
      auto alloc = command.initPlanResults().initPlans(1)[0].initPlaced(1)[0];
      alloc.setId("alloc");
      alloc.setNamespace("default");
      alloc.setJobId("web");
      alloc.setNodeId("node");
      alloc.setName("web.api[0]");
      const auto stored = state().job("default", "web");
      alloc.setTaskGroup(stored->getTaskGroups()[0].getName());
      alloc.setJobVersion(stored->getVersion());
      alloc.setJobCreateIndex(stored->getCreateIndex());
    });
    tell(endpoint, Lead{true});
    commit();
  }

  auto ask_claim() {
    return ask<door::Reply>(endpoint, door::make_ask("node", [](auto& ask) {
                              auto claim = ask.initClaimVolume();
                              claim.setAllocId("alloc");
                              claim.setVolumeId("data");
                              claim.setMode(schema::CsiClaimMode::WRITE);
                              claim.setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
                              claim.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
                            }));
  }

  auto unpublish(bool detached) {
    return ask<door::Reply>(endpoint, door::make_ask("node", [&](auto& ask) {
                              auto told = ask.initUnpublishVolume();
                              told.setAllocId("alloc");
                              told.setVolumeId("data");
                              told.setNamespace("default");
                              told.setDetached(detached);
                            }));
  }

  unsigned claims() const { return state().csi_volume("default", "data")->getClaims().size(); }

  void pass(std::chrono::nanoseconds time) {
    advance(time);
    commit();
  }

  std::size_t count(const std::string& asked) const {
    return static_cast<std::size_t>(std::count(played->asked.begin(), played->asked.end(), asked));
  }
};

std::string error_of(const std::optional<Result<door::Reply>>& answer) {
  REQUIRE(answer.has_value());
  return *answer ? "" : answer->error().what;
}

}  // namespace

TEST_CASE_FIXTURE(Endpoint, "volume endpoint: a claim is in the log, then attached, then told") {
  const auto answer = ask_claim();
  commit();
  REQUIRE(answer->has_value());
  REQUIRE((*answer)->has_value());
  CHECK(claims() == 1);
  CHECK(played->asked == std::vector<std::string>{"attach node"});
  const auto& reply = ***answer;
  CHECK(find_text(reply->getClaimedVolume().getPublishContext(), "device") == "/dev/x");
  const auto volumes = door::objects_of<schema::CsiVolume>(reply.rows);
  REQUIRE(volumes.has_value());
  CHECK(view(volumes->front()->getPluginId()) == "p");
  CHECK_FALSE(reply.secret);

  const auto again = ask_claim();
  commit();
  CHECK(error_of(*again).empty());
  CHECK(claims() == 1);
}

TEST_CASE_FIXTURE(Endpoint,
                  "volume endpoint: what cannot be attached is not told, and stays claimed") {
  played->say = [](const door::NodeAsk&) -> Result<door::NodeReply> {
    return Error{Errc::conflict, "busy"};
  };
  const auto answer = ask_claim();
  commit();
  CHECK(error_of(*answer) == "controller publish: busy");
  CHECK(claims() == 1);
  const auto other = ask<door::Reply>(endpoint, test::heartbeat_of("node"));
  CHECK(error_of(*other) == "this server does not know the question");
}

TEST_CASE_FIXTURE(Endpoint, "volume endpoint: a claim that was given back meanwhile is not told") {
  played->holds = true;
  const auto answer = ask_claim();
  commit();
  CHECK_FALSE(answer->has_value());
  const auto done = unpublish(true);
  commit();
  CHECK(error_of(*done).empty());
  played->holds = false;
  const auto attached = ask<door::NodeReply>(
      nodes.get(), door::make_node_ask("node", access::Principal::cluster("test"),
                                       [](auto& ask) { ask.initCsiController().initAttach(); }));
  commit();
  CHECK(error_of(*answer) == "the claim was given back while the volume was attached");
}

TEST_CASE_FIXTURE(Endpoint, "volume endpoint: what a node has let go is detached and free") {
  ask_claim();
  commit();
  const auto done = unpublish(true);
  commit();
  pass(1s);
  CHECK(error_of(*done).empty());
  CHECK(count("node detach node") == 0);
  CHECK(count("detach node") == 1);
  CHECK(claims() == 0);
  CHECK(error_of(*unpublish(true)).empty());  // once more
}

TEST_CASE_FIXTURE(Endpoint,
                  "volume endpoint: of an allocation that ended without a word all is given back") {
  ask_claim();
  commit();
  write([](schema::Command::Builder command) {
    auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
    alloc.setId("alloc");
    alloc.setClientStatus(schema::ClientStatus::FAILED);
  });
  tell(endpoint, VolumesChanged{});
  pass(5s);
  CHECK(claims() == 1);
  pass(10s);
  for (int i = 0; i < 3; ++i)
    pass(1s);
  CHECK(count("node detach node") == 1);
  CHECK(count("detach node") == 1);
  CHECK(claims() == 0);
}

TEST_CASE_FIXTURE(
    Endpoint, "volume endpoint: what fails is asked again with pauses, for as long as it takes") {
  ask_claim();
  commit();
  auto well = std::exchange(played->say, [](const door::NodeAsk&) -> Result<door::NodeReply> {
    return Error{Errc::not_found, "No path to node"};
  });
  unpublish(false);
  commit();
  for (int i = 0; i < 60; ++i)
    pass(1s);
  CHECK(claims() == 1);
  CHECK(count("node detach node") >= 5);
  CHECK(count("node detach node") <= 8);
  played->say = well;
  for (int i = 0; i < 70; ++i)
    pass(1s);
  CHECK(claims() == 0);
}

TEST_CASE_FIXTURE(Endpoint, "volume endpoint: who does not lead gives nothing back") {
  ask_claim();
  commit();
  tell(endpoint, Lead{false});
  unpublish(true);
  commit();
  pass(30s);
  CHECK(claims() == 1);
  tell(endpoint, Lead{true});
  pass(1s);
  pass(1s);
  CHECK(claims() == 0);
}

TEST_CASE_FIXTURE(Endpoint, "volume endpoint: calls of a plugin that hangs are bounded") {
  played->holds = true;
  for (int i = 0; i < 1'000; ++i)
    ask_claim();
  commit();
  const auto answer = ask_claim();
  commit();
  CHECK(error_of(*answer) == "controller publish: too many calls of CSI plugins are waiting");
  CHECK(count("attach node") == 1);
}
