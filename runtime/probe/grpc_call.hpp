// GrpcCall: one call without streams by gRPC, on a connection of its own: as much of HTTP/2 as that
// takes (RFC 9113). Pure: whoever uses it carries the bytes. Internal to runtime/probe.
//
// By hand, and not by a library: the agent has no other use for HTTP/2, and libcurl brought 25
// libraries into it for this. An answer of some KiB fits the windows that a connection begins with,
// so nothing is ever acknowledged but settings and pings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/probe/hpack.hpp"

namespace nomad::probe {

struct GrpcAnswer {
  int http_status = 0;
  std::optional<int> status;  ///< None: what answered is not gRPC.
  std::string message;        ///< Of a status that is no success; still escaped.
  std::string body;           ///< gRPC's frame.
};

class GrpcCall {
public:
  struct Question {
    bool tls = false;
    std::string authority;  ///< "10.0.0.1:80"
    std::string path;       ///< "/grpc.health.v1.Health/Check"
    std::string body;       ///< gRPC's frame.
  };

  static constexpr std::size_t most_body_bytes = 3 * 1024;  ///< Of an answer.
  static constexpr std::size_t most_question_bytes = 16 * 1024;
  static constexpr std::size_t most_queued_bytes = 64 * 1024;  ///< That the peer does not read.

  explicit GrpcCall(const Question& question);

  /// What is to be sent now.
  std::string take_output();

  /// Takes what has come. The answer once it is whole; an error when there will be none, and after
  /// either nothing more is taken.
  Result<std::optional<GrpcAnswer>> feed(std::string_view bytes);

private:
  struct Frame {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;
    std::string_view payload{};

    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  };

  Result<bool> take_frame(std::string_view& input);
  Result<> take(const Frame& frame);
  Result<> take_settings(const Frame& frame);
  Result<> acknowledge(const Frame& frame);
  Result<> take_data(Frame frame);
  Result<> take_headers(Frame frame);
  Result<> take_block(const Frame& frame);
  static Result<> strip_padding(Frame& frame);

  std::string output_;
  std::string input_;  ///< Not a whole frame yet.
  bool was_greeted_ = false;
  HpackDecoder decoder_;
  std::optional<std::string> block_;  ///< Headers of which more frames come.
  bool block_ends_ = false;           ///< The stream ends with them.
  bool is_over_ = false;
  GrpcAnswer answer_;
};

}  // namespace nomad::probe
