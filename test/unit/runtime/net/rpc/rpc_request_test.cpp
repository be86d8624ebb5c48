#include "runtime/net/rpc/rpc_request.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

const RpcRequest sent_request{.method = 0x1234,
                              .timeout = 70'000ms,
                              .head = Bytes::copy("head"),
                              .body = Bytes::copy("the body")};

const RpcFrameHeader last_header{.kind = RpcFrameKind::request,
                                 .priority = RpcPriority::bulk,
                                 .one_way = true,
                                 .byte_stream = true};

std::string bytes_of_request() {
  return std::string{encode_head(sent_request).text()} + std::string{sent_request.body.text()};
}

}  // namespace

TEST_CASE("rpc_request: arrives as it was sent, with what its frames say of it") {
  const auto read = decode_rpc_request(last_header, Bytes::copy(bytes_of_request()));
  REQUIRE(read);
  CHECK(read->method == sent_request.method);
  CHECK(read->timeout == sent_request.timeout);
  CHECK(read->head.text() == "head");
  CHECK(read->body.text() == "the body");
  CHECK(read->priority == RpcPriority::bulk);
  CHECK(read->one_way);
  CHECK(read->byte_stream);
}

TEST_CASE("rpc_request: a time that is over, or longer than the field, is the nearest there is") {
  auto other = sent_request;
  for (const auto& [given, wanted] :
       {std::pair{-5ms, 0ms}, std::pair{std::chrono::milliseconds{0x1'0000'0000},
                                        std::chrono::milliseconds{0xffff'ffff}}}) {
    other.timeout = given;
    CHECK(decode_rpc_request(last_header, encode_head(other))->timeout == wanted);
  }
}

TEST_CASE("rpc_request: one that is cut short is told by its kind") {
  const auto whole = bytes_of_request();
  const auto least = whole.size() - sent_request.body.size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = decode_rpc_request(last_header, Bytes::copy(whole.substr(0, size)));
    CHECK(read.has_value() == (size >= least));
    if (!read) CHECK(read.error().what == "request: cut short");
  }
}
