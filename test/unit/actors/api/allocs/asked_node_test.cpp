// What a server asks of a node elsewhere, and what it passes on to one of an earlier release.
#include <doctest/doctest.h>

#include "actors/api/http/routes.hpp"
#include "actors/core/supervise.hpp"
#include "actors/roles/node_replies.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;
namespace transport = nomad::rpc::transport;

namespace {

/// The node's connection.
struct FarNode {
  transport::Reply reply;  ///< To what it is asked.
  std::atomic<int> asked{0};
  std::atomic<int> relayed{0};  ///< Requests that were passed on to it.
};

struct FarNodeState {
  static constexpr const char* name = "far_node";
};

rpc::Transport::behavior_type play_far_node(rpc::Transport::stateful_pointer<FarNodeState>,
                                            std::shared_ptr<FarNode> node) {
  return {
      [](const transport::Call&) { return transport::Reply{}; },
      [node](const transport::CallNode& msg) {
        CHECK(msg.call.method == rpc::Method::node_question);
        ++node->asked;
        return node->reply;
      },
      [node](const transport::OpenStream& msg) {
        CHECK(msg.call.method == rpc::Method::api_on_node);
        ++node->relayed;
        msg.done({Error{Errc::rejected, "passed on"}, transport::Delivery::answered});
        return transport::Opened{std::make_shared<SilentStream>(), [] {}};
      },
      [](const transport::Post&) {},
      [](const transport::HasNode&) { return transport::NodeConnected{true}; },
      [](const transport::NoteNode&) {},
  };
}

/// A server that knows the node, and leads.
struct Server {
  explicit Server(transport::Reply reply) {
    node->reply = std::move(reply);
    fixture.emplace([this](ApiOptions& made) {
      auto& view = made.peers.view.emplace();
      view.region = made.agent.region;
      view.leader_address = [] { return rpc::LeaderAddress{.is_self = true, .rpc_address = {}}; };
      view.servers_in = [](const std::string&) { return std::vector<std::string>{}; };
      made.peers.transport = wire;
      made.peers.nodes = asker = rpc::spawn_node_caller(system, wire, view, "", {});
      options = made;
    });
    fixture->state().register_node({.id = uuid(7)});
    context = std::make_shared<Context>(system, options);
  }

  ~Server() {
    context->stop();
    actor::stop(asker);
    actor::stop(wire);
  }

  net::Response get(const std::string& target) {
    const auto exchange = std::make_shared<SilentClient>();
    exchange->request.method = "GET";
    exchange->request.target = target;
    exchange->request.path = target.substr(0, target.find('?'));
    exchange->request.query = {{"node_id", uuid(7)}};
    net::serve(all_routes(context, options), net::Responder{exchange});
    REQUIRE(test::eventually([&] { return exchange->answer().has_value(); }));
    return *exchange->answer();
  }

  std::shared_ptr<FarNode> node = std::make_shared<FarNode>();
  actor::SystemConfig config;
  actor::System system{config};
  rpc::Transport wire = actor::spawn(system, play_far_node, node);
  rpc::NodeCaller asker;
  ApiOptions options;
  std::optional<ApiFixture> fixture;
  std::shared_ptr<Context> context;
};

transport::Reply says(const door::NodeReply& answer) {
  return {door::pack(answer), transport::Delivery::answered};
}

}  // namespace

TEST_CASE("asked node: a question goes to a node elsewhere, and its answer is made here") {
  Server server{says(door::make_node_reply([](auto& reply) { reply.initMeta(); }))};

  const auto answer = server.get("/v1/client/metadata?node_id=" + uuid(7));

  CHECK(answer.status == 200);
  CHECK(answer.body == R"({"Dynamic":{},"Meta":{},"Static":{}})");
  CHECK(server.node->asked == 1);
  CHECK(server.node->relayed == 0);
}

TEST_CASE("asked node: usage and checks come by the door, too") {
  client::client_api::AllocUsage usage;
  usage.tasks.emplace_back("web", host::TaskUsage{.memory = {}, .cpu = {}, .timestamp = 7});
  Server server{says(client::usage_reply(usage))};
  server.fixture->state().register_job({.id = "web"});
  server.fixture->state().place({{.id = uuid(9), .node = uuid(7)}});

  const auto of_alloc = server.get("/v1/client/allocation/" + uuid(9) + "/stats");
  CHECK(of_alloc.status == 200);
  CHECK(of_alloc.body.ends_with(R"("Timestamp":7}},"Timestamp":7})"));
  server.node->reply = says(client::checks_reply({{{.id = "c1", .status = "pending"}}}));
  CHECK(server.get("/v1/client/allocation/" + uuid(9) + "/checks").body.starts_with(R"({"c1":{)"));
  server.node->reply = says(client::usage_reply(host::HostUsage{.uptime_seconds = 5}));
  CHECK(server.get("/v1/client/stats").body.ends_with(R"("Timestamp":0,"Uptime":5})"));

  CHECK(server.node->asked == 3);
  CHECK(server.node->relayed == 0);
}

TEST_CASE("asked node: what the node refuses is the answer") {
  Server server{
      {Error{Errc::permission_denied, "Permission denied"}, transport::Delivery::answered}};

  CHECK(server.get("/v1/client/gc?node_id=" + uuid(7)).status == 403);
  CHECK(server.node->relayed == 0);
}

TEST_CASE("asked node: one that does not know the question gets the request itself") {
  Server server{
      {Error{Errc::not_found, "rpc: can't find method 42"}, transport::Delivery::answered}};

  CHECK(server.get("/v1/client/gc?node_id=" + uuid(7)).body == "passed on");
  CHECK(server.node->asked == 1);
  CHECK(server.node->relayed == 1);
}
