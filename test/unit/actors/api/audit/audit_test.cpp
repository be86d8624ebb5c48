// What the audit log has of the calls of an API, and what becomes of calls when it cannot be
// written.
#include <atomic>
#include <filesystem>
#include <sstream>
#include <thread>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "actors/api/audit/audited_call.hpp"
#include "actors/api/audit/auditor.hpp"
#include "actors/core/system.hpp"
#include "runtime/access/policy/policy.hpp"
#include "runtime/audit/verify.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/cluster/acl/token_commands.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string dev_token = "5ec2e7-of-the-developer";
const std::string bad_token = "5ec2e7-of-nobody";
const std::string manager_token = "5ec2e7-of-who-manages";

/// "dev" may read jobs of namespace "a", and who manages everything.
Result<access::Grant> dev_or_nobody(std::string_view token) {
  if (token == bad_token) return access::permission_denied();
  access::Grant grant;
  if (token == manager_token) grant.rights = access::Rights::everything();
  if (token != dev_token) return grant;
  const auto policy = access::read_policy(R"(namespace "a" { policy = "read" })").value();
  grant.rights = access::rights_of({{"dev", 1, policy}});
  grant.accessor = "acce5507";
  return grant;
}

struct AuditFixture {
  explicit AuditFixture(bool is_enforced = true, std::vector<audit::Filter> filters = {}) {
    AuditOptions options;
    options.sinks.push_back({.file = {.path = path}, .is_enforced = is_enforced});
    options.filters = std::move(filters);
    options.node_ip = "10.0.0.1:4646";
    auditor = start_auditor(system, std::move(options), metrics).value();
    api.emplace([this](ApiOptions& made) {
      made.auditor = auditor;
      made.metrics.registry = metrics;
      made.acl.enabled = true;
      made.authenticator = access::Authenticator::make(
          {.lookup = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
             return dev_or_nobody(token);
           }}});
    });
    put_token();
  }

  /// What the developer's token is, as every server has it.
  void put_token() {
    auto& state = api->state();
    state.run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
    state.run([](auto command) { command.initAclPolicyUpsert().setName("dev"); });
    state.run([](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId("acce5507");
      token.setName("developer");
      token.setType("client");
      token.setSecretHash(cluster::data_of("hash"));
      token.setKeyId("k");
      token.initPolicies(1).set(0, "dev");
    });
  }

  net::ClientResponse send(const std::string& method,
                           const std::string& target,
                           const std::string& token,
                           const std::string& body = {}) {
    auto client = net::HttpClient::make(
        {.address = "http://" + api->address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.method = method, .target = target, .body = body});
    REQUIRE(response.has_value());
    return std::move(*response);
  }

  std::string text() const { return read_whole_file(path).value_or(std::string{}); }

  /// The lines about calls.
  std::vector<boost::json::value> lines() const {
    std::vector<boost::json::value> all;
    std::istringstream text{this->text()};
    for (std::string line; std::getline(text, line);) {
      auto parsed = boost::json::parse(line);
      if (parsed.at("payload").as_object().contains("request")) all.push_back(std::move(parsed));
    }
    return all;
  }

  test::TempDir directory;
  std::string path = directory.path() + "/audit/audit.log";
  actor::SystemConfig config;
  actor::System system{config};
  std::shared_ptr<Auditor> auditor;
  std::shared_ptr<telemetry::Registry> metrics
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  std::optional<ApiFixture> api;
};

/// Notes on which thread an answer is made ready.
class NotedExchange final : public net::detail::Exchange {
public:
  bool take(Turns::Action&) override { return false; }

  void prepare(net::Response&) override { prepared_on = std::this_thread::get_id(); }

  void let_go() override { ++let_goes; }

  void send(net::Response) override {
    is_sent = true;
    test::note_change();
  }

  void start_stream(net::Response) override {}

  bool write(std::string_view, std::function<void()>) override { return false; }

  void end(bool) override {}

  void drop() override {}

  bool abandoned() const override { return false; }

  std::size_t queued() const override { return 0; }

  void on_abandoned(std::function<void()>) override {}

  void start_tunnel(net::Response) override {}

  void on_data(std::function<void(std::string_view, bool)>) override {}

  void taken(std::size_t) override {}

  void end_output() override {}

  std::thread::id prepared_on;
  int let_goes = 0;
  std::atomic<bool> is_sent{false};
};

std::string shown_at(const boost::json::value& line, std::string_view pointer) {
  boost::json::error_code absent;
  const auto* found = line.find_pointer(pointer, absent);
  if (found == nullptr) return "(nothing)";
  return found->is_string() ? std::string{found->as_string()} : boost::json::serialize(*found);
}

}  // namespace

TEST_CASE("audit: a call is told before and after, with who, what, and which policy allowed it") {
  AuditFixture fixture;
  fixture.api->add_namespace("a");

  CHECK(fixture.send("GET", "/v1/jobs?namespace=a", dev_token).status == 200);

  const auto lines = fixture.lines();
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    CHECK(shown_at(line, "/payload/auth/accessor_id") == "acce5507");
    CHECK(shown_at(line, "/payload/auth/name") == "developer");
    CHECK(shown_at(line, "/payload/auth/type") == "client");
    CHECK(shown_at(line, "/payload/auth/policies") == R"(["dev"])");
    CHECK(shown_at(line, "/payload/request/operation") == "GET");
    CHECK(shown_at(line, "/payload/request/endpoint") == "/v1/jobs");
    CHECK(shown_at(line, "/payload/request/namespace/id") == "a");
    CHECK(shown_at(line, "/payload/request/node_meta/ip") == "10.0.0.1:4646");
    CHECK(shown_at(line, "/payload/request/request_meta/remote_address").starts_with("127.0.0.1:"));
    CHECK(shown_at(line, "/payload/route") == "GET /v1/jobs");
    CHECK(shown_at(line, "/payload/id") == shown_at(lines[0], "/payload/id"));
  }
  CHECK(shown_at(lines[0], "/payload/stage") == "OperationReceived");
  CHECK(shown_at(lines[0], "/payload/response") == "(nothing)");
  CHECK(shown_at(lines[1], "/payload/stage") == "OperationComplete");
  CHECK(shown_at(lines[1], "/payload/response/status_code") == "200");
  CHECK(shown_at(lines[1], "/payload/verdict/allowed") == "true");
  CHECK(shown_at(lines[1], "/payload/verdict/namespace") == "a");
  CHECK(shown_at(lines[1], "/payload/verdict/policies") == R"(["dev"])");
  CHECK(shown_at(lines[1], "/payload/duration_ns") != "(nothing)");
}

TEST_CASE(
    "audit: what a body or a query names is told, and what was made, also of who is refused") {
  AuditFixture fixture;
  const auto object_of = [&](const std::string& method, const std::string& target,
                             const std::string& body, const std::string& token = dev_token) {
    fixture.send(method, target, token, body);
    const auto lines = fixture.lines();
    REQUIRE(lines.size() >= 2);
    return shown_at(lines.back(), "/payload/response/status_code") + ' '
           + shown_at(lines.back(), "/payload/object");
  };
  CHECK(object_of("PUT", "/v1/jobs", R"({"Job":{"ID":"web"}})") == "403 web");
  CHECK(object_of("GET", "/v1/job/web", "") == "403 (nothing)");
  CHECK(object_of("PUT", "/v1/node/pools", R"({"Name":"gpu"})") == "403 gpu");

  CHECK(object_of("PUT", "/v1/namespace", R"({"Name":"made"})", manager_token) == "200 made");
  const auto role = object_of("PUT", "/v1/acl/role",
                              R"({"Name":"developer","Policies":[{"Name":"dev"}]})", manager_token);
  CHECK(role.starts_with("200 "));
  CHECK(role.size() == 4 + uuid(1).size());
  CHECK(object_of("PUT", "/v1/agent/force-leave?node=gone.global", "", manager_token)
            .ends_with(" gone.global"));
}

TEST_CASE("audit: what is refused is told, whoever refuses it") {
  AuditFixture fixture;
  const auto completed
      = [&](const std::string& method, const std::string& target, const std::string& token) {
          const auto answer = fixture.send(method, target, token, "{}");
          const auto lines = fixture.lines();
          REQUIRE(lines.size() >= 2);
          CHECK(shown_at(lines[lines.size() - 2], "/payload/stage") == "OperationReceived");
          const auto& last = lines.back();
          CHECK(shown_at(last, "/payload/response/status_code") == std::to_string(answer.status));
          return shown_at(last, "/payload/response/status_code") + ' '
                 + shown_at(last, "/payload/auth/accessor_id") + ' '
                 + shown_at(last, "/payload/verdict/allowed") + ' '
                 + shown_at(last, "/payload/response/error");
        };

  CHECK(completed("GET", "/v1/jobs?namespace=b", dev_token)
        == "403 acce5507 false Permission denied");
  CHECK(completed("GET", "/v1/operator/raft/configuration", dev_token)
        == "403 acce5507 false Permission denied");
  CHECK(completed("GET", "/v1/jobs", bad_token) == "403  false Permission denied");
  CHECK(completed("GET", "/v1/nodes", "") == "403 anonymous false Permission denied");
  CHECK(completed("PATCH", "/v1/jobs", dev_token) == "405 acce5507 (nothing) Invalid method");
}

TEST_CASE("audit: who is refused at a task's socket is told and counted, too") {
  AuditFixture fixture;
  auto server = net::HttpServer::start({.listen = {"127.0.0.1:0"}, .needs_token = true},
                                       fixture.api->api->task_routes())
                    .value();
  const auto refused = [&](const std::string& token) {
    auto client = net::HttpClient::make(
        {.address = "http://" + server.addresses().front(), .headers = {{"X-Nomad-Token", token}}});
    const auto answer = client->send({.target = "/v1/none?q=5ec2e7"});
    REQUIRE(answer.has_value());
    const auto lines = fixture.lines();
    const auto& last = lines.back();
    CHECK(shown_at(last, "/payload/response/status_code") == std::to_string(answer->status));
    CHECK(shown_at(last, "/payload/request/endpoint") == "/v1/none");
    return std::to_string(lines.size()) + ' ' + shown_at(last, "/payload/response/status_code")
           + ' ' + shown_at(last, "/payload/auth/accessor_id");
  };

  CHECK(refused("") == "2 401 ");
  CHECK(refused(bad_token) == "4 500 ");
  CHECK(fixture.text().find("5ec2e7") == std::string::npos);
  CHECK(fixture.metrics->prometheus(unix_now()).find("rpc_request 2\n") != std::string::npos);
  server.stop();
}

TEST_CASE("audit: nothing of a line opens anything, whatever the caller writes where") {
  AuditFixture fixture;
  const std::string canary = "ca9a27-in-a-body";
  fixture.send("GET", "/v1/acl/token/" + dev_token + "?token=" + dev_token + "&q=" + canary,
               dev_token);
  fixture.send("PUT", "/v1/var/x?namespace=" + dev_token, dev_token,
               R"({"Items":{"password":")" + canary + "\"}}");
  fixture.send("PUT", "/v1/jobs", dev_token, R"({"Job": ")" + canary + "\"}");
  fixture.send("PUT", "/v1/acl/token/onetime/exchange", bad_token,
               R"({"OneTimeSecretID":")" + canary + "\"}");

  CHECK(fixture.lines().size() == 8);
  CHECK(fixture.text().find("5ec2e7") == std::string::npos);
  CHECK(fixture.text().find(canary) == std::string::npos);
}

TEST_CASE("audit: where delivery is enforced, what cannot be told is not done") {
  AuditFixture fixture;
  REQUIRE(fixture.send("GET", "/v1/status/leader", "").status == 200);

  std::filesystem::remove_all(std::filesystem::path{fixture.path}.parent_path());

  const auto answer = fixture.send("GET", "/v1/status/leader", "");
  CHECK(answer.status == 500);
  CHECK(answer.body == "event not written");
  CHECK(fixture.send("GET", "/v1/jobs", bad_token).status == 500);

  std::filesystem::create_directories(std::filesystem::path{fixture.path}.parent_path());
  CHECK(fixture.send("GET", "/v1/status/leader", "").status == 200);
  CHECK(fixture.text().find("EventsLost") != std::string::npos);
}

TEST_CASE("audit: with the best effort a call goes on without its line, and what is lost is told") {
  AuditFixture fixture{false};
  std::filesystem::remove_all(std::filesystem::path{fixture.path}.parent_path());

  CHECK(fixture.send("GET", "/v1/status/leader", "").status == 200);
  // The log comes to it later, and must have found no folder.
  REQUIRE(test::succeeds([&] {
    const auto metered = fixture.send("GET", "/v1/metrics", "");
    return metered.body.find("audit.failed") != std::string::npos;
  }));

  std::filesystem::create_directories(std::filesystem::path{fixture.path}.parent_path());
  CHECK(test::succeeds([&] {
    fixture.send("GET", "/v1/status/leader", "");
    return fixture.text().find("EventsLost") != std::string::npos;
  }));
}

TEST_CASE("audit: an answer that waits for its line is made ready by who gives it") {
  const AuditFixture fixture;
  const auto exchange = std::make_shared<NotedExchange>();
  {
    net::Responder responder{exchange};
    responder.set_gate(
        std::make_shared<AuditedCall>(fixture.auditor, exchange->request, "GET /v1/jobs"));
    responder.send({.body = "long"});
    CHECK(exchange->prepared_on == std::this_thread::get_id());
  }
  CHECK(exchange->let_goes == 1);
  CHECK(test::eventually([&] { return exchange->is_sent.load(); }));
}

TEST_CASE("audit: filters leave stages and endpoints out, and the chain is whole") {
  AuditFixture fixture{true,
                       {{{"/v1/status/*"}, {"*"}, {"*"}}, {{"*"}, {"OperationReceived"}, {"GET"}}}};

  fixture.send("GET", "/v1/status/leader", "");
  fixture.send("GET", "/v1/jobs", "");
  fixture.send("PUT", "/v1/jobs", "", "{}");

  CHECK(fixture.lines().size() == 3);
  audit::Verifier verifier;
  verifier.begin_file("log");
  verifier.feed(fixture.text());
  verifier.end_file();
  CHECK(verifier.findings().empty());
}
