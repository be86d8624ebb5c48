// Who waits for the end of which allocation, and whose directory stays.
#include "runtime/workload/node/previous_allocs.hpp"

#include <doctest/doctest.h>

using nomad::workload::PreviousAllocs;

TEST_CASE("previous_allocs: who waits hears of the end, each once") {
  PreviousAllocs ends;
  ends.await("a", 1);
  ends.await("a", 2);
  ends.await("b", 3);
  CHECK(ends.ended("a") == std::vector<std::uint64_t>{1, 2});
  CHECK(ends.ended("a").empty());
}

TEST_CASE("previous_allocs: a directory stays until the last successor has it") {
  PreviousAllocs ends;
  ends.keep("a", "b");
  ends.keep("a", "c");
  ends.keep("x", "");
  CHECK(ends.put_off("a"));
  CHECK_FALSE(ends.put_off("x"));
  CHECK(ends.release("b").empty());
  CHECK(ends.release("c") == std::vector<std::string>{"a"});
  CHECK_FALSE(ends.put_off("a"));
}

TEST_CASE("previous_allocs: what nobody wanted to collect is not demanded") {
  PreviousAllocs ends;
  ends.keep("a", "b");
  CHECK(ends.release("b").empty());
}
