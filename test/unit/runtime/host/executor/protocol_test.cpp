#include "runtime/host/executor/protocol.hpp"

#include <random>

#include <doctest/doctest.h>

using namespace nomad::host::executor;

namespace {

std::string start_frame(std::uint32_t id) {
  return frame(id, [](Message::Builder message) {
    auto start = message.initStart();
    start.setRunId("run-1");
    auto arguments = start.initArguments(2);
    arguments.set(0, "-c");
    arguments.set(1, std::string(5000, 'x'));
  });
}

}  // namespace

TEST_CASE("protocol: messages arrive whole, however the bytes are cut") {
  std::string bytes = start_frame(7) + start_frame(8);
  for (std::size_t piece : {1UL, 3UL, 4096UL, bytes.size()}) {
    FrameReader reader;
    std::vector<std::uint32_t> ids;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.append(std::string_view{bytes}.substr(at, piece));
      while (reader.next([&](Message::Reader message) {
        CHECK(message.getStart().getArguments()[1].size() == 5000);
        ids.push_back(message.getId());
      }) == FrameReader::Outcome::message) {
      }
    }
    CHECK(ids == std::vector<std::uint32_t>{7, 8});
  }
}

TEST_CASE("protocol: impossible lengths are refused before anything is kept for them") {
  for (std::string head : {std::string("\0\0\0\0", 4), std::string("\1\0\0\0", 4),
                           std::string("\xff\xff\xff\xff", 4), std::string("\0\0\0\x01", 4)}) {
    FrameReader reader;
    reader.append(head);
    CHECK(reader.next([](Message::Reader) { FAIL("no message"); })
          == FrameReader::Outcome::malformed);
  }
}

TEST_CASE("protocol: damaged messages are read or refused, and never crash") {
  std::string good = start_frame(7);
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string bytes = good;
    for (unsigned i = 0; i <= random() % 8; ++i)
      bytes[4 + random() % 200] = static_cast<char>(random());
    FrameReader reader;
    reader.append(bytes);
    // Not in a CHECK, which would swallow the exception that the reader turns into an outcome.
    std::size_t longest = 0;
    auto outcome = reader.next([&](Message::Reader message) {
      if (!message.isStart()) return;
      for (auto argument : message.getStart().getArguments())
        longest = std::max<std::size_t>(longest, argument.size());
      longest = std::max<std::size_t>(longest, message.getStart().getRunId().size());
    });
    CHECK(outcome != FrameReader::Outcome::nothing);
    CHECK(longest <= good.size());
  }
}
