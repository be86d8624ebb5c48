#include "runtime/net/http/error_status.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::net;

TEST_CASE("error_status: every code has a status, and a status a code that has it, too") {
  for (unsigned number = 1; number <= static_cast<unsigned>(last_errc); ++number) {
    const auto code = static_cast<Errc>(number);
    CAPTURE(to_string(code));
    CHECK(to_string(code) != "unknown");
    const auto status = http_status(code);
    CHECK(status >= 400);
    CHECK(status < 600);
    CHECK(http_status(code_of_status(status)) == status);
  }
}

TEST_CASE("error_status: the caller's mistakes are 4xx, ours are 5xx") {
  CHECK(http_status(Errc::invalid_argument) == 400);
  CHECK(http_status(Errc::rejected) == 400);
  CHECK(http_status(Errc::permission_denied) == 403);
  CHECK(http_status(Errc::not_found) == 404);
  CHECK(http_status(Errc::conflict) == 409);
  CHECK(http_status(Errc::no_leader) == 500);
  CHECK(http_status(Errc::io) == 500);
  CHECK(code_of_status(404) == Errc::not_found);
  CHECK(code_of_status(405) == Errc::rejected);
  CHECK(code_of_status(503) == Errc::internal);
}
