#include "actors/plugin/incoming_frames.hpp"

#include <doctest/doctest.h>

#include "actors/plugin/pending_requests.hpp"
#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

plugin::Frame numbered(std::uint64_t number) {
  Draft<schema::plugin::Frame> draft;
  draft->setNumber(number);
  return draft.freeze();
}

constexpr auto nothing_is_free = [](schema::plugin::Frame::Reader) { return false; };

int taken(plugin::IncomingFrames& incoming, std::chrono::nanoseconds now) {
  int count = 0;
  while (incoming.next(now, nothing_is_free))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("incoming frames: so much at once, and so much a second, in its order") {
  plugin::IncomingFrames incoming;
  for (std::uint64_t i = 0; i < 25'000; ++i)
    incoming.add(numbered(i), 20);
  CHECK(taken(incoming, 1h) == 20'000);
  CHECK(taken(incoming, 1h) == 0);
  CHECK(taken(incoming, 1h + 1s) == 2'000);
  CHECK(incoming.is_waiting());
  CHECK(incoming.next(1h + 2s, nothing_is_free)->frame->getNumber() == 22'000);
}

TEST_CASE("incoming frames: a large message counts as many") {
  plugin::IncomingFrames incoming;
  for (int i = 0; i < 20; ++i)
    incoming.add(numbered(0), std::size_t{16} << 20);
  CHECK(taken(incoming, 1h) == 9);
  CHECK(taken(incoming, 1h + 1s) <= 1);
}

TEST_CASE("incoming frames: answers are free, but do not overtake") {
  plugin::IncomingFrames incoming;
  for (std::uint64_t i = 0; i <= 20'000; ++i)
    incoming.add(numbered(0), 20);
  incoming.add(numbered(7), 20);
  incoming.add(numbered(0), 20);
  const auto is_free = [](schema::plugin::Frame::Reader frame) { return frame.getNumber() == 7; };
  int count = 0;
  while (incoming.next(1h, is_free))
    ++count;
  CHECK(count == 20'000);
  CHECK(incoming.next(1h + 1ms, is_free));  // the one before it
  CHECK(incoming.next(1h + 1ms, is_free)->frame->getNumber() == 7);
  incoming.clear();
  CHECK_FALSE(incoming.is_waiting());
}

TEST_CASE("waiting room: guests are asked in their order, or fail") {
  plugin::PendingRequests room;
  std::vector<std::string> happened;
  const auto request = [&happened](std::string name, std::uint64_t instance) {
    return plugin::PendingRequests::Request{
        .ask = [&happened, name] { happened.push_back("asked " + name); },
        .fail = [&happened, name](const Error& why) { happened.push_back(name + ' ' + why.what); },
        .instance = instance};
  };
  for (auto each : {request("a", 1), request("b", 2), request("c", 1), request("d", 0)})
    REQUIRE(room.add(each));
  room.fail(1, {Errc::cancelled, "is over"});
  CHECK(happened == std::vector<std::string>{"a is over", "c is over"});
  room.admit();
  CHECK(happened.size() == 4);
  CHECK(happened.back() == "asked d");
  room.admit();
  CHECK(happened.size() == 4);
  for (std::size_t i = 0; i < plugin::PendingRequests::most; ++i) {
    auto one = request("x", 0);
    REQUIRE(room.add(one));
  }
  auto last = request("last", 0);
  CHECK_FALSE(room.add(last));
  CHECK(last.fail);
}
