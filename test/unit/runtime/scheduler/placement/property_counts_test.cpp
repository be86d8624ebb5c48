#include "runtime/scheduler/placement/property_counts.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Racks : Harness {
  /// A node in this rack, or in none.
  Object<schema::Node> add_rack_node(const char* rack) {
    const auto id = add_node([rack](schema::Node::Builder node) {
      if (rack == nullptr) return;
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(rack);
    });
    return state().node(id);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Racks, "property counts: each value's, until the last one is gone") {
  const auto first = add_rack_node("r1");
  const auto none = add_rack_node(nullptr);
  PropertyCounts counts{"${meta.rack}", "api", state(), {}};
  counts.change(*first, "api", 1);
  counts.change(*first, "api", 1);
  CHECK(counts.count("r1") == 2);
  CHECK(counts.count("r2") == 0);
  counts.change(*first, "other", 1);  // of another group
  CHECK(counts.count("r1") == 2);
  counts.change(*none, "api", 1);  // has no such property
  CHECK(counts.counts().size() == 1);
  counts.change(*first, "api", -1);
  CHECK(counts.count("r1") == 1);
  counts.change(*first, "api", -1);
  CHECK(counts.counts().empty());
  counts.change(*first, "api", -1);  // nothing is left to take away
  CHECK(counts.counts().empty());
}

TEST_CASE_FIXTURE(Racks, "property counts: the whole job's count every group's") {
  const auto node = add_rack_node("r1");
  PropertyCounts counts{"${meta.rack}", "", state(), {}};
  counts.change(*node, "api", 1);
  counts.change(*node, "db", 1);
  CHECK(counts.count("r1") == 2);
}

TEST_CASE_FIXTURE(Racks, "property counts: begin with what is placed and has not ended") {
  add_rack_node("r1");
  process(register_job(make_job(3)));
  report(live().at(0), schema::ClientStatus::COMPLETE);
  CHECK(PropertyCounts("${meta.rack}", "api", state(), allocs()).count("r1") == 2);
  CHECK(PropertyCounts("${meta.rack}", "other", state(), allocs()).count("r1") == 0);
}
