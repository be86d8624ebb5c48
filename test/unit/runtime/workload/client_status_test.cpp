#include "runtime/workload/client_status.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;

TEST_CASE("client_status: what ends on the client is not what the servers end") {
  for (const auto status : {ClientStatus::COMPLETE, ClientStatus::FAILED, ClientStatus::LOST})
    CHECK(workload::is_client_terminal(status));
  for (const auto status : {ClientStatus::PENDING, ClientStatus::RUNNING, ClientStatus::UNKNOWN})
    CHECK_FALSE(workload::is_client_terminal(status));
  CHECK(is_server_terminal(schema::DesiredStatus::STOP));
  CHECK(is_server_terminal(schema::DesiredStatus::EVICT));
  CHECK_FALSE(is_server_terminal(schema::DesiredStatus::RUN));
}

TEST_CASE("client_status: an allocation without tasks is pending, and says nothing") {
  const auto summary = client_status({});
  CHECK(summary.status == ClientStatus::PENDING);
  CHECK(summary.description.empty());
}
