// Who is counted under which name, and who asks too often.
#include "actors/api/http/call_meter.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

Result<access::Grant> named_grant(std::string_view token) {
  if (token == "none") return access::permission_denied();
  access::Grant grant;
  if (token.empty()) return grant;
  grant.accessor = "accessor-" + std::string{token};
  if (token == "root") grant.rights = access::Rights::everything();
  return grant;
}

struct MeterFixture {
  explicit MeterFixture(MeterOptions meter = {}, bool enforces = true) {
    api.emplace([&](ApiOptions& made) {
      made.metrics.registry = registry;
      made.metrics.meter = meter;
      made.authenticator = access::Authenticator::make(
          {.enforces = enforces,
           .lookup = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
             return named_grant(token);
           }}});
    });
  }

  net::ClientResponse get(const std::string& target, const std::string& token) {
    auto client = net::HttpClient::make(
        {.address = "http://" + api->address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.method = "GET", .target = target});
    REQUIRE(response.has_value());
    return std::move(*response);
  }

  /// "token:x=1 …", the counts of a counter by identity.
  std::string counts(const std::string& name) {
    const auto text = registry->prometheus(unix_now());
    std::string all;
    for (auto at = text.find('\n' + name); at != text.npos; at = text.find('\n' + name, at + 1)) {
      const auto line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
      if (line.size() > name.size() && (line[name.size()] == '{' || line[name.size()] == ' '))
        all += line.substr(name.size()) + '\n';
    }
    return all;
  }

  std::shared_ptr<telemetry::Registry> registry
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  std::optional<ApiFixture> api;
};

}  // namespace

TEST_CASE("call_meter: calls are counted by who asks, also those that are refused") {
  MeterFixture fixture;

  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  CHECK(fixture.get("/v1/job/x", "dev").status == 403);
  CHECK(fixture.get("/v1/job/x", "none").status == 403);
  CHECK(fixture.get("/v1/job/x", "").status == 403);
  CHECK(fixture.get("/v1/nodes", "dev").status == 403);

  CHECK(fixture.counts("nomad_nomad_rpc_job_read")
        == "{identity=\":127.0.0.1\"} 1\n{identity=\"token:accessor-dev\"} 1\n"
           "{identity=\"token:accessor-root\"} 2\n{identity=\"token:anonymous\"} 1\n");
  CHECK(fixture.counts("nomad_nomad_rpc_node_list") == "{identity=\"token:accessor-dev\"} 1\n");
}

TEST_CASE("call_meter: without ACLs, or when labels are not wanted, nobody is named") {
  SUBCASE("without ACLs") {
    MeterFixture fixture{{}, false};
    fixture.get("/v1/job/x", "dev");
    CHECK(fixture.counts("nomad_nomad_rpc_job_read") == " 1\n");
  }
  SUBCASE("not wanted") {
    MeterFixture fixture{{.labels = false}};
    fixture.get("/v1/job/x", "dev");
    CHECK(fixture.counts("nomad_nomad_rpc_job_read") == " 1\n");
  }
}

TEST_CASE("call_meter: who asks too often hears when to ask again; others are not disturbed") {
  MeterFixture fixture{{.reads = {.per_second = 0.01, .burst = 2}}};

  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  const auto refused = fixture.get("/v1/job/x", "root");
  CHECK(refused.status == 429);
  CHECK(refused.body == "rate limit exceeded");
  CHECK(refused.header("Retry-After") == "100");
  CHECK(fixture.get("/v1/nodes", "dev").status == 403);
  CHECK(fixture.get("/v1/agent/health", "root").status == 200);  // never limited
  CHECK(fixture.counts("nomad_rpc_rate_limit_exceeded") == " 1\n");
}

TEST_CASE("call_meter: a permissive limit counts and refuses nobody") {
  MeterFixture fixture{{.reads = {.per_second = 0.01, .burst = 1}, .refuses = false}};

  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  CHECK(fixture.get("/v1/job/x", "root").status == 404);
  CHECK(fixture.counts("nomad_rpc_rate_limit_exceeded") == " 1\n");
}
