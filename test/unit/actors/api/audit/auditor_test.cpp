#include "actors/api/audit/auditor.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/ids.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// Sinks without an actor: the test takes what waits.
struct Sinks {
  explicit Sinks(const std::vector<bool>& enforced, std::vector<audit::Filter> filters = {})
      : auditor{make(enforced), std::move(filters), "10.0.0.1:4646"} {}

  std::vector<Auditor::Sink> make(const std::vector<bool>& enforced) {
    std::vector<Auditor::Sink> sinks;
    for (const bool is_enforced : enforced) {
      feeds.push_back(std::make_shared<AuditFeed>());
      sinks.push_back({{{}, feeds.back()}, is_enforced});
    }
    return sinks;
  }

  void write() {
    auditor.write("{", [this](const Result<>& outcome) { outcomes.push_back(outcome); });
  }

  /// The sink has written what waits.
  void deliver(std::size_t sink, const Result<>& outcome) {
    auto taken = feeds[sink]->take();
    for (auto& delivery : taken.deliveries)
      delivery(outcome);
  }

  std::vector<std::shared_ptr<AuditFeed>> feeds;
  std::vector<Result<>> outcomes;
  Auditor auditor;
};

const Error full{Errc::unavailable, "the disk is full"};

}  // namespace

TEST_CASE("auditor: nobody waits for a sink that is not enforced") {
  Sinks sinks{{false}};
  CHECK_FALSE(sinks.auditor.is_enforced());

  sinks.write();

  REQUIRE(sinks.outcomes.size() == 1);
  CHECK(sinks.outcomes[0].has_value());
  const auto taken = sinks.feeds[0]->take();
  CHECK(taken.events == std::vector<std::string>{"{"});
}

TEST_CASE("auditor: who waits hears once, when all enforced sinks have the event") {
  Sinks sinks{{true, false, true}};
  CHECK(sinks.auditor.is_enforced());

  sinks.write();
  sinks.deliver(0, {});
  sinks.deliver(1, {});
  CHECK(sinks.outcomes.empty());
  sinks.deliver(2, {});

  REQUIRE(sinks.outcomes.size() == 1);
  CHECK(sinks.outcomes[0].has_value());
}

TEST_CASE("auditor: the first failure of a sink counts") {
  Sinks sinks{{true, true, true}};

  sinks.write();
  sinks.deliver(0, {});
  sinks.deliver(1, full);
  sinks.deliver(2, Error{Errc::unavailable, "another"});

  REQUIRE(sinks.outcomes.size() == 1);
  REQUIRE_FALSE(sinks.outcomes[0]);
  CHECK(sinks.outcomes[0].error() == full);
}

TEST_CASE("auditor: wants what no filter leaves out") {
  const Sinks all{{true}};
  CHECK(all.auditor.wants(audit::Stage::received, "/v1/metrics", "GET"));
  const Sinks filtered{{true}, {{{"/v1/metrics"}, {"*"}, {"*"}}}};
  CHECK_FALSE(filtered.auditor.wants(audit::Stage::received, "/v1/metrics", "GET"));
  CHECK(filtered.auditor.wants(audit::Stage::received, "/v1/jobs", "GET"));
}

TEST_CASE("auditor: each request has an id of its own") {
  Sinks sinks{{true}};
  const auto one = sinks.auditor.make_id();
  CHECK(is_uuid(one));
  CHECK(one != sinks.auditor.make_id());
  CHECK(sinks.auditor.node_ip() == "10.0.0.1:4646");
}
