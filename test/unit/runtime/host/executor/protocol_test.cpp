#include "runtime/host/executor/protocol.hpp"

#include <functional>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "runtime/host/executor/exit_status.hpp"

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
           && is(start.getOomEvents(), "/oom") && is(start.getCgroupShared(), "");
  });
  CHECK(outcome == FrameReader::Outcome::message);
  CHECK(seen);
}

TEST_CASE("protocol: what else version 1 says keeps its meaning") {
  // As above: written by the first release, both by its executors and by its agents.
  const auto read = [](std::string_view hex, const std::function<void(Message::Reader)>& check) {
    std::string bytes;
    for (std::size_t at = 0; at < hex.size(); at += 2)
      bytes += static_cast<char>(std::stoi(std::string{hex.substr(at, 2)}, nullptr, 16));
    const auto size = static_cast<char>(bytes.size());
    FrameReader reader;
    reader.append(std::string{size, 0, 0, 0} + bytes);
    CHECK(reader.next(check) == FrameReader::Outcome::message);
  };
  read(
      "0000000011000000000000000200010003000000010000000000000000000000000000000100030001000000"
      "0700000009000000320000000800000003000100180000000300000072756e2d310000000800000000000000"
      "09000000000000000a00000000000000010000002a000000626f6f740000000089000000090000000100000000"
      "0000000b00000000000000",
      [](Message::Reader message) {
        REQUIRE(message.isWelcome());
        const auto welcome = message.getWelcome();
        CHECK(message.getId() == 3);
        CHECK(welcome.getVersion() == 1);
        CHECK(welcome.getExecutorPid() == 7);
        CHECK(std::string_view{welcome.getRunId().cStr()} == "run-1");
        CHECK(welcome.getProcess().getPid() == 8);
        CHECK(welcome.getProcess().getStartTicks() == 9);
        CHECK(std::string_view{welcome.getProcess().getBootId().cStr()} == "boot");
        CHECK(welcome.getProcess().getStartedAt() == 10);
        CHECK(from_message(welcome.getExit()) == ExitStatus{137, 9, true, 11});
      });
  read(
      "000000000700000000000000020001000000000009000000000000000000000000000000030000000300000000"
      "00000000000000000000000c00000000000000",
      [](Message::Reader message) {
        REQUIRE(message.isExited());
        CHECK(from_message(message.getExited()) == ExitStatus{3, 0, false, 12});
      });
  read(
      "000000000500000000000000020001000100000000000000000000000000000000000000010000000100010000"
      "000000",
      [](Message::Reader message) {
        REQUIRE(message.isHello());
        CHECK(common_version(message.getHello().getMinVersion(), message.getHello().getMaxVersion())
              == 1);
      });
  read(
      "000000000600000000000000020001000400000005000000000000000000000000000000020000000f00000000"
      "0000008813000000000000",
      [](Message::Reader message) {
        REQUIRE(message.isStop());
        CHECK(message.getStop().getSignal() == 15);
        CHECK(message.getStop().getGraceMs() == 5000);
      });
}

TEST_CASE("protocol: the newest version that both know is spoken") {
  CHECK(common_version(1, 1) == 1);
  CHECK(common_version(1, 2) == 2);
  CHECK(common_version(2, 9) == protocol_version);
  CHECK(common_version(protocol_version + 1, 9) == 0);
  CHECK(common_version(0, 0) == 0);
}
