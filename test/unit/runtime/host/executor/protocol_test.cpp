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

TEST_CASE("protocol: a start message of version 1 keeps its bytes' meaning") {
  // Written by the first release. An executor of it may run under a later agent, so what these
  // bytes say must never change; a test that fails here has found an incompatible schema.
  const unsigned char golden[]
      = {96,  1,   0,  0, 0,  0,  0,   0,   43,  0,   0,   0,   0,   0,  0,   0, 2,   0,   1,   0,
         9,   0,   0,  0, 2,  0,  0,   0,   0,   0,   0,   0,   0,   0,  0,   0, 0,   0,   0,   0,
         0,   0,   13, 0, 49, 0,  0,   0,   50,  0,   0,   0,   49,  0,  0,   0, 26,  0,   0,   0,
         49,  0,   0,  0, 14, 0,  0,   0,   53,  0,   0,   0,   14,  0,  0,   0, 57,  0,   0,   0,
         50,  0,   0,  0, 57, 0,  0,   0,   42,  0,   0,   0,   56,  0,  0,   0, 1,   0,   1,   0,
         64,  0,   0,  0, 2,  0,  2,   0,   85,  0,   0,   0,   31,  0,  0,   0, 97,  0,   0,   0,
         42,  0,   0,  0, 97, 0,  0,   0,   14,  0,   0,   0,   101, 0,  0,   0, 26,  0,   0,   0,
         101, 0,   0,  0, 42, 0,  0,   0,   114, 117, 110, 45,  49,  0,  0,   0, 115, 104, 0,   0,
         0,   0,   0,  0, 1,  0,  0,   0,   26,  0,   0,   0,   45,  99, 0,   0, 0,   0,   0,   0,
         1,   0,   0,  0, 34, 0,  0,   0,   65,  61,  98,  0,   0,   0,  0,   0, 47,  116, 97,  115,
         107, 0,   0,  0, 47, 98, 105, 110, 0,   0,   0,   0,   1,   0,  0,   0, 2,   0,   0,   0,
         1,   0,   0,  0, 12, 0,  0,   0,   3,   0,   0,   0,   0,   0,  0,   0, 4,   0,   0,   0,
         0,   0,   0,  0, 5,  0,  0,   0,   0,   0,   0,   0,   5,   0,  0,   0, 58,  0,   0,   0,
         5,   0,   0,  0, 34, 0,  0,   0,   47,  97,  108, 108, 111, 99, 0,   0, 119, 101, 98,  0,
         0,   0,   0,  0, 4,  0,  0,   0,   3,   0,   0,   0,   6,   0,  0,   0, 0,   0,   0,   0,
         7,   0,   0,  0, 0,  0,  0,   0,   8,   0,   0,   0,   0,   0,  0,   0, 47,  110, 101, 116,
         0,   0,   0,  0, 1,  0,  0,   0,   34,  0,   0,   0,   47,  99, 103, 0, 0,   0,   0,   0,
         47,  117, 0,  0, 0,  0,  0,   0,   47,  111, 111, 109, 0,   0,  0,   0};
  FrameReader reader;
  reader.append({reinterpret_cast<const char*>(golden), sizeof golden});
  bool seen = false;
  auto outcome = reader.next([&](Message::Reader message) {
    auto start = message.getStart();
    auto is = [](capnp::Text::Reader text, std::string_view expected) {
      return std::string_view{text.cStr(), text.size()} == expected;
    };
    seen = message.getId() == 9 && is(start.getRunId(), "run-1") && is(start.getCommand(), "sh")
           && start.getArguments().size() == 1 && is(start.getArguments()[0], "-c")
           && is(start.getEnvironment()[0], "A=b") && is(start.getTaskDirectory(), "/task")
           && is(start.getSearchPath(), "/bin") && start.getUser().getUid() == 1
           && start.getUser().getGid() == 2 && start.getUser().getGroups()[0] == 3
           && is(start.getLogs().getAllocRoot(), "/alloc") && is(start.getLogs().getTask(), "web")
           && start.getLogs().getMaxFiles() == 4 && start.getLogs().getMaxFileBytes() == 5
           && start.getLimits()[0].getResource() == 6 && start.getLimits()[0].getSoft() == 7
           && start.getLimits()[0].getHard() == 8 && is(start.getNetworkNamespace(), "/net")
           && is(start.getCgroupDirectories()[0], "/cg") && is(start.getCgroupUnified(), "/u")
           && is(start.getOomEvents(), "/oom");
  });
  CHECK(outcome == FrameReader::Outcome::message);
  CHECK(seen);
}
