// What check says of an agent, and by which exit code.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;

namespace {

struct Checked : test::FakeAgent {
  void shows(const std::string& stats) {
    answer("GET /v1/agent/self", R"({"stats":{)" + stats + "}}");
  }

  /// The exit code and what was said: "2 known peers: …".
  std::string check(const std::vector<std::string>& flags = {}) {
    const auto code = run(cli::run_check, flags);
    CHECK(err.empty());
    return std::to_string(code) + ' ' + out;
  }
};

constexpr auto client_of_two = R"("client":{"known_servers":"10.0.0.1:4647,10.0.0.2:4647",
    "last_heartbeat":"2s","heartbeat_ttl":"15s"})";

}  // namespace

TEST_CASE_FIXTURE(Checked, "check: a server has to know so many others") {
  shows(R"("nomad":{"server":"true"},"raft":{"num_peers":"2"})");
  CHECK(check() == "0 ");
  CHECK(check({"-min-peers", "2"}) == "0 ");
  CHECK(check({"-min-peers", "3"})
        == "2 known peers: 2, is less than expected number of peers: 3\n");
  shows(R"("nomad":{"server":"true"},"raft":{"num_peers":"many"})");
  CHECK(check() == "2 unable to get known peers: \"many\" is no number\n");
}

TEST_CASE_FIXTURE(Checked, "check: a client has to know servers, and was heard of in time") {
  shows(client_of_two);
  CHECK(check({"-min-servers", "2"}) == "0 ");
  CHECK(check({"-min-servers", "3"})
        == "2 known servers: 2, is less than expected number of servers: 3\n");
  shows(R"("client":{"known_servers":"","last_heartbeat":"1s","heartbeat_ttl":"2s"})");
  CHECK(check() == "2 known servers: 0, is less than expected number of servers: 1\n");
  shows(R"("client":{"known_servers":"a","last_heartbeat":"1m0s","heartbeat_ttl":"15s"})");
  CHECK(check().starts_with("2 last heartbeat was \"1m0s\" time ago, expected heartbeat ttl: "));
  shows(R"("client":{"known_servers":"a","last_heartbeat":"soon","heartbeat_ttl":"15s"})");
  CHECK(check().starts_with("2 unable to parse last heartbeat: "));
  shows(R"("client":{"known_servers":"a","last_heartbeat":"1s","heartbeat_ttl":"soon"})");
  CHECK(check().starts_with("2 unable to parse heartbeat TTL: "));
}

TEST_CASE_FIXTURE(Checked, "check: an agent that cannot be asked is critical, an odd one warns") {
  CHECK(check()
        == "2 unable to query agent info: failed querying self endpoint: Unexpected response "
           "code: 404 (not found)\n");
  shows("");
  CHECK(check() == "1 ");
}
