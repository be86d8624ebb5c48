// The sending half of a connection: answers and streams to bytes.
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/net/http/http_connection.hpp"

namespace nomad::net {
namespace {

constexpr std::size_t copied_body = 16 * 1024;  ///< Smaller bodies go behind their head.
constexpr std::size_t kept_out = 16 * 1024;     ///< Memory an idle connection may keep.
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

std::uint64_t Connection::queued_total() const {
  return sent_total_ + (out_.size() - out_sent_) + (big_ ? big_->size() - big_sent_ : 0);
}

void Connection::append_head(const Response& response,
                             std::optional<std::size_t> length,
                             bool is_gzip) {
  const auto& request = exchange_->request;
  out_ += request.is_http11 ? "HTTP/1.1 " : "HTTP/1.0 ";
  append_digits(out_, response.status);
  (out_ += ' ') += reason_phrase(response.status);
  out_ += "\r\n";
  if (!response.content_type.empty()) append_header(out_, "Content-Type", response.content_type);
  out_ += "Vary: Accept-Encoding\r\n";
  if (is_gzip) out_ += "Content-Encoding: gzip\r\n";
  for (const auto& header : response.headers)
    append_header(out_, header.name, header.value);
  for (const auto& header : worker_.server->options.extra_headers)
    append_header(out_, header.name, header.value);
  out_ += worker_.date_header();
  if (response.status == 101) {
    // The connection changes its protocol: the handler has said so in a header of that name.
  } else if (!keep_alive_)
    out_ += "Connection: close\r\n";
  else if (!request.is_http11)
    out_ += "Connection: keep-alive\r\n";
  if (length) {
    if (!has_no_body(response.status)) {
      out_ += "Content-Length: ";
      append_digits(out_, *length);
      out_ += "\r\n";
    }
  } else if (is_chunked_) {
    out_ += "Transfer-Encoding: chunked\r\n";
  }
  out_ += "\r\n";
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
      out_ += shared ? *shared : response.body;
    else
      big_ = shared ? std::move(shared)
                    : std::make_shared<const std::string>(std::move(response.body));
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
  if (is_chunked_) {
    append_digits(out_, bytes.size(), 16);
    out_ += "\r\n";
  }
  out_ += bytes;
  if (is_chunked_) out_ += "\r\n";
}

void Connection::write_chunk(const std::shared_ptr<detail::HttpExchange>& exchange,
                             std::string_view chunk,
                             std::function<void()> drained) {
  const bool takes_some = phase_ == Phase::streaming || phase_ == Phase::tunneling;
  if (exchange != exchange_ || !takes_some || tunnel_output_ended_) return;
  const auto self = shared_from_this();
  if (phase_ == Phase::tunneling) {
    out_ += chunk;
  } else if (gzip_) {
    std::string compressed;
    gzip_->append(chunk, compressed);
    append_chunk(compressed);
  } else {
    append_chunk(chunk);
  }
  drained_.push_back({queued_total(), chunk.size(), std::move(drained)});
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
  if (is_chunked_ && !is_head()) out_ += "0\r\n\r\n";
  finish_answer();
  if (!in_dispatch_) flush();
}

void Connection::finish_answer() {
  exchange_->detach();
  phase_ = Phase::idle;
  set_deadline(worker_.server->options.idle_timeout);
  if (!keep_alive_) close_when_sent_ = true;
}

void Connection::flush() {
  if (is_flushing_ || phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  is_flushing_ = true;
  bool is_blocked = false;
  do {
    while (!everything_sent() && !is_blocked)
      is_blocked = !send_some();
  } while (run_drained() && !is_blocked);
  is_flushing_ = false;
  if (phase_ == Phase::closed) return;
  if (!everything_sent()) {
    const auto patience = worker_.server->options.write_timeout;
    if (phase_ != Phase::tunneling)  // how long its peer may think is its owner's business
      set_deadline(phase_ == Phase::streaming ? patience * stream_patience : patience);
    arm_write();
    return;
  }
  out_.clear();
  out_sent_ = 0;
  if (out_.capacity() > kept_out) out_.shrink_to_fit();
  sent_all();
}

std::optional<std::size_t> Connection::send_secured() {
  const bool is_head = out_.size() > out_sent_;
  const char* bytes = is_head ? out_.data() + out_sent_ : big_->data() + big_sent_;
  const auto size = is_head ? out_.size() - out_sent_ : big_->size() - big_sent_;
  const auto step = tls_->write(bytes, size);
  if (!step || step->state == TlsSession::State::closed) {
    close();
    return {};
  }
  if (step->state == TlsSession::State::done) return step->count;
  if (step->state == TlsSession::State::want_read) {
    write_wants_read_ = true;
    arm_read();
  }
  return {};
}

std::optional<std::size_t> Connection::send_plain() {
  std::array<iovec, 2> parts{};
  std::size_t count = 0;
  if (out_.size() > out_sent_) parts[count++] = {out_.data() + out_sent_, out_.size() - out_sent_};
  if (big_)
    parts[count++] = {const_cast<char*>(big_->data()) + big_sent_, big_->size() - big_sent_};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EINTR) return 0;
  if (errno != EAGAIN && errno != EWOULDBLOCK) close();
  return {};
}

bool Connection::send_some() {
  if (phase_ == Phase::closed) return false;
  const auto sent = tls_ ? send_secured() : send_plain();
  if (!sent) return false;
  auto bytes = *sent;
  sent_total_ += bytes;
  const auto of_out = std::min(bytes, out_.size() - out_sent_);
  out_sent_ += of_out;
  bytes -= of_out;
  if (big_ && (big_sent_ += bytes) == big_->size()) {
    big_.reset();
    big_sent_ = 0;
  }
  if (out_sent_ > 4 * kept_out) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
  return true;
}

bool Connection::run_drained() {
  bool has_run = false;
  while (!drained_.empty() && drained_.front().at <= sent_total_ && phase_ != Phase::closed) {
    auto entry = std::move(drained_.front());
    drained_.pop_front();
    exchange_->drained(entry.bytes);
    if (entry.callback) entry.callback();
    has_run = true;
  }
  return has_run;
}

void Connection::arm_write() {
  if (write_armed_) return;
  write_armed_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& failure) {
                       self->write_armed_ = false;
                       if (failure || self->phase_ == Phase::closed) return;
                       if (self->is_securing_) return self->secure();
                       if (std::exchange(self->read_wants_write_, false)) self->readable();
                       self->flush();
                     });
}

void Connection::shut_output() {
  if (std::exchange(output_shut_, true)) return;
  if (tls_) tls_->shut_down();
  ::shutdown(socket_.native_handle(), SHUT_WR);
}

void Connection::sent_all() {
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
    arm_read();
    return;
  }
  set_deadline(worker_.server->options.idle_timeout);
  if (!pending_.empty())
    worker_.post([self = shared_from_this()] {
      if (self->phase_ == Phase::idle) self->consume_pending();
    });
}

}  // namespace nomad::net
