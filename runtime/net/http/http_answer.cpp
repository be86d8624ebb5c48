// The sending half of a connection: answers and streams to bytes.
#include <array>
#include <charconv>
#include <utility>

#include "runtime/net/http/http_connection.hpp"

namespace nomad::net {
namespace {

constexpr std::size_t copied_body = 16 * 1024;  ///< Smaller bodies go behind their head.
constexpr int stream_patience = 5;              ///< Times the write timeout.

/// How long a client may go on sending after we closed our side.
constexpr std::chrono::seconds drain_time{2};

template <class Number>
void append_digits(std::string& out, Number number, int base = 10) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value)  // no handler can smuggle a header into another
    if (c != '\r' && c != '\n') out += c;
  out.append("\r\n");
}

bool has_no_body(unsigned status) {
  return status == 204 || status == 304 || status < 200;
}

}  // namespace

bool Connection::is_head() const {
  return exchange_->request.method == "HEAD";
}

void Connection::append_head(const Response& response,
                             std::optional<std::size_t> length,
                             bool is_gzip) {
  const auto& request = exchange_->request;
  auto& out = output().text();
  out += request.is_http11 ? "HTTP/1.1 " : "HTTP/1.0 ";
  append_digits(out, response.status);
  (out += ' ') += reason_phrase(response.status);
  out += "\r\n";
  if (!response.content_type.empty()) append_header(out, "Content-Type", response.content_type);
  out += "Vary: Accept-Encoding\r\n";
  if (is_gzip) out += "Content-Encoding: gzip\r\n";
  for (const auto& header : response.headers)
    append_header(out, header.name, header.value);
  for (const auto& header : worker_.server->options.extra_headers)
    append_header(out, header.name, header.value);
  out += worker_.date_header();
  if (response.status == 101) {
    // The connection changes its protocol: the handler has said so in a header of that name.
  } else if (!keep_alive_)
    out += "Connection: close\r\n";
  else if (!request.is_http11)
    out += "Connection: keep-alive\r\n";
  if (length) {
    if (!has_no_body(response.status)) {
      out += "Content-Length: ";
      append_digits(out, *length);
      out += "\r\n";
    }
  } else if (is_chunked_) {
    out += "Transfer-Encoding: chunked\r\n";
  }
  out += "\r\n";
  if (worker_.server->options.observer) worker_.server->options.observer(request, response.status);
}

void Connection::answer(const std::shared_ptr<detail::HttpExchange>& exchange, Response response) {
  if (exchange != exchange_ || phase_ != Phase::waiting) return;
  const auto self = shared_from_this();
  const bool is_gzip = response.shared_gzip != nullptr;
  auto shared = is_gzip ? std::move(response.shared_gzip) : std::move(response.shared_body);
  const std::size_t length = shared ? shared->size() : response.body.size();
  append_head(response, length, is_gzip);
  if (!is_head() && !has_no_body(response.status) && length != 0) {
    if (length <= copied_body)
      output().text() += shared ? *shared : response.body;
    else
      output().append(shared ? std::move(shared)
                             : std::make_shared<const std::string>(std::move(response.body)));
  }
  finish_answer();
  if (!in_dispatch_) flush();
}

void Connection::start_stream(const std::shared_ptr<detail::HttpExchange>& exchange,
                              Response head) {
  if (exchange != exchange_ || phase_ != Phase::waiting) return;
  const auto self = shared_from_this();
  is_chunked_ = exchange_->request.is_http11;
  if (!is_chunked_) keep_alive_ = false;
  const bool is_gzip = exchange_->request.accepts_gzip();
  if (is_gzip) gzip_ = std::make_unique<GzipStream>();
  append_head(head, std::nullopt, is_gzip);
  phase_ = Phase::streaming;
  if (!in_dispatch_) flush();
}

void Connection::append_chunk(std::string_view bytes) {
  if (bytes.empty() || is_head()) return;
  auto& out = output().text();
  if (is_chunked_) {
    append_digits(out, bytes.size(), 16);
    out += "\r\n";
  }
  out += bytes;
  if (is_chunked_) out += "\r\n";
}

void Connection::write_chunk(const std::shared_ptr<detail::HttpExchange>& exchange,
                             std::string_view chunk,
                             std::function<void()> drained) {
  const bool takes_some = phase_ == Phase::streaming || phase_ == Phase::tunneling;
  if (exchange != exchange_ || !takes_some || tunnel_output_ended_) return;
  const auto self = shared_from_this();
  if (phase_ == Phase::tunneling) {
    output().text() += chunk;
  } else if (gzip_) {
    std::string compressed;
    gzip_->append(chunk, compressed);
    append_chunk(compressed);
  } else {
    append_chunk(chunk);
  }
  drained_.push_back({output().taken() + output().size(), chunk.size(), std::move(drained)});
  if (!in_dispatch_) flush();
}

void Connection::give_piece(const std::shared_ptr<detail::HttpExchange>& exchange,
                            std::shared_ptr<const std::string> piece) {
  if (exchange != exchange_ || phase_ != Phase::streaming || piece->empty()) return;
  const auto self = shared_from_this();
  append_digits(output().text(), piece->size(), 16);
  output().text() += "\r\n";
  output().append(std::move(piece));
  output().text() += "\r\n";
  if (!in_dispatch_) flush();
}

void Connection::end_stream(const std::shared_ptr<detail::HttpExchange>& exchange, bool properly) {
  if (exchange != exchange_ || (phase_ != Phase::streaming && phase_ != Phase::tunneling)) return;
  const auto self = shared_from_this();
  if (!properly) {
    flush();
    close();
    return;
  }
  if (phase_ == Phase::tunneling) {
    pending_.clear();
    finish_answer();
    if (!in_dispatch_) flush();
    return;
  }
  if (gzip_) {
    std::string end;
    gzip_->finish(end);
    append_chunk(end);
    gzip_.reset();
  }
  if (is_chunked_ && !is_head()) output().text() += "0\r\n\r\n";
  finish_answer();
  if (!in_dispatch_) flush();
}

void Connection::finish_answer() {
  exchange_->detach();
  phase_ = Phase::idle;
  set_deadline(worker_.server->options.write_timeout);
  if (!keep_alive_) close_when_sent_ = true;
}

void Connection::on_progress() {
  while (!drained_.empty() && drained_.front().at <= output().taken() && phase_ != Phase::closed) {
    auto entry = std::move(drained_.front());
    drained_.pop_front();
    exchange_->drained(entry.bytes);
    if (entry.callback) entry.callback();
  }
}

void Connection::on_blocked() {
  const auto patience = worker_.server->options.write_timeout;
  if (phase_ != Phase::tunneling)  // how long its peer may think is its owner's business
    set_deadline(phase_ == Phase::streaming ? patience * stream_patience : patience);
}

void Connection::shut_output() {
  if (std::exchange(output_shut_, true)) return;
  channel().end_output();
}

void Connection::on_sent() {
  if (phase_ == Phase::tunneling && tunnel_output_ended_) shut_output();
  if (phase_ == Phase::streaming || phase_ == Phase::tunneling) {
    no_deadline();
    return;
  }
  if (phase_ == Phase::waiting && keep_alive_) no_deadline();
  if (phase_ != Phase::idle) return;
  if (close_when_sent_) {
    shut_output();
    phase_ = Phase::draining;
    set_deadline(drain_time);
    pending_.clear();
    read_on();
    return;
  }
  set_deadline(worker_.server->options.idle_timeout);
  if (!pending_.empty())
    worker_.post([self = self()] {
      if (self->phase_ == Phase::idle) self->safely([&] { self->consume_pending(); });
    });
}

}  // namespace nomad::net
