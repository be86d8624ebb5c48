#include "runtime/net/rpc/rpc_assembly.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::net;

namespace {

Result<> add_piece(RpcAssembly& assembly,
                   std::string& message,
                   std::string_view piece,
                   bool is_first) {
  return assembly.add(message, std::as_bytes(std::span{piece}), is_first);
}

}  // namespace

TEST_CASE("rpc_assembly: pieces become one message, again and again") {
  RpcAssembly assembly{8, 8};
  std::string message;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(add_piece(assembly, message, "four", true));
    REQUIRE(add_piece(assembly, message, "more", false));
    CHECK(assembly.finish(message).text() == "fourmore");
    CHECK(message.empty());
  }
}

TEST_CASE("rpc_assembly: a message does not begin in a message") {
  RpcAssembly assembly{8, 8};
  std::string message;
  REQUIRE(add_piece(assembly, message, "four", true));
  CHECK(add_piece(assembly, message, "more", true).error()
        == Error{Errc::corrupt, "a message within a message"});
}

TEST_CASE("rpc_assembly: each message is bounded, and all that are unfinished together") {
  RpcAssembly assembly{8, 12};
  std::string first;
  std::string second;
  REQUIRE(add_piece(assembly, first, "12345678", true));
  CHECK(add_piece(assembly, first, "9", false).error().code == Errc::too_large);
  CHECK(first == "12345678");
  REQUIRE(add_piece(assembly, second, "1234", true));
  CHECK(add_piece(assembly, second, "5", false).error().code == Errc::too_large);
  assembly.drop(first);
  CHECK(first.empty());
  CHECK(add_piece(assembly, second, "5678", false));
  CHECK(assembly.finish(second).text() == "12345678");
  CHECK(add_piece(assembly, first, "12345678", true));
}
