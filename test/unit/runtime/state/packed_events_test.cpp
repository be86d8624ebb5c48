#include "runtime/state/packed_events.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

Event alloc(const std::string& id) {
  Draft<schema::Allocation> draft;
  draft->setId(text(id));
  draft->setJobId("the job of all of them");
  draft->setClientDescription("Tasks are running");
  draft->setNodeName("a-node-with-a-long-name");
  return {"AllocationUpdated", draft.freeze()};
}

}  // namespace

TEST_CASE("packed_events: what is unpacked is what was packed") {
  Draft<schema::Job> job;
  job->setId("job");
  Draft<schema::NodePool> pool;
  pool->setName("pool");
  const std::vector<Event> events{
      {"JobRegistered", job.freeze()}, alloc("1"), {"NodePool", pool.freeze()}};

  const PackedEvents packed{events};
  Result<std::vector<Event>> unpacked;
  SUBCASE("at first") {
    unpacked = packed.unpack();
  }
  SUBCASE("denser") {
    unpacked = packed.denser().unpack();
  }
  SUBCASE("denser once more") {
    unpacked = packed.denser().denser().unpack();
  }

  REQUIRE(unpacked);
  REQUIRE(unpacked->size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((*unpacked)[i].type == events[i].type);
    CHECK((*unpacked)[i].topic() == events[i].topic());
    CHECK((*unpacked)[i].key() == events[i].key());
  }
  CHECK(std::get<Object<schema::Allocation>>((*unpacked)[1].payload)
            .equals(std::get<Object<schema::Allocation>>(events[1].payload)));
}

TEST_CASE("packed_events: objects that resemble each other take a tenth when denser") {
  std::vector<Event> events;
  std::size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    events.push_back(alloc(std::to_string(i)));
    bytes += std::get<Object<schema::Allocation>>(events.back().payload).size_in_bytes();
  }
  CHECK(PackedEvents{events}.bytes() == bytes);
  CHECK(PackedEvents{events}.denser().bytes() < bytes / 10);
}

TEST_CASE("packed_events: a batch without events is one, too") {
  const auto unpacked = PackedEvents{std::vector<Event>{}}.denser().unpack();
  REQUIRE(unpacked);
  CHECK(unpacked->empty());
}
