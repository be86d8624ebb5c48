// The request parser: any bytes, in pieces of any size, end in a request, a refusal or the wish for
// more, and never in more than the limits allow. The first byte says how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/net/http/http_parser.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1U;
  const nomad::net::ParserLimits limits{.header_bytes = 512, .header_count = 16, .body_bytes = 256};
  nomad::net::RequestParser parser{limits};
  nomad::net::Request request;
  parser.begin(request);
  std::string pending;
  for (std::size_t at = 1; at < size; at += piece) {
    pending.append(reinterpret_cast<const char*>(data) + at, std::min(piece, size - at));
    const auto step = parser.feed(pending);
    pending.erase(0, step.consumed);
    if (request.body.size() > limits.body_bytes || request.header_count() > limits.header_count)
      std::abort();
    if (step.state == nomad::net::RequestParser::State::failed) return 0;
    if (step.state == nomad::net::RequestParser::State::complete) {
      nomad::net::parse_query(request.target, request.query);
      static_cast<void>(nomad::net::clean_path(request.target));
      parser.begin(request);
    }
  }
  return 0;
}
