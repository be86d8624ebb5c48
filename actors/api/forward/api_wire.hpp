// A request of the HTTP API and the head of its answer as bytes between agents. Pure.
//
// The answer is a byte stream: four bytes of length (little end first), the head as a Cap'n Proto
// message, then the body. Of an answer that is complete the head says how long it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/bytes.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::api {

/// Method, target, body and the headers that mean something to a handler: none of those that are
/// about the connection, but for a change of its protocol. Of a body in a file only its length: it
/// follows by itself (body_transfer.hpp). With `region` it names that one, whatever it named
/// before.
Bytes write_request(const net::Request& request, std::string_view region = {});

/// Fills in `request`; `invalid_argument` when it is none.
Result<> read_request(schema::rpc::ApiRequest::Reader from, net::Request& request);

/// `length`: of a complete answer's body. Status, content type and headers of `response` count.
Bytes write_response_head(const net::Response& response, std::optional<std::uint64_t> length);

/// Cuts the head off a stream that comes in pieces of any size.
class ResponseHeadReader {
public:
  struct Head {
    net::Response response;  ///< Without a body.
    std::optional<std::uint64_t> length;
  };

  /// Takes bytes off the front of `bytes` until the head is complete, which it then returns; what
  /// is left of `bytes` is body. `corrupt` for what is no head.
  Result<std::optional<Head>> feed(std::string_view& bytes);

private:
  std::string collected_;
};

}  // namespace nomad::api
