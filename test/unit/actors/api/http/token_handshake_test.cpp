#include "actors/api/http/token_handshake.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::api;

namespace {

std::string token_or_error(std::string_view text) {
  const auto token = parse_token_handshake(text);
  return token ? *token : "error: " + token.error().what;
}

}  // namespace

TEST_CASE("token handshake: the first message brings the token") {
  CHECK(token_or_error(R"({"version":1,"auth_token":"t"})") == "t");
  CHECK(token_or_error(R"({"version":1})") == "");
  CHECK(token_or_error(R"({"version":1,"auth_token":5})") == "");
  CHECK(token_or_error(R"({"version":2,"auth_token":"t"})")
        == "error: unexpected handshake value: 2");
  CHECK(token_or_error("{}") == "error: unexpected handshake value: 0");
  CHECK(token_or_error("1") == "error: the handshake is not a JSON object");
}
