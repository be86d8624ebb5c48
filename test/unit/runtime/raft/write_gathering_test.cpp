#include "runtime/raft/write_gathering.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using nomad::raft::Time;
using nomad::raft::WriteGathering;

namespace {

struct Rounds {
  WriteGathering gathering;
  Time now = 1h;

  /// One after the other, each as long.
  void pass(int count, Time takes) {
    for (int i = 0; i < count; ++i) {
      gathering.begin(now);
      now += takes;
      gathering.end(now);
    }
  }

  /// What a write meets that comes in while a round is under way.
  bool holds_back(std::size_t voters = 3) {
    gathering.begin(now);
    return gathering.holds_back(voters);
  }
};

}  // namespace

TEST_CASE("write gathering: who comes alone goes at once") {
  Rounds rounds;
  CHECK(!rounds.gathering.holds_back(3));
  CHECK(!rounds.gathering.is_due());
  rounds.pass(10, 1ms);
  CHECK(!rounds.gathering.holds_back(3));
}

TEST_CASE("write gathering: who comes during a short round waits for its end") {
  Rounds rounds;
  rounds.pass(10, 1ms);
  CHECK(rounds.holds_back());
  CHECK(!rounds.gathering.is_due());
  rounds.gathering.end(rounds.now + 1ms);
  CHECK(rounds.gathering.is_due());
  CHECK(!rounds.gathering.holds_back(3));  // now they are proposed
  CHECK(!rounds.gathering.is_due());
}

TEST_CASE("write gathering: a single voter has nobody to wait for") {
  Rounds rounds;
  CHECK(!rounds.holds_back(1));
  rounds.gathering.end(rounds.now);
  CHECK(!rounds.gathering.is_due());
}

TEST_CASE("write gathering: long rounds are not waited for, until they are short again") {
  Rounds rounds;
  rounds.pass(1, 19ms);
  CHECK(rounds.holds_back());  // one is no average
  rounds.gathering.end(rounds.now);
  rounds.pass(20, WriteGathering::worth_waiting + 1ms);
  CHECK(!rounds.holds_back());
  rounds.gathering.end(rounds.now);
  rounds.pass(20, 1ms);
  CHECK(rounds.holds_back());
}

TEST_CASE("write gathering: a round begins with its first write") {
  Rounds rounds;
  rounds.gathering.begin(rounds.now);
  rounds.gathering.begin(rounds.now + 39ms);
  rounds.gathering.end(rounds.now + 40ms);  // 10 ms on average
  CHECK(!rounds.holds_back());
}

TEST_CASE("write gathering: a lost round says nothing of how long one takes, but is over") {
  Rounds rounds;
  rounds.pass(10, 1ms);
  CHECK(rounds.holds_back());
  rounds.gathering.abandon();
  CHECK(rounds.gathering.is_due());
  rounds.gathering.end(rounds.now + 1h);
  CHECK(rounds.holds_back());
}
