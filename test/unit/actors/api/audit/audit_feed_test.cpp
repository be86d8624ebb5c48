#include "actors/api/audit/audit_feed.hpp"

#include <optional>

#include <doctest/doctest.h>

namespace nomad::api {

TEST_CASE("audit_feed: what waits is bounded, what finds no room is refused and counted") {
  AuditFeed feed;
  std::optional<Result<>> outcome;
  const auto note = [&outcome](const Result<>& heard) { outcome = heard; };
  int woken = 0;
  feed.set_wake([&woken] { ++woken; });

  feed.add(std::string(AuditFeed::most_bytes, 'a'), note);
  CHECK_FALSE(outcome.has_value());
  feed.add("b", note);
  REQUIRE(outcome.has_value());
  CHECK(outcome->error() == Error{Errc::overloaded, "too much waits for the audit log"});
  CHECK(woken == 1);

  const auto taken = feed.take();
  CHECK(taken.events.size() == 1);
  CHECK(taken.lost == 1);
  CHECK(feed.take().lost == 0);
}

TEST_CASE("audit_feed: who waits hears of it when nobody writes any more") {
  std::optional<Result<>> outcome;
  {
    AuditFeed feed;
    feed.add("a", [&outcome](const Result<>& heard) { outcome = heard; });
    CHECK_FALSE(outcome.has_value());
    SUBCASE("by its end") {}
    SUBCASE("by a close, after which nobody is taken") {
      feed.close();
      REQUIRE(outcome.has_value());
      outcome.reset();
      feed.add("b", [&outcome](const Result<>& heard) { outcome = heard; });
    }
  }
  REQUIRE(outcome.has_value());
  CHECK(outcome->error() == Error{Errc::unavailable, "the audit log was stopped"});
}

}  // namespace nomad::api
