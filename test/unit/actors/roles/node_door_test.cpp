// Questions and answers as parcels: nothing is lost on the way, and what is no parcel is refused.
#include "actors/roles/node_door.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "test/support/door.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

Object<schema::Allocation> alloc_named(std::string_view id) {
  Draft<schema::Allocation> draft;
  draft->setId(text(std::string{id}));
  draft->setNodeId("n");
  return draft.freeze();
}

Bytes without_alignment(const Bytes& bytes) {
  auto shifted = std::make_shared<std::vector<std::byte>>(bytes.size() + 1);
  std::ranges::copy(bytes.view(), shifted->begin() + 1);
  const auto view = std::span{*shifted}.subspan(1);
  return {std::move(shifted), view};
}

}  // namespace

TEST_CASE("node_door: each question is in the table, under its own name") {
  for (std::uint16_t number = 0; number <= static_cast<std::uint16_t>(door::Question::WATCH_DATA);
       ++number) {
    const auto* info = door::find_question(static_cast<door::Question>(number));
    REQUIRE(info != nullptr);
    const auto names = capnp::Schema::from<schema::door::Ask>().getUnionFields();
    CHECK(info->name == view(names[number].getProto().getName()));
  }
  CHECK(door::find_question(static_cast<door::Question>(1'000)) == nullptr);
}

TEST_CASE("node_questions: each question is in the table, under its own name") {
  const auto names = capnp::Schema::from<schema::door::NodeAsk>().getUnionFields();
  for (std::uint16_t number = 0; number < names.size(); ++number) {
    const auto* info = door::find_question(static_cast<door::NodeQuestion>(number));
    REQUIRE(info != nullptr);
    CHECK(info->name == view(names[number].getProto().getName()));
  }
  CHECK(door::find_question(static_cast<door::NodeQuestion>(1'000)) == nullptr);
}

TEST_CASE("node_questions: question and answer arrive as they were sent, but for who asks") {
  const auto sent = test::signal_tasks("a", "web", "SIGHUP");

  const auto got = door::unpack_node_ask(door::pack(sent), test::anybody_at("10.0.0.1"));
  REQUIRE(got.has_value());
  CHECK(got->object.equals(sent.object));
  CHECK(got->who.caller().remote == "10.0.0.1");
  CHECK(door::asking(*got).needed == access::Capability::alloc_lifecycle);
  CHECK(door::unpack_node_reply(door::pack(door::node_done())).value()->isDone());
  CHECK(door::unpack_node_ask(Bytes::copy("not a parcel"), test::anybody_at()).has_error());
}

TEST_CASE("node_door: what may wait is not urgent, whatever its kind") {
  CHECK(door::is_urgent(update_allocs("n", {})));
  CHECK_FALSE(door::is_urgent(update_allocs("n", {}, /*may_wait=*/true)));
  CHECK_FALSE(door::is_urgent(watch_allocs("n")));
}

TEST_CASE("node_door: a question arrives with its rows, byte for byte") {
  const std::vector allocs{alloc_named("a"), alloc_named("b")};
  const auto sent = update_allocs("n", allocs, true, 7);

  for (const auto& bytes : {door::pack(sent), without_alignment(door::pack(sent))}) {
    const auto got = door::unpack_ask(bytes);
    REQUIRE(got.has_value());
    CHECK(got->subject() == "n");
    CHECK((*got)->getUpdateAllocs() == 7);
    CHECK((*got)->getMayWait());
    const auto rows = door::objects_of<schema::Allocation>(got->rows);
    REQUIRE(rows.has_value());
    REQUIRE(rows->size() == 2);
    CHECK(rows->at(0).equals(allocs[0]));
    CHECK(rows->at(1).equals(allocs[1]));
  }
}

TEST_CASE("node_door: an answer arrives with its rows and its secret") {
  NodeData data{.digest = 9};
  data.items = std::make_shared<const security::Secret>(security::Secret::copy_of("items"));
  const auto got = door::unpack_reply(door::pack(to_reply(data)));
  REQUIRE(got.has_value());
  CHECK((*got)->getData().getDigest() == 9);
  CHECK(got->rows.empty());
  REQUIRE(got->secret);
  CHECK(got->secret->text() == "items");
  CHECK_FALSE(door::unpack_reply(door::pack(door::done(3)))->secret);
}

TEST_CASE("node_door: within a process rows are the same objects") {
  const auto alloc = alloc_named("a");
  const auto ask = update_allocs("n", {alloc});
  CHECK(ask.rows[0].as<schema::Allocation>()->is_same(alloc));
  CHECK(ask.rows[0].as<schema::Job>().error().code == Errc::corrupt);
}

TEST_CASE("node_door: no question is held for longer than ten minutes") {
  CHECK(watch_allocs("n", 1, std::chrono::hours{5}).max_wait() == std::chrono::minutes{10});
}

TEST_CASE("node_door: bytes that are no parcel are refused, and so are rows that are none") {
  CHECK(door::unpack_ask({}).has_error());
  CHECK(door::unpack_ask(Bytes::copy("not a parcel at all")).has_error());
  const auto good = door::pack(update_allocs("n", {alloc_named("a"), alloc_named("b")}));
  const auto seed = Random::from_system().next();
  CAPTURE(seed);
  Random random{seed};
  for (int round = 0; round < 2'000; ++round) {
    auto bytes = std::make_shared<std::vector<std::byte>>(good.view().begin(), good.view().end());
    for (int i = 0; i < 3; ++i)
      bytes->at(random.below(bytes->size())) = static_cast<std::byte>(random.below(256));
    const auto got = door::unpack_ask(Bytes::copy(*bytes));
    if (got) static_cast<void>(door::objects_of<schema::Allocation>(got->rows));
  }
}
