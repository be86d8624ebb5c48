// Who copies the write-ahead log, and when.
#include "runtime/storage/checkpoint_pace.hpp"

#include <doctest/doctest.h>

using nomad::storage::CheckpointPace;
using Copy = CheckpointPace::Copy;

TEST_CASE("checkpoint pace: nothing is copied of a short log") {
  CheckpointPace pace{100, 20};
  CHECK(pace.next(1) == Copy::none);
  CHECK(pace.next(99) == Copy::none);
  CHECK(pace.next(100) == Copy::beside);
}

TEST_CASE("checkpoint pace: the writer copies what a run beside it has left, if that is little") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Copy::beside);
  CHECK(pace.next(110) == Copy::none);  // it runs
  pace.ended(100);
  CHECK(pace.next(120) == Copy::finish);
  CHECK(pace.next(1) == Copy::none);  // the log has begun anew
  CHECK(pace.next(100) == Copy::beside);
}

TEST_CASE("checkpoint pace: if much is left there is another run beside the writes") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Copy::beside);
  pace.ended(100);
  CHECK(pace.next(121) == Copy::beside);
  pace.ended(121);
  CHECK(pace.next(141) == Copy::finish);
}

TEST_CASE("checkpoint pace: the writer does not go on when its own copy did not finish the log") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Copy::beside);
  pace.ended(100);
  REQUIRE(pace.next(110) == Copy::finish);
  CHECK(pace.next(111) == Copy::beside);
}

TEST_CASE("checkpoint pace: after a failure, or when the log began anew, the next run is beside") {
  CheckpointPace pace{100, 20};
  REQUIRE(pace.next(100) == Copy::beside);
  pace.ended({});
  CHECK(pace.next(101) == Copy::beside);
  pace.ended(101);
  CHECK(pace.next(50) == Copy::none);
  CHECK(pace.next(115) == Copy::beside);
}
