// `alloc exec`: the websocket on one side, a played session of a command on the other.
#include <atomic>

#include <doctest/doctest.h>

#include "actors/api/forward/api_wire.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/http/url.hpp"
#include "runtime/net/http/websocket.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/allocs/exec_fixture.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/busy_looks.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
namespace ws = nomad::net::websocket;
using host::ExecEvents;
using test::eventually;

namespace {

/// What a server passed on to the node of an allocation, which judges nobody.
struct PassedOn {
  std::mutex guard;
  std::vector<rpc::transport::Call> calls;
  bool serves = false;  ///< Else it refuses. Set before anything is passed on.
  std::atomic<bool> is_cancelled = false;
  std::function<void(rpc::transport::Reply)> is_over;  ///< Kept until then, as the session.
  std::shared_ptr<net::RpcStream> session;

  std::vector<rpc::transport::Call> seen() {
    const std::lock_guard lock{guard};
    return calls;
  }
};

/// A session that says nothing.
class SessionStream final : public net::RpcStream {
public:
  bool write(Bytes) override { return true; }

  void end() override {}

  void on_data(std::function<void(Bytes, bool)> callback) override {
    callback(write_response_head({.status = 101, .headers = {{"Upgrade", "websocket"}}}, {}),
             false);
  }

  void taken(std::size_t) override {}

  void on_writable(std::function<void()>) override {}

  void on_closed(std::function<void()>) override {}
};

struct FarExecState {
  static constexpr const char* name = "far_exec";
};

rpc::Transport::behavior_type play_far_exec(rpc::Transport::stateful_pointer<FarExecState>,
                                            std::shared_ptr<PassedOn> passed_on) {
  using namespace rpc::transport;
  return {
      [](const rpc::transport::Call&) { return Reply{}; },
      [](const CallNode&) { return Reply{}; },
      [passed_on](const OpenStream& msg) {
        {
          const std::lock_guard lock{passed_on->guard};
          passed_on->calls.push_back(msg.call);
        }
        if (passed_on->serves) {
          passed_on->is_over = msg.done;
          passed_on->session = std::make_shared<SessionStream>();
          return Opened{passed_on->session, [passed_on] { passed_on->is_cancelled = true; }};
        }
        msg.done({Error{Errc::rejected, "it is there"}, Delivery::answered});
        return Opened{std::make_shared<SilentStream>(), [] {}};
      },
      [](const Post&) {},
      [](const HasNode&) { return NodeConnected{true}; },
      [](const NoteNode&) {},
  };
}

/// A server that enforces, and leads; allocations run elsewhere.
struct FarExec {
  explicit FarExec(const std::shared_ptr<access::Authenticator>& judge = test::a_only_rights()) {
    fixture.emplace([this, &judge](ApiOptions& made) {
      made.authenticator = judge;
      auto& view = made.peers.view.emplace();
      view.region = made.agent.region;
      view.leader_address = [] { return rpc::LeaderAddress{.is_self = true, .rpc_address = {}}; };
      view.servers_in = [](const std::string&) { return std::vector<std::string>{}; };
      made.peers.transport = wire;
      made.peers.nodes = asker = rpc::spawn_node_caller(system, wire, view, "", {});
    });
    fixture->state().register_node({.id = uuid(7)});
    fixture->state().register_job({.id = "web"});
    fixture->state().place({{.id = own_alloc, .node = uuid(7)}});
  }

  ~FarExec() {
    fixture.reset();
    actor::stop(asker);
    actor::stop(wire);
  }

  std::string close_of(const std::string& token) {
    Peer peer{fixture->address(), ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true")};
    peer.send(R"({"version":1,"auth_token":")" + token + "\"}");
    return peer.next();
  }

  std::shared_ptr<PassedOn> passed_on = std::make_shared<PassedOn>();
  actor::SystemConfig config;
  actor::System system{config};
  rpc::Transport wire = actor::spawn(system, play_far_exec, passed_on);
  rpc::NodeCaller asker;
  std::optional<ApiFixture> fixture;
};

template <class Condition>
bool holds(PlayedSession& session, Condition condition, test::Patience within = test::patience) {
  return eventually(
      [&] {
        const std::lock_guard lock{session.guard};
        return condition();
      },
      within);
}

}  // namespace

TEST_CASE("exec: a command's input, output and exit code go through") {
  ExecFixture fixture;
  Peer peer{fixture.address(), ExecFixture::target(R"(["cat","-"])", "&task=server&tty=true")};
  CHECK(peer.head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  CHECK(peer.head.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")
        != std::string::npos);
  {
    const auto session = fixture.started();
    CHECK(fixture.played->executed.at(0).task == "server");
    CHECK(fixture.played->executed.at(0).command.command == std::vector<std::string>{"cat", "-"});
    CHECK(fixture.played->executed.at(0).command.tty);

    peer.send(R"({"tty_size":{"height":24,"width":80}})");
    peer.send("{}");
    peer.send(R"({"stdin":{"data":"aGVsbG8K"}})");
    peer.send(R"({"stdin":{"close":true}})", ws::Kind::binary);
    CHECK(holds(*session, [&] { return session->input == "hello\n<end>"; }));
    CHECK(session->size == std::pair{24, 80});

    session->events.output(ExecEvents::Output::out, "hello\n");
    CHECK(peer.next() == R"({"stdout":{"data":"aGVsbG8K"}})");
    CHECK(holds(*session, [&] { return session->acknowledged == 6; }));
    session->events.output(ExecEvents::Output::err, "oh");
    session->events.output(ExecEvents::Output::err, "");
    session->events.output(ExecEvents::Output::out, "");
    session->events.exited({.exit_code = 3});
  }

  CHECK(peer.next() == R"({"stderr":{"data":"b2g="}})");
  CHECK(peer.next() == R"({"stderr":{"close":true}})");
  CHECK(peer.next() == R"({"stdout":{"close":true}})");
  CHECK(peer.next() == R"({"exited":true,"result":{"exit_code":3}})");
  CHECK(peer.next() == "close 1000 ");
  CHECK(peer.next() == "(closed)");
  CHECK(eventually([&] { return fixture.killed == 1; }));
}

TEST_CASE("exec: exit code 0 is left out, and an error is a close of its own") {
  ExecFixture fixture;
  Peer fine{fixture.address(), ExecFixture::target()};
  fixture.started()->events.exited({});
  CHECK(fine.next() == R"({"exited":true,"result":{}})");
  CHECK(fine.next() == "close 1000 ");
  CHECK(eventually([&] { return fixture.killed == 1; }));

  Peer broken{fixture.address(), ExecFixture::target()};
  fixture.started()->events.exited({.exit_code = 0, .error = "the executor is gone"});
  CHECK(broken.next() == "close 1011 the executor is gone");
}

TEST_CASE("exec: what is wrong with the query or the handshake is an HTTP error") {
  ExecFixture fixture;
  const auto status = [&](const std::string& command, const std::string& more = "") {
    return fixture.refusal(ExecFixture::target(command, more));
  };
  const std::string marshal = "400 failed to marshal command into json: ";
  CHECK(status("") == marshal + "unexpected end of JSON input");
  CHECK(status("[\"a\"") == marshal + "unexpected end of JSON input");
  CHECK(status("x") == marshal + "invalid character 'x' looking for beginning of value");
  CHECK(status("[\"a\"]x") == marshal + "invalid character 'x' after top-level value");
  CHECK(status("{}") == marshal + "json: cannot unmarshal object into Go value of type []string");
  CHECK(status("[1]") == marshal + "json: cannot unmarshal number into Go value of type string");
  CHECK(status("[]", "&tty=maybe")
        == "400 tty value is not a boolean: strconv.ParseBool: parsing \"maybe\": invalid syntax");
  CHECK(status("[]")
        == "400 Bad Request\nfailed to upgrade connection: websocket: the client is not using the "
           "websocket protocol: 'upgrade' token not found in 'Connection' header");
  CHECK(fixture.get("/v1/client/allocation/a/b/exec").status == 404);

  const auto with = [&](const std::string& method, net::Headers headers) {
    const auto answer = fixture.client().send({.method = method,
                                               .target = ExecFixture::target(),
                                               .headers = std::move(headers),
                                               .body = {}});
    REQUIRE(answer.has_value());
    CHECK(answer->header("Sec-WebSocket-Version") == "13");
    return answer->status;
  };
  const net::Header connection{"Connection", "keep-alive, Upgrade"};
  const net::Header upgrade{"Upgrade", "WebSocket"};
  const net::Header version{"Sec-WebSocket-Version", "13"};
  const net::Header key{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="};
  CHECK(with("GET", {connection, {"Upgrade", "h2c"}, version, key}) == 400);
  CHECK(with("POST", {connection, upgrade, version, key}) == 405);
  CHECK(with("GET", {connection, upgrade, {"Sec-WebSocket-Version", "8"}, key}) == 400);
  CHECK(with("GET", {connection, upgrade, version}) == 400);
  CHECK(with("GET", {connection, upgrade, version, {"Sec-WebSocket-Key", "short"}}) == 400);
  const auto page = fixture.client().send(
      {.method = "GET",
       .target = ExecFixture::target(),
       .headers = {connection, upgrade, version, key, {"Origin", "http://evil.example"}},
       .body = {}});
  CHECK(page->status == 403);
  CHECK(fixture.played->executed.empty());
}

TEST_CASE("exec: what goes wrong later is told by the close") {
  ExecFixture fixture;
  const auto close_of = [&](const std::string& target) {
    Peer peer{fixture.address(), target};
    CHECK(peer.head.starts_with("HTTP/1.1 101"));
    return peer.next();
  };
  fixture.failure = Error{Errc::invalid_argument, "command is not present"};  // the client's word
  CHECK(close_of(ExecFixture::target("[]")) == "close 1008 command is not present");
  CHECK(close_of(ExecFixture::target("null")) == "close 1008 command is not present");
  CHECK(fixture.played->executed.at(0).command.command.empty());
  fixture.failure = Error{Errc::rejected, "task not found"};
  CHECK(close_of(ExecFixture::target()) == "close 1008 task not found");
  fixture.failure = Error{Errc::not_found, "task \"x\" is not running."};
  CHECK(close_of(ExecFixture::target()) == "close 1008 task \"x\" is not running.");
  fixture.failure = Error{Errc::not_found, "Unknown allocation \"a\""};
  CHECK(close_of(ExecFixture::target()) == "close 1008 Unknown allocation \"a\"");
  fixture.failure = Error{Errc::io, "failed to start command: no such file or directory"};
  CHECK(close_of(ExecFixture::target())
        == "close 1011 failed to start command: no such file or directory");

  fixture.failure = Error{Errc::permission_denied, "Permission denied"};
  CHECK(close_of(ExecFixture::target()) == "close 1008 Permission denied");

  CHECK(close_of("/v1/client/allocation/zzz/exec?command=[]")
        == "close 1008 alloc lookup failed: index error: UUID must be 36 characters");

  ExecFixture no_client{[](ApiOptions& options) { options.client = client::ClientApi{}; }};
  Peer lost{no_client.address(), ExecFixture::target()};
  CHECK(lost.next() == "close 1008 Unknown allocation \"" + own_alloc + '"');
}

TEST_CASE("exec: an action goes the same way, with its name in place of the command") {
  ExecFixture fixture;
  const auto action = [](const std::string& more) {
    return "/v1/job/web/action?task=server&group=api&allocID=" + own_alloc + more;
  };
  Peer peer{fixture.address(), action("&action=say&tty=true&ws_handshake=true")};
  peer.send(R"({"version":1,"auth_token":"secret"})");
  {
    const auto session = fixture.started();
    const auto& asked = fixture.played->executed.at(0);
    CHECK(asked.alloc_id == own_alloc);
    CHECK(asked.task == "server");
    CHECK(asked.action == "say");
    CHECK(asked.job_id == "web");
    CHECK(asked.command.command.empty());
    CHECK(asked.command.tty);
    session->events.exited({.exit_code = 3});
  }
  CHECK(peer.next() == R"({"exited":true,"result":{"exit_code":3}})");
  CHECK(peer.next() == "close 1000 ");

  Peer nameless{fixture.address(), action("")};
  CHECK(nameless.head.starts_with("HTTP/1.1 400 "));
  Peer lost{fixture.address(), "/v1/job/web/action?action=say&task=server&allocID=zzz"};
  CHECK(lost.next() == "close 1008 alloc lookup failed: index error: UUID must be 36 characters");
}

TEST_CASE("exec: an action needs what a command needs") {
  ExecFixture fixture{[](ApiOptions& options) { options.authenticator = test::a_only_rights(); }};
  const auto target
      = "/v1/job/web/action?action=say&task=server&namespace=a&ws_handshake=true&allocID="
        + own_alloc;
  Peer stranger{fixture.address(), target};
  stranger.send(R"({"version":1,"auth_token":"a-only"})");
  CHECK(stranger.next() == "close 1008 Permission denied");
  CHECK(fixture.played->executed.empty());
  Peer owner{fixture.address(), target};
  owner.send(R"({"version":1,"auth_token":"owner"})");
  fixture.started();
}

TEST_CASE("exec: with ws_handshake the first message brings the token") {
  ExecFixture fixture;
  const auto target = ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true");
  {
    Peer peer{fixture.address(), target};
    peer.send("", ws::Kind::ping);
    CHECK(peer.next() == "pong ");
    CHECK(fixture.played->executed.empty());
    peer.send(R"({"version":1,"auth_token":"secret"})");
    peer.send(R"({"stdin":{"data":"aGVsbG8K"}})");  // before the command runs
    const auto session = fixture.started();
    CHECK(holds(*session, [&] { return session->input == "hello\n"; }));
  }
  {
    Peer nobody{fixture.address(), target};  // Without a token, as while nothing is enforced.
    nobody.send(R"({"version":1,"auth_token":""})");
    CHECK(fixture.started() != nullptr);
  }
  Peer other{fixture.address(), target};
  other.send(R"({"version":2})");
  CHECK(other.next() == "close 1008 unexpected handshake value: 2");
  Peer none{fixture.address(), target};
  none.send("{}");
  CHECK(none.next() == "close 1008 unexpected handshake value: 0");
  Peer bad{fixture.address(), target};
  bad.send("x");
  CHECK(bad.next().starts_with("close 1008 "));
  Peer maybe{fixture.address(), ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=maybe")};
  CHECK(maybe.next()
        == "close 1008 ws_handshake value is not a boolean: strconv.ParseBool: parsing \"maybe\": "
           "invalid syntax");
}

TEST_CASE("exec: who may not act in the allocation's namespace is refused, whenever he says who") {
  ExecFixture fixture{[](ApiOptions& options) { options.authenticator = test::a_only_rights(); }};
  const auto target = ExecFixture::target("[\"a\"]", "&task=server&namespace=a&ws_handshake=true");

  Peer stranger{fixture.address(), target};
  stranger.send(R"({"version":1,"auth_token":"a-only"})");
  CHECK(stranger.next() == "close 1008 Permission denied");
  CHECK(fixture.played->executed.empty());
  Peer owner{fixture.address(), target};
  owner.send(R"({"version":1,"auth_token":"owner"})");
  fixture.started();
}

TEST_CASE("exec: the agent that was asked judges who shakes hands, whatever the node does") {
  FarExec server;
  CHECK(server.close_of(test::a_only) == "close 1008 Permission denied");
  CHECK(server.close_of(test::no_token) == "close 1008 Permission denied");
  CHECK(server.passed_on->seen().empty());

  CHECK(server.close_of("owner") == "close 1008 it is there");
  const auto calls = server.passed_on->seen();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].credentials.token == "owner");
  const auto sent = Object<schema::rpc::ApiRequest>::from_bytes(calls[0].body.view());
  net::Request there;
  REQUIRE(read_request(**sent, there));
  CHECK(there.parameter_or_empty("ws_handshake") == "false");
  CHECK(there.parameter_or_empty("task") == "server");
}

TEST_CASE(
    "exec: the agent that was asked ends what its user may not have, whatever the node does") {
  const auto index = std::make_shared<std::atomic<std::uint64_t>>(1);
  FarExec server{test::until_revoked(index)};
  server.passed_on->serves = true;
  Peer peer{server.fixture->address(), ExecFixture::target()};
  CHECK(peer.head.starts_with("HTTP/1.1 101 "));
  CHECK_FALSE(server.passed_on->is_cancelled);
  *index = 2;
  CHECK(peer.next() == "(closed)");
  CHECK(eventually([&] { return server.passed_on->is_cancelled.load(); }));
}

TEST_CASE("exec: frames that come with the request are not lost") {
  ExecFixture fixture;
  Peer peer{fixture.address(), ExecFixture::target(),
            Peer::frame(R"({"stdin":{"data":"aGVsbG8K"}})")};
  const auto session = fixture.started();
  CHECK(holds(*session, [&] { return session->input == "hello\n"; }));

  Peer hasty{fixture.address(), ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true"),
             Peer::frame(R"({"version":1,"auth_token":""})")
                 + Peer::frame(R"({"stdin":{"data":"aGVsbG8K"}})")};
  REQUIRE(eventually([&] { return fixture.current() && fixture.current() != session; }));
  const auto second = fixture.started();
  CHECK(holds(*second, [&] { return second->input == "hello\n"; }));
}

TEST_CASE("exec: a client that goes, closes or sends nonsense ends the command") {
  ExecFixture fixture;
  int ended = 0;
  const auto ends
      = [&] { return eventually([&, count = ++ended] { return fixture.killed == count; }); };
  {
    Peer peer{fixture.address(), ExecFixture::target()};
    fixture.started();
    peer.leave();
    CHECK(ends());
  }
  {
    Peer peer{fixture.address(), ExecFixture::target()};
    fixture.started();
    peer.send(
        "\x03\xe9"
        "bye",
        ws::Kind::close);
    CHECK(peer.next() == "close 1001 bye");
    CHECK(peer.next() == "(closed)");
    CHECK(ends());
  }
  for (const auto& [text, answer] : {std::pair{"garbage", "close 1011 "},
                                     {"[]", "close 1011 "},
                                     {R"({"stdin":{"data":"#"}})", "close 1011 "}}) {
    Peer peer{fixture.address(), ExecFixture::target()};
    fixture.started();
    peer.send(text);
    CHECK(peer.next().starts_with(answer));
    CHECK(ends());
  }
  {
    Peer peer{fixture.address(), ExecFixture::target()};
    fixture.started();
    peer.send_raw("\x81\x02{}");  // not masked
    CHECK(peer.next().starts_with("close 1002 "));
    CHECK(ends());
  }
  {
    Peer peer{fixture.address(), ExecFixture::target()};
    fixture.started();
    peer.send_raw({"\x81\xff\0\0\0\0\0\x20\0\0....x", 15});  // two megabytes
    CHECK(peer.next().starts_with("close 1009 "));
    CHECK(ends());
  }
}

TEST_CASE("exec: pings are answered, in order with what else is sent") {
  ExecFixture fixture;
  Peer peer{fixture.address(), ExecFixture::target()};
  const auto session = fixture.started();
  peer.send("are you there", ws::Kind::ping);
  CHECK(peer.next() == "pong are you there");
  peer.send("", ws::Kind::pong);
  peer.send(R"({"stdin":{"data":"aGVsbG8K"}})");
  CHECK(holds(*session, [&] { return session->input == "hello\n"; }));
}

TEST_CASE("exec: a command that takes no input makes the client wait, and loses nothing") {
  ExecFixture fixture;
  fixture.refuses = true;
  Peer peer{fixture.address(), ExecFixture::target()};
  const auto session = fixture.started();
  peer.send(R"({"stdin":{"data":"b25l"}})");
  peer.send(R"({"stdin":{"data":"dHdv","close":true}})");
  CHECK(holds(*session, [&] { return session->writes > 0; }));
  {
    const std::lock_guard lock{session->guard};
    CHECK(session->input.empty());
    session->refuses = false;
  }
  session->events.writable();
  CHECK(holds(*session, [&] { return session->input == "onetwo<end>"; }));
}

TEST_CASE("exec: what the client does not read is not acknowledged to the command") {
  ExecFixture fixture;
  Peer peer{fixture.address(), ExecFixture::target()};
  const auto session = fixture.started();
  const std::string piece(64 * 1024, 'x');
  std::size_t given = 0;
  for (bool moves = true; moves && given < 100'000'000;) {
    session->events.output(ExecEvents::Output::out, piece);
    given += piece.size();
    moves = holds(
        *session, [&] { return session->acknowledged == given; }, 300ms);
  }
  CHECK(given < 100'000'000);
  for (std::size_t got = 0; got < given; got += piece.size())
    REQUIRE(peer.next().starts_with(R"({"stdout":{"data":"eHh4)"));
  CHECK(holds(*session, [&] { return session->acknowledged == given; }));
}

TEST_CASE("exec: the end of the agent ends the sessions") {
  ExecFixture fixture;
  Peer peer{fixture.address(), ExecFixture::target()};
  fixture.started();
  fixture.api->stop();
  CHECK(eventually([&] { return fixture.killed == 1; }));
  CHECK(peer.next() == "(closed)");
}

TEST_CASE("exec: a session ends when its user may not have it any more") {
  const auto index = std::make_shared<std::atomic<std::uint64_t>>(1);
  ExecFixture fixture{
      [index](ApiOptions& options) { options.authenticator = test::until_revoked(index); }};
  Peer peer{fixture.address(), ExecFixture::target()};
  fixture.started();
  *index = 2;
  CHECK(peer.next() == "close 1008 Permission denied");
  CHECK(eventually([&] { return fixture.killed == 1; }));
}

TEST_CASE("exec: a session goes on though nobody has time to look at its user's rights") {
  const auto looks = std::make_shared<BusyLooks>();
  ExecFixture fixture{[looks](ApiOptions& options) { BusyLooks::judge_by(looks, options); }};
  Peer peer{fixture.address(), ExecFixture::target()};
  const auto session = fixture.started();
  REQUIRE(looks->are_refused());
  peer.send(R"({"stdin":{"data":"aGVsbG8K"}})");
  CHECK(holds(*session, [&] { return session->input == "hello\n"; }));
  CHECK(fixture.killed == 0);
  looks->index = 3;
  CHECK(peer.next() == "close 1008 Permission denied");
}
