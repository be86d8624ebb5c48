// Questions of servers to nodes: by reference within a process, over the node's connection, or by
// way of the server that has that; and what serves them.
#include "actors/rpc/node_caller.hpp"

#include <deque>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "schema/rpc.capnp.h"
#include "test/support/actor_fixture.hpp"
#include "test/support/node_questions.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::rpc;
using transport::Call;
using transport::Delivery;
using transport::Reply;

namespace {

const Reply broken{Error{Errc::unavailable, "the connection broke"}, Delivery::maybe};
const Reply unsent{Error{Errc::unavailable, "no connection"}, Delivery::surely_not};

Reply says(const door::NodeReply& answer) {
  return {door::pack(answer), Delivery::answered};
}

door::NodeReply some_meta() {
  return door::make_node_reply([](auto& reply) { reply.initMeta(); });
}

/// Who has node "n", and what becomes of the questions that go out.
struct Net {
  bool has_node = false;           ///< This server.
  std::string other;               ///< The address of the one that has it.
  std::deque<Reply> replies;       ///< Of the node.
  std::vector<std::string> asked;  ///< Of servers, whether they have it.
  std::vector<Call> over_own;      ///< Over the node's own connection.
  std::vector<Call> over_other;    ///< By way of another server.

  Reply next() {
    if (replies.empty()) return says(door::node_done());
    auto reply = replies.front();
    replies.pop_front();
    return reply;
  }
};

Transport play_net(actor::System& system, std::shared_ptr<Net> net) {
  return actor::spawn(system, [net](Transport::pointer) -> Transport::behavior_type {
    return {
        [net](const Call& call) -> Reply {
          if (call.method != Method::server_has_node) {
            net->over_other.push_back(call);
            return net->next();
          }
          net->asked.push_back(call.to.address);
          return {make_body<schema::rpc::HasNodeReply>(
                      [&](auto& reply) { reply.setConnected(call.to.address == net->other); }),
                  Delivery::answered};
        },
        [net](const transport::CallNode& msg) {
          net->over_own.push_back(msg.call);
          return net->next();
        },
        [](const transport::OpenStream&) { return transport::Opened{}; },
        [](const transport::Post&) {},
        [net](const transport::HasNode&) { return transport::NodeConnected{net->has_node}; },
        [](const transport::NoteNode&) {},
    };
  });
}

/// A client node that says that it is done, and keeps what it was asked.
AskedNode play_node(actor::System& system, std::shared_ptr<std::vector<door::NodeAsk>> asked) {
  return actor::spawn(system, [asked](AskedNode::pointer) -> AskedNode::behavior_type {
    return {[asked](const door::NodeAsk& msg) {
      asked->push_back(msg);
      return door::node_done();
    }};
  });
}

struct NodesFixture : test::ActorFixture {
  std::shared_ptr<Net> net = std::make_shared<Net>();
  std::shared_ptr<std::vector<door::NodeAsk>> heard
      = std::make_shared<std::vector<door::NodeAsk>>();
  actor::Latest<OwnNode> own;
  NodeCaller caller
      = adopt(spawn_node_caller(system(),
                                adopt(play_net(system(), net)),
                                {.region = "global",
                                 .leader_address = [] { return LeaderAddress{}; },
                                 .servers_in =
                                     [](const std::string&) {
                                       return std::vector<std::string>{"a:1", "b:1", "c:1"};
                                     }},
                                "a:1",
                                own));

  Result<door::NodeReply> answer(const door::NodeAsk& question) {
    return ask<door::NodeReply>(caller, question)->value();
  }
};

door::NodeAsk read_meta() {
  return door::make_node_ask("n", test::anybody_at(), [](auto& ask) { ask.setReadMeta(); });
}

}  // namespace

TEST_CASE_FIXTURE(NodesFixture, "node_caller: the node of this process gets the object itself") {
  own.set({"n", adopt(play_node(system(), heard))});
  const auto question = test::restart_tasks("alloc", "web");

  CHECK(answer(question).has_value());

  REQUIRE(heard->size() == 1);
  CHECK(heard->front().object.is_same(question.object));
  CHECK(net->over_own.empty());
}

TEST_CASE_FIXTURE(NodesFixture,
                  "node_caller: a node is asked over the connection that it keeps here") {
  net->has_node = true;
  const auto who = test::who_shows("secret", *test::open_to_all());

  CHECK(answer(test::restart_tasks("alloc", "web", false, who)).has_value());

  REQUIRE(net->over_own.size() == 1);
  const auto& call = net->over_own.front();
  CHECK(call.method == Method::node_question);
  CHECK(call.credentials.token == "secret");
  const auto sent = door::unpack_node_ask(call.body, test::anybody_at());
  REQUIRE(sent.has_value());
  CHECK(sent->subject() == "n");
  CHECK(view((*sent)->getRestartTasks().getTask()) == "web");
  CHECK(net->asked.empty());
}

TEST_CASE_FIXTURE(NodesFixture, "node_caller: else by way of the server that it is connected to") {
  net->other = "c:1";

  CHECK(answer(test::collect_alloc("alloc")).has_value());

  CHECK(net->asked == std::vector<std::string>{"b:1", "c:1"});
  REQUIRE(net->over_other.size() == 1);
  CHECK(net->over_other.front().to.address == "c:1");
  CHECK(net->over_other.front().method == Method::server_ask_node);
}

TEST_CASE_FIXTURE(NodesFixture, "node_caller: a node that nobody reaches is not found") {
  CHECK(answer(read_meta()).error() == Error{Errc::not_found, "No path to node"});
  CHECK(net->asked.size() == 2);

  auto passed_on = read_meta();
  passed_on.passed_on = true;
  CHECK(answer(passed_on).error().code == Errc::not_found);
  CHECK_MESSAGE(net->asked.size() == 2, "whoever passed it on has asked them");
}

TEST_CASE_FIXTURE(NodesFixture,
                  "node_caller: what may have arrived is asked again if its table says so") {
  net->has_node = true;

  net->replies = {broken, says(some_meta())};
  CHECK(answer(read_meta()).has_value());
  net->replies = {unsent};
  CHECK(answer(test::restart_tasks("alloc", "web")).has_value());
  CHECK(net->over_own.size() == 4);

  net->replies = {broken};
  CHECK(answer(test::restart_tasks("alloc", "web")).error().what
        == "rpc error: the connection broke (the request may have been carried out)");
  CHECK(net->over_own.size() == 5);
}

TEST_CASE_FIXTURE(NodesFixture, "node_caller: an answer to another question is none") {
  net->has_node = true;
  net->replies = {says(door::node_done())};
  CHECK(answer(read_meta()).error().code == Errc::corrupt);
}

TEST_CASE_FIXTURE(NodesFixture,
                  "node_caller: what comes from a server reaches the node, with its user") {
  actor::Latest<AskedNode> node;
  MethodRouter router{"global", test::open_to_all()};
  serve_node_questions(router, Method::node_question, std::make_shared<actor::Asker>(system(), 1),
                       node);
  const auto send = [&](Bytes body, net::RpcRole role = net::RpcRole::server) {
    auto answer = std::make_shared<std::optional<Result<Bytes>>>();
    Inbound inbound;
    inbound.envelope.method = Method::node_question;
    inbound.envelope.region = "global";
    inbound.envelope.credentials.token = "secret";
    inbound.body = std::move(body);
    inbound.reply = ReplyTo{[answer](Result<Bytes> outcome) { answer->emplace(outcome); }};
    net::RpcPeer peer;
    peer.hello = {.role = role, .region = "global", .name = "s"};
    router.serve(peer, std::move(inbound));
    settle();
    return answer->value();
  };
  const auto question = door::pack(test::restart_tasks("alloc", "web"));
  CHECK(send(question).error().code == Errc::unavailable);

  node.set(adopt(play_node(system(), heard)));
  CHECK(door::unpack_node_reply(send(question).value()).has_value());
  REQUIRE(heard->size() == 1);
  const auto& caller = heard->front().who.caller();
  CHECK(caller.token->secret.reveal() == "secret");
  CHECK_FALSE(caller.is_server());

  CHECK(send(question, net::RpcRole::client).error().code == Errc::permission_denied);
  CHECK(send(Bytes::copy("no parcel")).has_error());
  CHECK(heard->size() == 1);
}
