#include "runtime/object/object.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/object/any_object.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

using nomad::Draft;
using nomad::Object;
using nomad::schema::Allocation;
using nomad::schema::ClientStatus;
using nomad::schema::Job;

namespace {

Object<Allocation> sample() {
  Draft<Allocation> draft;
  draft->setId("8ba85cef-0000-4000-8000-000000000000");
  draft->setName("web.api[0]");
  auto states = draft->initTaskStates(2);
  states[0].setKey("a");
  states[0].initValue().setRestarts(3);
  states[1].setKey("b");
  states[1].initValue().initEvents(1)[0].setType("Started");
  return draft.freeze();
}

}  // namespace

TEST_CASE("Draft: a changed copy leaves the original as it was") {
  const auto before = sample();

  Draft<Allocation> change{before};
  change->setClientStatus(ClientStatus::COMPLETE);
  const auto after = change.freeze();

  CHECK(before->client_status() == ClientStatus::PENDING);
  CHECK(after->client_status() == ClientStatus::COMPLETE);
  CHECK(after->task_states()[0].getValue().getRestarts() == 3);
  CHECK_FALSE(before.equals(after));
}

TEST_CASE("Object: bytes make the same object again") {
  const auto object = sample();

  auto copy = Object<Allocation>::from_bytes(object.bytes());

  REQUIRE(copy.has_value());
  CHECK(copy->equals(object));
  CHECK_FALSE(copy->is_same(object));
}

TEST_CASE("Object: bytes are read where they are only when they are aligned") {
  const auto object = sample();
  CHECK(Object<Allocation>::check(object.bytes()).has_value());
  std::vector<std::byte> shifted(object.bytes().size() + 1);
  std::copy(object.bytes().begin(), object.bytes().end(), shifted.begin() + 1);
  const auto unaligned = std::span{shifted}.subspan(1);
  CHECK(Object<Allocation>::from_bytes(unaligned).has_value());
  CHECK(Object<Allocation>::check(unaligned).error()
        == nomad::Error{nomad::Errc::corrupt, "the object's bytes are not aligned to words"});
}

TEST_CASE("AnyObject: is what it was made of, and nothing else") {
  const nomad::AnyObject any{sample()};
  CHECK(any.as<Allocation>().has_value());
  CHECK(any.as<nomad::schema::Node>().error()
        == nomad::Error{nomad::Errc::corrupt, "an object of another kind than was expected"});
}

TEST_CASE("Object: what a far pointer leads to is copied, and never read where it is") {
  const auto object = sample();
  std::vector<std::uint64_t> words(object.bytes().size() / 8);
  std::memcpy(words.data(), object.bytes().data(), object.bytes().size());
  const auto count = static_cast<std::int32_t>(words.size());
  const auto root = words[0];
  // The root's pointer moves behind the object, and a far pointer to it takes its place.
  const auto offset = (static_cast<std::int32_t>(root & 0xffff'ffff) >> 2) - count;
  words.push_back((root & ~std::uint64_t{0xffff'ffff}) | (static_cast<std::uint32_t>(offset) << 2));
  words[0] = static_cast<std::uint64_t>(count) << 3 | 2;
  const auto bytes = std::as_bytes(std::span{words});

  const auto copied = Object<Allocation>::from_bytes(bytes);
  REQUIRE(copied.has_value());
  CHECK(copied->equals(object));
  CHECK(Object<Allocation>::check(bytes).error().code == nomad::Errc::corrupt);
}

TEST_CASE("Object: broken bytes are refused or read safely, never trusted") {
  const auto object = sample();
  const std::uint64_t seed = 4711;
  CAPTURE(seed);
  nomad::Random random{seed};
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes{object.bytes().begin(), object.bytes().end()};
    for (int hits = 0; hits < 3; ++hits)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    auto read = Object<Allocation>::from_bytes(bytes);
    if (!read) {
      CHECK(read.error().code == nomad::Errc::corrupt);
      continue;
    }
    for (auto entry : (*read)->task_states())  // touches every pointer; ASan watches
      for (auto event : entry.getValue().getEvents())
        CHECK(event.getType().size() < bytes.size());
  }
  CHECK(Object<Allocation>::from_bytes({}).error()
        == nomad::Error{nomad::Errc::corrupt, "the bytes are not a well-formed object"});
  CHECK(Object<Allocation>::from_bytes(object.bytes().subspan(3)).has_error());
  CHECK(Object<Allocation>::from_bytes(object.bytes().first(16)).has_error());
}

TEST_CASE("Object: what is not set behind the last field that is takes no room") {
  Draft<Allocation> draft;
  auto events = draft->initTaskStates(1)[0].initValue().initEvents(2);
  events[0].setType("Started");
  events[1].setDisplayMessage("Task started by client");
  const auto object = draft.freeze();
  // Of an event time is the first word of data, and displayMessage the third pointer; texts take a
  // word and three. The map's entry has two pointers, and the task's state the one to its events.
  const auto words_of_list = 1 + 2 * (0 + 3) + 1 + 3;
  const auto words_below = 1 + 2 + 1 + words_of_list;
  const auto root = object.reader().totalSize().wordCount - words_below;
  CHECK(object.bytes().size() / 8 == 1 + root + words_below);
  CHECK(object->task_states()[0].getValue().getEvents()[1].getGenericSource() == "");
  CHECK(object->task_states()[0].getValue().getEvents()[0].getKillTimeout() == 0);

  Draft<Allocation> change{object};
  auto changed = change->getTaskStates()[0].getValue().getEvents();
  changed[0].setGenericSource("here");
  changed[0].setDiskLimit(7);
  const auto longer = change.freeze();
  const auto event = longer->task_states()[0].getValue().getEvents()[0];
  CHECK(event.getGenericSource() == "here");
  CHECK(event.getDiskLimit() == 7);
  CHECK(event.getType() == "Started");
  CHECK(longer.size_in_bytes() > object.size_in_bytes());
}

TEST_CASE("Object: what is there but empty stays there, and its bytes are taken") {
  Draft<Allocation> draft;
  draft->initAllocatedResources();
  draft->initTaskStates(5'000);
  const auto object = draft.freeze();

  const auto copied = Object<Allocation>::from_bytes(object.bytes());

  REQUIRE(copied.has_value());
  CHECK(copied->equals(object));
  CHECK(copied->reader().hasAllocatedResources());
  CHECK((*copied)->task_states().size() == 5'000);
}

TEST_CASE("entries: sorted entries are found by key") {
  Draft<Job> draft;
  nomad::fill_entries(draft->initMeta(3), {{"b", "2"}, {"a", "1"}, {"c", "3"}});
  const auto job = draft.freeze();

  CHECK(nomad::find_text(job->getMeta(), "b") == "2");
  CHECK(nomad::find_text(job->getMeta(), "c") == "3");
  CHECK_FALSE(nomad::find_text(job->getMeta(), "bb").has_value());
}
