#include "runtime/telemetry/identity_counters.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

namespace nomad::telemetry {
namespace {

/// "token:a=2 other=1": the counters of a name by identity.
std::string counted(Registry& registry, std::string_view name) {
  const auto json = boost::json::parse(registry.json(1'000'000'000));
  std::string all;
  for (const auto& counter : json.at("Counters").as_array()) {
    if (counter.at("Name").as_string() != "nomad." + std::string{name}) continue;
    all += std::string{counter.at("Labels").at("identity").as_string()} + '='
           + std::to_string(counter.at("Count").to_number<int>()) + ' ';
  }
  return all;
}

}  // namespace

TEST_CASE("identity_counters: each identity has its series; without room it is \"other\"") {
  using namespace std::chrono_literals;
  const auto registry = std::make_shared<Registry>(Options{});
  registry->advance(1'000'000'000);
  IdentityCounters counters{registry, 2};
  const IdentityCounters::Time start{std::chrono::hours{1}};

  counters.count("rpc.job.read", "token:a", start);
  counters.count("rpc.job.read", "token:a", start);
  counters.count("rpc.job.read", "token:b", start + 9min);
  counters.count("rpc.job.read", "token:c", start + 9min);
  CHECK(counted(*registry, "rpc.job.read") == "other=1 token:a=2 token:b=1 ");

  counters.count("rpc.job.read", "token:c", start + 11min);  // in the place of token:a
  CHECK(counters.size() == 2);
  CHECK(counted(*registry, "rpc.job.read").find("token:c=1") != std::string::npos);
}

}  // namespace nomad::telemetry
