#include "runtime/csi/cause.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::csi;

TEST_CASE("cause: numbers of the wire are causes, and others are unknown") {
  CHECK(cause_of(0) == Cause::none);
  CHECK(cause_of(9) == Cause::failed_precondition);
  CHECK(cause_of(100) == Cause::no_socket);
  for (const auto number : {17, 99, 103, 65'535})
    CHECK(cause_of(static_cast<std::uint16_t>(number)) == Cause::unknown);
}

TEST_CASE("cause: what says nothing about the question may pass") {
  for (const auto cause : {Cause::deadline, Cause::exhausted, Cause::aborted, Cause::unavailable,
                           Cause::no_socket, Cause::not_asked})
    CHECK_MESSAGE(may_pass(cause), name_of(cause));
  for (const auto cause : {Cause::not_found, Cause::internal, Cause::invalid_argument,
                           Cause::nonsense, Cause::cancelled, Cause::failed_precondition})
    CHECK_FALSE_MESSAGE(may_pass(cause), name_of(cause));
}

TEST_CASE("cause: it becomes an error with its text") {
  CHECK(error_of({Cause::not_found, "no such volume"}) == Error{Errc::not_found, "no such volume"});
  CHECK(error_of({Cause::deadline, "late"}).code == Errc::timeout);
}
