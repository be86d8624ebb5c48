#include "runtime/audit/filter.hpp"

#include <doctest/doctest.h>

namespace nomad::audit {

TEST_CASE("filter: leaves out what fits all of its three lists") {
  const std::vector<Filter> filters{
      {{"/v1/metrics"}, {"*"}, {"*"}},
      {{"/v1/evaluation/*/allocations"}, {"*"}, {"*"}},
      {{"*"}, {"OperationReceived"}, {"GET"}},
  };
  const auto is_out = [&](Stage stage, std::string_view path, std::string_view method) {
    return leaves_out(filters, stage, path, method);
  };

  CHECK(is_out(Stage::complete, "/v1/metrics", "GET"));
  CHECK_FALSE(is_out(Stage::complete, "/v1/metrics/", "GET"));
  CHECK(is_out(Stage::complete, "/v1/evaluation/1/allocations", "PUT"));
  CHECK(is_out(Stage::received, "/v1/jobs", "GET"));
  CHECK_FALSE(is_out(Stage::received, "/v1/jobs", "PUT"));
  CHECK_FALSE(is_out(Stage::complete, "/v1/jobs", "GET"));
  CHECK_FALSE(leaves_out({}, Stage::complete, "/v1/jobs", "GET"));
}

TEST_CASE("filter: a list without a pattern fits nothing") {
  CHECK_FALSE(leaves_out({{{}, {"*"}, {"*"}}}, Stage::complete, "/v1/jobs", "GET"));
  CHECK_FALSE(leaves_out({{{"*"}, {}, {"*"}}}, Stage::complete, "/v1/jobs", "GET"));
  CHECK_FALSE(leaves_out({{{"*"}, {"*"}, {}}}, Stage::complete, "/v1/jobs", "GET"));
}

}  // namespace nomad::audit
