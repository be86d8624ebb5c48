#include "runtime/template/change/missing_report.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;
using namespace std::chrono_literals;

TEST_CASE("missing_report: names three, and counts the rest") {
  CHECK(missing_text({"nomad.service(db)"}) == "Missing: nomad.service(db)");
  CHECK(missing_text({"c", "a", "b"}) == "Missing: a, b, c");
  CHECK(missing_text({"a", "b", "c", "d", "e"}) == "Missing: a, b, c, and 2 more");
}

TEST_CASE("missing_report: speaks after its delay, of what is missing then") {
  MissingReport report{3s};
  report.update({"a", "b"}, 10s);
  report.update({"b"}, 11s);

  CHECK(report.due() == 13s);
  CHECK_FALSE(report.take(12s));
  CHECK(report.take(13s) == "Missing: b");
  CHECK_FALSE(report.due());
}

TEST_CASE("missing_report: does not repeat itself, and says nothing once all is there") {
  MissingReport report{3s};
  report.update({"a"}, 0s);
  CHECK(report.take(3s) == "Missing: a");
  report.update({"a"}, 4s);
  CHECK_FALSE(report.due());

  report.update({"z"}, 5s);
  report.update({}, 6s);
  CHECK_FALSE(report.due());
}
