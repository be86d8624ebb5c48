// Who copies the write-ahead log, and when.
#include "runtime/storage/checkpoint_pace.hpp"

#include <doctest/doctest.h>

using nomad::storage::CheckpointPace;
using Step = CheckpointPace::Step;

TEST_CASE("checkpoint pace: nothing is copied of a short log") {
  CheckpointPace pace{100, 20};
  CHECK(pace.next(1) == Step::none);
  CHECK(pace.next(99) == Step::none);
  CHECK(pace.next(100) == Step::beside);
}

TEST_CASE("checkpoint pace: the writer copies what a run beside it has left, if that is little") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Step::beside);
  CHECK(pace.next(110) == Step::none);  // it runs
  pace.ended(100);
  CHECK(pace.next(120) == Step::finish);
  CHECK(pace.next(1) == Step::none);  // the log has begun anew
  CHECK(pace.next(100) == Step::beside);
}

TEST_CASE("checkpoint pace: if much is left there is another run beside the writes") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Step::beside);
  pace.ended(100);
  CHECK(pace.next(121) == Step::beside);
  pace.ended(121);
  CHECK(pace.next(141) == Step::finish);
}

TEST_CASE("checkpoint pace: the writer does not go on when its own copy did not finish the log") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Step::beside);
  pace.ended(100);
  REQUIRE(pace.next(110) == Step::finish);
  CHECK(pace.next(111) == Step::beside);
}

TEST_CASE("checkpoint pace: after a failure, or when the log began anew, the next run is beside") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Step::beside);
  pace.ended({});
  CHECK(pace.next(101) == Step::beside);
  pace.ended(101);
  CHECK(pace.next(50) == Step::none);
  CHECK(pace.next(115) == Step::beside);
}
