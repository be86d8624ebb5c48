#include "runtime/workload/client_status.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;

TEST_CASE("client_status: an allocation without tasks is pending, and says nothing") {
  const auto summary = client_status({});
  CHECK(summary.status == ClientStatus::PENDING);
  CHECK(summary.description.empty());
}
