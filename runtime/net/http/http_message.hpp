// What an HTTP request and its answer look like to the rest of the program: plain values,
// without the library that parses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/net/http/url.hpp"

namespace nomad::access {
class Principal;
}

namespace nomad::net {

struct Header {
  std::string name;
  std::string value;
};

using Headers = std::vector<Header>;

/// Whether two header names are the same, which ignores case.
bool same_header(std::string_view left, std::string_view right);

class BodyFile;

/// A whole request. Filled by the server; valid as long as its `Responder` lives.
class Request {
public:
  std::string method;                   ///< As sent: "GET".
  std::string target;                   ///< As sent: "/v1/job/a%2Fb?pretty".
  std::string path;                     ///< Decoded: "/v1/job/a/b". What came as %2F is a "/", too.
  bool is_path_clean = true;            ///< As it came, before it was decoded.
  QueryParameters query;                ///< Decoded.
  std::string body;                     ///< Whole; bounded by the server's limit.
  std::shared_ptr<BodyFile> body_file;  ///< The body instead, of requests that may be larger.
  std::string remote;                   ///< "127.0.0.1:53214"; "@" for a Unix socket.
  bool is_http11 = true;                ///< HTTP/1.0 has neither chunks nor keep-alive by default.
  std::chrono::steady_clock::time_point received{};
  bool needs_token = false;  ///< Nobody may come without one, as by the socket of a task.
  std::string limits{};  ///< What its sender is kept to: words of access::Limits; empty: nothing.

  // Of a request that another agent passed on:
  std::shared_ptr<const access::Principal> who = {};  ///< The user, as the RPC layer has it.
  std::uint8_t hops = 0;          ///< How often that happened; 0: it came from its client.
  bool is_for_this_node = false;  ///< A server sent it to this client node, to be served here.
  std::string target_node = {};   ///< The client node whose connection this server is to use.

  /// The first value of query parameter `name`; null when there is none.
  const std::string* parameter(std::string_view name) const;

  /// As `parameter`, and "" when there is none.
  std::string_view parameter_or_empty(std::string_view name) const;

  /// The first value of a header; "" when there is none.
  std::string_view header(std::string_view name) const;

  /// The protocol that the connection should change to: "websocket"; "" as a rule.
  std::string_view upgrade() const;

  /// Whether a header is a list, by commas, with `token` in it; both ignore case.
  bool header_has(std::string_view name, std::string_view token) const;

  /// Whether the client takes gzip in its answer.
  bool accepts_gzip() const;

  std::size_t header_count() const { return fields_.size(); }

  /// Name and value of one of them, in the order in which they were sent.
  std::pair<std::string_view, std::string_view> header_at(std::size_t position) const;

  void add_header(std::string_view name, std::string_view value);

  /// Back to an empty request that keeps its memory, for the next one on the connection.
  void clear();

private:
  struct Field {
    std::uint32_t begin;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  std::string text_;  ///< Names and values one after the other.
  std::vector<Field> fields_;
};

/// Fills `path` and `query` from `target`. False when that is malformed.
bool split_target(Request& request);

/// An answer whose body is complete.
struct Response {
  unsigned status = 200;
  std::string content_type = {};  ///< Left out of the answer when empty.
  Headers headers = {};
  std::string body = {};

  /// Sent instead of `body` when set: one rendering shared by many answers.
  std::shared_ptr<const std::string> shared_body = {};

  /// The gzip form of the same, when the caller keeps one; else the server compresses.
  std::shared_ptr<const std::string> shared_gzip = {};
};

/// "Not Found"; "<unknown-status>" for numbers without a name.
std::string_view reason_phrase(unsigned status);

/// `compact` JSON text with Go's four-space indentation and a newline at the end, as `?pretty`
/// asks for it. Anything that is not JSON comes out readable, but unspecified.
std::string pretty_json(std::string_view compact);

}  // namespace nomad::net
