// Metadata that is set while the node runs: saved, registered, and there again after a restart.
#include "actors/client/node/node_metadata.hpp"

#include "runtime/object/entries.hpp"
#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// The answer to questions about metadata.
struct Meta {
  workload::NodeMeta merged;
  workload::DynamicMeta dynamic;
  workload::NodeMeta fixed;
};

door::NodeAsk apply_meta(const workload::DynamicMeta& change, const access::Principal& who) {
  return door::make_node_ask("n", who, [&](auto& ask) {
    auto entries = ask.initApplyMeta(static_cast<unsigned>(change.size()));
    unsigned next = 0;
    for (const auto& [key, value] : change) {
      auto entry = entries[next++];
      entry.setKey(text(key));
      entry.setUnset(!value);
      if (value) entry.setValue(text(*value));
    }
  });
}

struct MetaFixture : ClientFixture {
  void begin(std::map<std::string, std::string> fixed) {
    auto with = options();
    with.meta = std::move(fixed);
    start(true, with);
  }

  Result<Meta> about(const door::NodeAsk& question) {
    auto done = ask<door::NodeReply>(client, question);
    REQUIRE(done->has_value());
    const auto reply = NOMAD_TRY(**done);
    Meta meta;
    read_entries(reply->getMeta().getMerged(), meta.merged);
    read_entries(reply->getMeta().getFixed(), meta.fixed);
    for (const auto entry : reply->getMeta().getDynamic()) {
      auto& value = meta.dynamic[copy(entry.getKey())];
      if (!entry.getUnset()) value = copy(entry.getValue());
    }
    return meta;
  }

  Result<Meta> apply(const workload::DynamicMeta& change,
                     const access::Principal& who = anybody_at()) {
    return about(apply_meta(change, who));
  }

  Result<Meta> read() {
    return about(door::make_node_ask("n", anybody_at(), [](auto& ask) { ask.setReadMeta(); }));
  }

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
  const auto stranger = asking_with(a_only, access::Capability::node_write).who;
  CHECK(apply({{"a", "b"}}, stranger).error().code == Errc::permission_denied);
  CHECK(read()->merged == before->merged);
}
