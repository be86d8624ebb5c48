// The parsing of requests and responses, on Boost.Beast's basic parser, which only the .cpp
// includes. Internal to runtime/net.
//
// Both parsers take bytes as they come, say how many they used, and never look at a byte twice
// after that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/http/body_file.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net {

struct ParserLimits {
  std::uint32_t header_bytes = 64 * 1024;
  std::uint32_t header_count = 100;
  std::uint64_t body_bytes = 16 * 1024 * 1024;
  std::shared_ptr<BodyFiles> body_files = {};  ///< For those that it wants; may be empty.
};

class RequestParser {
public:
  enum class State : std::uint8_t { need_more, complete, failed };

  struct Outcome {
    State state;
    std::size_t consumed;
  };

  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();

  /// Begins a new message, which is filled into `target`; it must outlive the message.
  void begin(Request& target);

  /// Takes the next bytes. Those not consumed must be passed again, with more behind them.
  Outcome feed(std::string_view bytes);

  /// Lets go of what is known of the message. `feed` and what follows need another `begin`.
  void end();

  /// Valid once the header is complete.
  bool header_done() const;
  bool wants_continue() const;
  bool keep_alive() const;
  std::uint64_t announced_body() const;  ///< Content-Length, 0 when chunked.

  /// Valid after `failed`: the status to answer with and what was wrong.
  unsigned failure_status() const;
  const std::string& failure() const;

private:
  class Impl;

  ParserLimits limits_;
  std::unique_ptr<Impl> impl_;
  unsigned failure_status_ = 0;
  std::string failure_;
};

class ResponseParser {
public:
  ResponseParser(bool is_head, std::uint64_t body_bytes);
  ~ResponseParser();

  /// Takes the next bytes; the number used. Fails on what is not HTTP, and on what is too long.
  Result<std::size_t> feed(std::string_view bytes);

  /// The peer closed: fine if the body ends there, else an error.
  Result<> feed_eof();

  bool header_done() const;
  bool complete() const;
  bool keep_alive() const;
  unsigned status() const;
  Headers& headers();
  std::string& body();  ///< What has arrived and was not taken out yet.

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nomad::net
