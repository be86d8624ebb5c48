// Lines of the log as they are written.
#include "runtime/base/log.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("log: one event is one line, and no name in it reaches a terminal") {
  std::string seen;
  const auto id = log::add_listener(log::Level::error,
                                    [&seen](log::Level, const std::string& line) { seen = line; });
  log::write(log::Level::error, "test", "job \"a\nb\033[2J\xc2\x9b\x7f\" gr\xc3\xbc\xc3\x9f\t.");
  log::remove_listener(id);
  CHECK(seen.find("[ERROR] test: job \"a b\\x1b[2J\\u009b\\x7f\" gr\xc3\xbc\xc3\x9f\t.")
        != std::string::npos);
}
