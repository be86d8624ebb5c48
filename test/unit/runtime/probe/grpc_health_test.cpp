// The two messages of gRPC's health checking.
#include "runtime/probe/grpc_health.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::probe;
using namespace std::string_literals;

TEST_CASE("grpc_health: requests") {
  CHECK(encode_health_request("") == "\0\0\0\0\0"s);
  CHECK(encode_health_request("db") == "\0\0\0\0\x04\x0a\x02"s + "db");
  const std::string longer(300, 'x');
  CHECK(encode_health_request(longer) == "\0\0\0\x01\x2f\x0a\xac\x02"s + longer);
}

TEST_CASE("grpc_health: answers") {
  CHECK(decode_health_answer("\0\0\0\0\x02\x08\x01"s).value() == "SERVING");
  CHECK(decode_health_answer("\0\0\0\0\x02\x08\x02"s).value() == "NOT_SERVING");
  CHECK(decode_health_answer("\0\0\0\0\x02\x08\x03"s).value() == "SERVICE_UNKNOWN");
  CHECK(decode_health_answer("\0\0\0\0\0"s).value() == "UNKNOWN");
  CHECK(decode_health_answer("\0\0\0\0\x02\x08\x09"s).value() == "9");
  // Fields of a later version of the protocol, before and behind.
  CHECK(
      decode_health_answer("\0\0\0\0\x0e\x12\x02xy\x08\x01\x1d"s + "1234" + "\x20\x80\x01"s).value()
      == "SERVING");
  CHECK(decode_health_answer("\0\0\0\0\x0b\x11"s + "12345678" + "\x08\x01").value() == "SERVING");
}

TEST_CASE("grpc_health: what is no answer is refused") {
  for (const auto& bytes : {""s, "\0\0\0\0"s, "\x01\0\0\0\x02\x08\x01"s, "\0\0\0\0\x02\x08"s,
                            "\0\0\0\0\x01\x08"s, "\0\0\0\0\x03\x08\x01"s, "\0\0\0\0\x02\x08\x80"s,
                            "\0\0\0\0\x02\x12\x7f"s, "\0\0\0\0\x01\x0b"s, "\0\0\0\0\x02\x11\x01"s,
                            "\0\0\0\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s})
    CHECK(decode_health_answer(bytes).error().code == Errc::corrupt);
}

TEST_CASE("grpc_health: names of what went wrong") {
  CHECK(status_name(0) == "OK");
  CHECK(status_name(5) == "NotFound");
  CHECK(status_name(12) == "Unimplemented");
  CHECK(status_name(16) == "Unauthenticated");
  CHECK(status_name(17) == "Code(17)");
  CHECK(status_name(-1) == "Code(-1)");
}
