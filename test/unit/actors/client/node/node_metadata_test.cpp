// Metadata that is set while the node runs: saved, registered, and there again after a restart.
#include "actors/client/node/node_metadata.hpp"

#include "runtime/object/entries.hpp"
#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::client_api::ApplyMeta;
using client::client_api::NodeMeta;
using client::client_api::ReadMeta;

namespace {

struct MetaFixture : ClientFixture {
  void begin(std::map<std::string, std::string> fixed) {
    auto with = options();
    with.meta = std::move(fixed);
    start(true, with);
  }

  Result<NodeMeta> apply(const workload::DynamicMeta& change) {
    auto done = ask<NodeMeta>(client, ApplyMeta{change, nomad::test::anybody()});
    REQUIRE(done->has_value());
    return **done;
  }

  Result<NodeMeta> read() { return **ask<NodeMeta>(client, ReadMeta{}); }

  std::string registered(std::string_view key) const {
    return std::string{find_text(node->getMeta(), key).value_or("-")};
  }
};

}  // namespace

TEST_CASE_FIXTURE(MetaFixture, "metadata: what is set is registered, and there after a restart") {
  begin({{"rack", "r1"}, {"zone", "a"}});
  const auto before = registrations;
  const auto made = apply({{"rack", "r2"}, {"team", "x"}, {"zone", {}}, {"none", {}}});
  REQUIRE(made.has_value());
  CHECK(made->dynamic == workload::DynamicMeta{{"rack", "r2"}, {"team", "x"}, {"zone", {}}});
  CHECK(made->fixed.at("rack") == "r1");
  CHECK(made->fixed.at("connect.log_level") == "info");
  CHECK_FALSE(made->merged.contains("zone"));
  REQUIRE(apply({{"team", "y"}}).has_value());
  advance(11s);
  CHECK_MESSAGE(registrations == before + 1, "both changes go together");
  CHECK(registered("rack") == "r2");
  CHECK(registered("team") == "y");
  CHECK(registered("zone") == "-");

  crash();
  begin({{"rack", "r1"}});
  CHECK(registered("rack") == "r2");
  CHECK(registered("team") == "y");
  CHECK(registered("zone") == "-");
  CHECK_MESSAGE(!read()->dynamic.contains("zone"), "there is nothing to hide any more");

  crash();
  begin({{"zone", "b"}});
  CHECK(registered("zone") == "b");
}

TEST_CASE_FIXTURE(MetaFixture, "metadata: what is refused changes nothing") {
  begin({});
  const auto before = read();
  CHECK(apply({{"bad key", "x"}}).error().code == Errc::invalid_argument);
  CHECK(apply({}).error().what == "missing required Meta object");
  const auto judged = ask<NodeMeta>(
      client, ApplyMeta{{{"a", "b"}}, asking_with(a_only, access::Capability::node_write)});
  CHECK((*judged)->error().code == Errc::permission_denied);
  CHECK(read()->merged == before->merged);
}
