#include "runtime/net/rpc/rpc_frame.hpp"

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::net;

namespace {

std::string failure_of(RpcFrameHeaderBytes bytes) {
  const auto header = decode_rpc_frame_header(bytes);
  return header ? "" : header.error().what;
}

}  // namespace

TEST_CASE("rpc_frame: a header comes back as it was") {
  const RpcFrameHeader header{.kind = RpcFrameKind::data,
                              .priority = RpcPriority::bulk,
                              .first = true,
                              .last = true,
                              .one_way = false,
                              .byte_stream = true,
                              .stream = 0x01020304,
                              .length = rpc_frame_payload_bytes};
  const auto bytes = encode(header);
  CHECK(decode_rpc_frame_header(bytes).value() == header);
  CHECK(bytes[0] == std::byte{0x52});
  CHECK(bytes[8] == std::byte{4});
}

TEST_CASE("rpc_frame: what nobody sends is named") {
  const auto good = encode(RpcFrameHeader{});

  auto bytes = good;
  bytes[0] = std::byte{'G'};
  CHECK(failure_of(bytes) == "these are no frames of ours");
  bytes = good;
  bytes[2] = std::byte{9};
  CHECK(failure_of(bytes) == "frames of version 9, where we speak 1");
  bytes = good;
  bytes[3] = std::byte{11};
  CHECK(failure_of(bytes) == "a frame of the unknown kind 11");
  bytes = good;
  bytes[4] = std::byte{3};
  CHECK(failure_of(bytes) == "a frame of the unknown priority 3");
  bytes = good;
  bytes[5] = std::byte{16};
  CHECK(failure_of(bytes) == "a frame with flags that nobody sends");
  CHECK(failure_of(encode(RpcFrameHeader{.length = 0xffffffff}))
        == "a frame of 4294967295 bytes, where 65536 are allowed");
  CHECK(failure_of(good) == "");
  CHECK(decode_rpc_frame_header(std::span{good}.first(3)).error().what
        == "the header of a frame is cut short");
}

TEST_CASE("rpc_frame: hello and errors come back as they were") {
  const RpcHello hello{.role = RpcRole::server, .for_raft = true, .region = "eu", .name = "s1"};
  const auto payload = encode(hello);
  const auto bytes = std::as_bytes(std::span{payload});
  CHECK(decode_rpc_hello(bytes).value() == hello);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(decode_rpc_hello(bytes.first(size)).error()
          == Error{Errc::corrupt, "a hello that is cut short"});
  auto unknown = payload;
  unknown[4] = 9;
  CHECK(decode_rpc_hello(std::as_bytes(std::span{unknown})).error()
        == Error{Errc::corrupt, "a hello of the unknown role 9"});
  CHECK(decode_rpc_error({}) == Error{Errc::internal, "an error without its code"});

  const Error error{Errc::not_found, "node not found"};
  const auto text = encode_rpc_error(error);
  CHECK(decode_rpc_error(std::as_bytes(std::span{text})) == error);
  const std::string newer = "\xc8some day";
  CHECK(decode_rpc_error(std::as_bytes(std::span{newer})) == Error{Errc::internal, "some day"});
}
