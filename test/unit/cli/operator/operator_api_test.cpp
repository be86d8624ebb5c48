// operator api: what is sent, and the curl command that would send it.
#include <cstdlib>

#include <doctest/doctest.h>

#include "cli/operator/curl_command.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

std::string curl(const CommonFlags& flags, const CurlRequest& request) {
  const auto command = curl_command(flags, request);
  return command ? *command : "error: " + command.error().what;
}

CommonFlags at(const std::string& address) {
  CommonFlags flags;
  flags.address = address;
  return flags;
}

}  // namespace

TEST_CASE("operator api: a curl command has the method, the body and the headers") {
  CHECK(curl({}, {.target = "/v1/jobs"})
        == "curl \\\n  -X GET \\\n  http://127.0.0.1:4646/v1/jobs");
  CHECK(curl(at("https://nomad.example"),
             {.method = "PUT",
              .target = "/v1/jobs?namespace=a&region=b",
              .headers = {"X-It's: a b"},
              .has_body = true,
              .verbose = true})
        == "curl \\\n  --verbose \\\n  -X PUT \\\n  --data-binary @- \\\n"
           "  -H 'X-It'\\''s: a b' \\\n"
           "  'https://nomad.example:443/v1/jobs?namespace=a&region=b'");
  CHECK(curl(at("unix:///run/a b.sock"), {.target = "/v1/jobs"})
        == "curl \\\n  -X GET \\\n  --unix-socket '/run/a b.sock' \\\n  http://localhost/v1/jobs");
  CHECK(curl(at("http://[::1]:1"), {.target = "/v1/jobs"})
        == "curl \\\n  -X GET \\\n  'http://[::1]:1/v1/jobs'");
}

TEST_CASE("operator api: a curl command names files of TLS, and where the agent is") {
  auto flags = at("https://127.0.0.1:4646");
  flags.ca_cert = "ca.pem";
  flags.ca_path = "/cas";
  flags.client_cert = "c.pem";
  flags.client_key = "my key.pem";
  flags.tls_server_name = "server.global.nomad";
  flags.tls_skip_verify = true;
  CHECK(curl(flags, {.target = "/v1/jobs"})
        == "curl \\\n  -X GET \\\n  --cacert ca.pem \\\n  --capath /cas \\\n  --cert c.pem \\\n"
           "  --key 'my key.pem' \\\n  --insecure \\\n"
           "  --connect-to server.global.nomad:4646:127.0.0.1:4646 \\\n"
           "  https://server.global.nomad:4646/v1/jobs");
}

TEST_CASE("operator api: a curl command shows a token that was typed, no other") {
  CommonFlags flags;
  flags.token = "secret";
  CHECK(curl(flags, {.target = "/v1/jobs"}).find("-H \"X-Nomad-Token: ${NOMAD_TOKEN}\"")
        != std::string::npos);
  CHECK(curl(flags, {.target = "/v1/jobs"}).find("secret") == std::string::npos);
  CHECK(
      curl(flags, {.target = "/v1/jobs", .is_token_typed = true}).find("-H 'X-Nomad-Token: secret'")
      != std::string::npos);
  CHECK(curl(flags, {.target = "/v1/jobs", .headers = {"x-nomad-token: mine"}}).find("NOMAD_TOKEN")
        == std::string::npos);
}

TEST_CASE("operator api: an address that is none makes no curl command") {
  CHECK(curl(at("ftp://a"), {.target = "/"}).starts_with("error: "));
}

TEST_CASE_FIXTURE(test::FakeAgent, "operator api: -dryrun prints and asks nobody") {
  CHECK(run(run_operator_api, {"-dryrun", "-X", "PUT", "-namespace", "ops", "jobs?namespace=a"})
        == 0);
  CHECK(asked.empty());
  CHECK(out.starts_with("curl \\\n  -X PUT \\\n  --data-binary @- \\\n  'http://127.0.0.1:"));
  CHECK(out.ends_with("/v1/jobs?namespace=a'\n"));
}

TEST_CASE_FIXTURE(test::FakeAgent, "operator api: what the path says already is not asked twice") {
  answer("GET /v1/jobs", "[]");
  CHECK(run(run_operator_api, {"-region", "r", "-filter", "a == 1", "/v1/jobs?region=x"}) == 0);
  CHECK(asked == std::vector<std::string>{"GET /v1/jobs?region=x&filter=a%20%3D%3D%201"});
  CHECK(out == "[]");  // as it came
}

TEST_CASE("operator api: an agent that is not there is named") {
  const test::Capture printed;
  CHECK(run_operator_api({"-address", "http://127.0.0.1:1", "/v1/jobs"}).value() == 1);
  CHECK(printed.err().starts_with(
      "Error making request: Get \"http://127.0.0.1:1/v1/jobs\": dial tcp 127.0.0.1:1"));
}
