// Services that nodes register and take down: one log entry at a time, everybody is told.
#include "actors/server/nodes/service_writes.hpp"

#include "node_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct OfferFixture : NodeFixture {
  std::string first;
  std::string second;

  OfferFixture() {
    register_job(make_job("web", 2));
    REQUIRE(register_node().has_value());
    REQUIRE(beat().has_value());
    first = place(0);
    second = place(1);
    entries = 0;
  }

  static std::string service_id(const std::string& alloc) {
    return "_nomad-task-" + alloc + "-group-api-web-http";
  }

  DoorAnswer offer(const std::string& alloc, std::size_t tag_bytes = 1) {
    Draft<schema::ServiceRegistration> draft;
    draft->setId(text(service_id(alloc)));
    draft->setServiceName("web");
    draft->setAllocId(text(alloc));
    draft->setAddress("10.0.0.1");
    draft->setPort(80);
    draft->initTags(1).set(0, text(std::string(tag_bytes, 't')));
    return ask<door::Reply>(endpoint, register_services(id, {draft.freeze()}));
  }

  DoorAnswer withdraw(const std::string& alloc) {
    return ask<door::Reply>(endpoint, deregister_services(id, alloc));
  }

  bool has(const std::string& alloc) {
    return static_cast<bool>(state().service("default", service_id(alloc)));
  }
};

}  // namespace

TEST_CASE_FIXTURE(OfferFixture, "service_writes: what comes meanwhile is written together") {
  const auto a = offer(first);
  const auto b = offer(second);
  const auto c = withdraw(first);
  CHECK(commit_once() == 1);
  settle();
  REQUIRE(a->has_value());
  CHECK((***a)->getIndex() == index);
  CHECK(has(first));
  CHECK_FALSE(b->has_value());
  CHECK(commit_once() == 1);
  settle();
  CHECK((*b)->has_value());
  CHECK((*c)->has_value());
  CHECK_FALSE(has(first));
  CHECK(has(second));
  CHECK(entries == 2);
}

TEST_CASE_FIXTURE(OfferFixture, "service_writes: who is refused is told at once") {
  const auto unknown = offer(make_uuid(random));
  REQUIRE(unknown->has_value());
  CHECK((*unknown)->error().code == Errc::not_found);
  const auto nothing = withdraw(make_uuid(random));
  REQUIRE(nothing->has_value());
  CHECK((*nothing)->has_value());
  CHECK(commit_once() == 0);
}

TEST_CASE_FIXTURE(OfferFixture,
                  "service_writes: a lost entry is told to all of it, and others follow") {
  const auto a = offer(first);
  refuse();
  REQUIRE(a->has_value());
  CHECK((*a)->error().code == Errc::no_leader);
  const auto again = offer(first);
  commit();
  CHECK((*again)->has_value());
  CHECK(has(first));
}

TEST_CASE_FIXTURE(OfferFixture, "service_writes: what waits is bounded, and so are entries") {
  constexpr std::size_t large = std::size_t{3} << 20;
  std::vector<DoorAnswer> answers;
  for (int i = 0; i < 30; ++i)
    answers.push_back(offer(i % 2 == 0 ? first : second, large));
  std::size_t refused = 0;
  for (const auto& answer : answers)
    if (answer->has_value()) {
      CHECK((*answer)->error()
            == Error{Errc::overloaded,
                     "too many changes of services wait to be written; try again later"});
      ++refused;
    }
  CHECK(refused > 0);
  CHECK(refused < 15);
  commit();  // checks each entry's size
  for (const auto& answer : answers)
    CHECK(answer->has_value());
  CHECK(entries > 5);
}

TEST_CASE_FIXTURE(OfferFixture, "service_writes: a leader without its lease judges no services") {
  lease->set(0);
  const auto unknown = offer("00000000-0000-0000-0000-000000000009");
  const auto gone = withdraw(first);
  REQUIRE((unknown->has_value() && gone->has_value()));
  REQUIRE_FALSE((*unknown)->has_value());
  CHECK((*unknown)->error().code == Errc::no_leader);
  REQUIRE_FALSE((*gone)->has_value());
  CHECK((*gone)->error().code == Errc::no_leader);
  CHECK(entries == 0);
}
