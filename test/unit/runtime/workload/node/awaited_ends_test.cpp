// Who waits for the end of which allocation, and whose directory stays.
#include "runtime/workload/node/awaited_ends.hpp"

#include <doctest/doctest.h>

using nomad::workload::AwaitedEnds;

TEST_CASE("awaited_ends: who waits hears of the end, each once") {
  AwaitedEnds ends;
  ends.await("a", 1);
  ends.await("a", 2);
  ends.await("b", 3);
  CHECK(ends.ended("a") == std::vector<std::uint64_t>{1, 2});
  CHECK(ends.ended("a").empty());
}

TEST_CASE("awaited_ends: a directory stays until the last successor has it") {
  AwaitedEnds ends;
  ends.keep("a", "b");
  ends.keep("a", "c");
  ends.keep("x", "");
  CHECK(ends.put_off("a"));
  CHECK_FALSE(ends.put_off("x"));
  CHECK(ends.release("b").empty());
  CHECK(ends.release("c") == std::vector<std::string>{"a"});
  CHECK_FALSE(ends.put_off("a"));
}

TEST_CASE("awaited_ends: what nobody wanted to collect is not demanded") {
  AwaitedEnds ends;
  ends.keep("a", "b");
  CHECK(ends.release("b").empty());
}
