#include "runtime/base/work.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("work: ends when it is used up, and stays so") {
  Work work{1'000};

  CHECK(work.take(1'000).has_value());
  CHECK(work.take(1).error() == Error{Errc::too_large, "this takes more work than is allowed"});
  CHECK(work.take(0).error().code == Errc::too_large);
  CHECK(Work{1'000}.take_steps(std::uint64_t{1} << 60U).error().code == Errc::too_large);
}

TEST_CASE("work: looks each so many units, and once refused asks no more") {
  int looks = 0;
  bool wanted = true;
  Work work{std::uint64_t{1} << 40U, [&]() -> Result<void> {
              ++looks;
              if (wanted) return {};
              return Error{Errc::cancelled, "the task has ended"};
            }};

  for (std::uint64_t taken = 0; taken < 10 * Work::look_every; taken += Work::look_every / 4)
    REQUIRE(work.take(Work::look_every / 4).has_value());
  CHECK(looks == 10);
  wanted = false;
  CHECK(work.take(Work::look_every).error().what == "the task has ended");
  CHECK(work.take(1).error().code == Errc::cancelled);
  CHECK(looks == 11);
}

TEST_CASE("work: what nothing can stop is bounded by itself") {
  Work work{std::uint64_t{1} << 50U};

  CHECK(work.take_at_once(Work::at_once).has_value());
  CHECK(work.take_at_once(Work::at_once + 1).error()
        == Error{Errc::too_large, "this takes more work at once than is allowed"});
  CHECK(work.take(1).has_error());
}

TEST_CASE("work: who can't fail leaves it to the next one") {
  Work work{1'000};

  work.note(2'000);

  CHECK(work.take(1).error().code == Errc::too_large);
}
