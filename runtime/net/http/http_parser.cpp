#include "runtime/net/http/http_parser.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

#include "runtime/net/http/error_status.hpp"

namespace nomad::net {
namespace {

namespace http = boost::beast::http;

using boost::beast::error_code;
using boost::beast::string_view;

std::string_view plain(string_view text) {
  return {text.data(), text.size()};
}

/// A body is reserved at once up to this size; beyond it grows as bytes really arrive.
constexpr std::uint64_t reserved_at_once = 1024 * 1024;

constexpr std::uint32_t line_overhead = 4;  // ": " and the line's end

// Of an answer:
constexpr std::uint32_t most_header_bytes = 256 * 1024;
constexpr std::size_t most_header_count = 1000;
constexpr std::size_t most_framing_bytes = 64 * 1024;  ///< A chunk's head, or the trailers.

}  // namespace

class RequestParser::Impl final : public http::basic_parser<true> {
public:
  Impl(const ParserLimits& limits, Request& target) : limits_{limits}, request_{target} {
    eager(true);
    header_limit(limits.header_bytes);
    body_limit(limits.body_files
                   ? std::max(limits.body_bytes, limits.body_files->options().most_bytes)
                   : limits.body_bytes);
  }

  bool wants_continue() const { return wants_continue_; }

  /// Why it failed, where that was not the parser's own judgement.
  const std::optional<Error>& trouble() const { return trouble_; }

  bool lacks_host() const { return request_.is_http11 && !has_host_; }

private:
  void on_request_impl(http::verb,
                       string_view method,
                       string_view target,
                       int version,
                       error_code& failure) override {
    request_.method.assign(method.data(), method.size());
    request_.target.assign(target.data(), target.size());
    request_.is_http11 = version == 11;
    header_bytes_ = static_cast<std::uint32_t>(target.size());
    if (header_bytes_ > limits_.header_bytes) failure = http::error::header_limit;
  }

  void on_response_impl(int, string_view, int, error_code& failure) override {
    failure = http::error::bad_method;
  }

  void on_field_impl(http::field field,
                     string_view name,
                     string_view value,
                     error_code& failure) override {
    header_bytes_ += static_cast<std::uint32_t>(name.size() + value.size()) + line_overhead;
    if (header_bytes_ > limits_.header_bytes || request_.header_count() >= limits_.header_count) {
      failure = http::error::header_limit;
      return;
    }
    // Whoever stands between may have looked at the other one.
    if (field == http::field::host && std::exchange(has_host_, true))
      return refuse("too many Host headers", failure);
    // Where a body of another coding ends is not known: its rest must not be the next request.
    if (field == http::field::transfer_encoding && !same_header(plain(value), "chunked"))
      return refuse("unsupported Transfer-Encoding", failure);
    if (field == http::field::expect) wants_continue_ = same_header(plain(value), "100-continue");
    request_.add_header(plain(name), plain(value));
  }

  /// Only now it is known which bound the body has.
  void on_header_impl(error_code& failure) override {
    if (!limits_.body_files) return;
    const bool is_large = limits_.body_files->wants(request_);
    const auto most = is_large ? limits_.body_files->options().most_bytes : limits_.body_bytes;
    body_limit(most);
    if (content_length().value_or(0) > most)
      failure = http::error::body_limit;
    else if (is_large)
      open_file(failure);
  }

  void open_file(error_code& failure) {
    auto file = limits_.body_files->make();
    if (file)
      request_.body_file = std::move(*file);
    else
      give_up(file.error(), failure);
  }

  void give_up(const Error& error, error_code& failure) {
    trouble_ = error;
    failure = http::error::body_limit;
  }

  void refuse(const char* what, error_code& failure) {
    trouble_ = Error{Errc::invalid_argument, what};
    failure = http::error::bad_value;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    if (length && !request_.body_file) request_.body.reserve(std::min(*length, reserved_at_once));
  }

  std::size_t on_body_impl(string_view body, error_code& failure) override {
    if (!request_.body_file)
      request_.body.append(body.data(), body.size());
    else if (const auto written = request_.body_file->append(plain(body)); !written)
      give_up(written.error(), failure);
    return body.size();
  }

  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& failure) override {
    return on_body_impl(body, failure);
  }

  void on_finish_impl(error_code&) override {}

  const ParserLimits& limits_;
  Request& request_;
  std::uint32_t header_bytes_ = 0;
  bool has_host_ = false;
  bool wants_continue_ = false;
  std::optional<Error> trouble_;
};

RequestParser::RequestParser(const ParserLimits& limits) : limits_{limits} {}

RequestParser::~RequestParser() = default;

void RequestParser::begin(Request& target) {
  target.clear();
  impl_ = std::make_unique<Impl>(limits_, target);
  failure_status_ = 0;
}

void RequestParser::end() {
  impl_.reset();
}

RequestParser::Outcome RequestParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  error_code failure;
  while (used < bytes.size() && !impl_->is_done()) {
    failure = {};
    const auto taken
        = impl_->put(boost::asio::const_buffer{bytes.data() + used, bytes.size() - used}, failure);
    used += taken;
    if (failure == http::error::need_more) return {State::need_more, used};
    if (failure) break;
    if (taken == 0 && !impl_->is_done()) return {State::need_more, used};
  }
  if (failure) {
    const auto& trouble = impl_->trouble();
    if (trouble) {
      failure_status_ = http_status(trouble->code);
      failure_ = trouble->what;
      return {State::failed, used};
    }
    failure_status_ = failure == http::error::body_limit     ? 413
                      : failure == http::error::header_limit ? 431
                                                             : 400;
    failure_ = failure.message();
    return {State::failed, used};
  }
  if (!impl_->is_done()) return {State::need_more, used};
  if (impl_->lacks_host()) {
    failure_status_ = 400;
    failure_ = "missing required Host header";
    return {State::failed, used};
  }
  return {State::complete, used};
}

bool RequestParser::header_done() const {
  return impl_->is_header_done();
}

bool RequestParser::wants_continue() const {
  return impl_->wants_continue();
}

bool RequestParser::keep_alive() const {
  return impl_->keep_alive();
}

std::uint64_t RequestParser::announced_body() const {
  return impl_->content_length().value_or(0);
}

unsigned RequestParser::failure_status() const {
  return failure_status_;
}

const std::string& RequestParser::failure() const {
  return failure_;
}

class ResponseParser::Impl final : public http::basic_parser<false> {
public:
  Impl(bool is_head, std::uint64_t body_bytes) {
    eager(true);
    skip(is_head);
    header_limit(most_header_bytes);
    body_limit(body_bytes);
  }

  unsigned status = 0;
  Headers headers;
  std::string body;

private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code& failure) override {
    failure = http::error::bad_status;
  }

  void on_response_impl(int code, string_view, int, error_code&) override {
    status = static_cast<unsigned>(code);
  }

  /// Beast bounds only what it has not taken yet.
  void on_field_impl(http::field,
                     string_view name,
                     string_view value,
                     error_code& failure) override {
    header_bytes_ += static_cast<std::uint32_t>(name.size() + value.size()) + line_overhead;
    if (header_bytes_ > most_header_bytes || headers.size() >= most_header_count) {
      failure = http::error::header_limit;
      return;
    }
    headers.push_back({std::string{plain(name)}, std::string{plain(value)}});
  }

  void on_header_impl(error_code&) override {}

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  std::size_t on_body_impl(string_view bytes, error_code&) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(error_code&) override {}

  std::uint32_t header_bytes_ = 0;
};

ResponseParser::ResponseParser(bool is_head, std::uint64_t body_bytes)
    : impl_{std::make_unique<Impl>(is_head, body_bytes)} {}

ResponseParser::~ResponseParser() = default;

Result<std::size_t> ResponseParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !impl_->is_done()) {
    error_code failure;
    const auto taken
        = impl_->put(boost::asio::const_buffer{bytes.data() + used, bytes.size() - used}, failure);
    used += taken;
    if (failure == http::error::need_more || (!failure && taken == 0)) break;
    if (failure) return Error{Errc::io, "malformed HTTP response: " + failure.message()};
  }
  const bool is_within_body = impl_->is_header_done() && !impl_->is_done();
  if (is_within_body && bytes.size() - used > most_framing_bytes)
    return Error{Errc::io, "malformed HTTP response: the framing of its body is too long"};
  return used;
}

Result<> ResponseParser::feed_eof() {
  if (!impl_->got_some()) return Error{Errc::io, "EOF"};
  error_code failure;
  impl_->put_eof(failure);
  if (failure) return Error{Errc::io, "unexpected EOF"};
  return {};
}

bool ResponseParser::header_done() const {
  return impl_->is_header_done();
}

bool ResponseParser::complete() const {
  return impl_->is_done();
}

bool ResponseParser::keep_alive() const {
  return impl_->keep_alive();
}

unsigned ResponseParser::status() const {
  return impl_->status;
}

Headers& ResponseParser::headers() {
  return impl_->headers;
}

std::string& ResponseParser::body() {
  return impl_->body;
}

}  // namespace nomad::net
