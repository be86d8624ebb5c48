#include "runtime/net/rpc/rpc_connection.hpp"

#include <cerrno>
#include <utility>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "runtime/base/log.hpp"

namespace nomad::net {
namespace {

/// What is handed to the socket at once, and what the kernel may hold unsent.
constexpr std::size_t batch_bytes = 64 * 1024;

/// Reads in a row before others get their turn.
constexpr int reads_at_once = 8;

void set_low_water(int fd) {
  const int bytes = batch_bytes;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

}  // namespace

RpcSocket::RpcSocket(std::shared_ptr<RpcWorker> worker,
                     int fd,
                     std::string remote,
                     std::string address,
                     std::optional<RpcDial> dial,
                     DialDone done,
                     std::deque<Address> other_addresses)
    : worker_{std::move(worker)},
      socket_{worker_->io, fd},
      remote_{std::move(remote)},
      address_{std::move(address)},
      dial_{std::move(dial)},
      dial_done_{std::move(done)},
      phase_{dial_ ? Phase::connecting : Phase::securing},
      deadline_{RpcClock::now()
                + (dial_ ? worker_->shared->options.connect_timeout
                         : worker_->shared->options.handshake_timeout)},
      other_addresses_{std::move(other_addresses)},
      address_deadline_{share_of_dial()} {
  peer_.remote = remote_;
  peer_.accepted = !dial_;
  auto hello = worker_->shared->options.hello;
  if (dial_) hello.for_raft = dial_->for_raft;
  mux_.emplace(dial_ ? RpcMux::Side::dialer : RpcMux::Side::acceptor, hello,
               worker_->shared->options.limits, RpcClock::now());
}

RpcSocket::~RpcSocket() = default;

// -- any thread

void RpcSocket::call(RpcRequest request, RpcDone done) {
  worker_->post(
      [self = shared_from_this(), request = std::move(request), done = std::move(done)]() mutable {
        self->begin(std::move(request), {std::move(done), {}}, {});
      });
}

RpcConnection::StreamCall RpcSocket::call_with_stream(RpcRequest request, RpcDone done) {
  const auto stream
      = std::make_shared<detail::StreamEnd>(worker_, worker_->shared->options.limits.window_bytes);
  const auto id = std::make_shared<RpcStreamId>(0);
  request.byte_stream = true;
  worker_->post([self = shared_from_this(), request = std::move(request), done = std::move(done),
                 stream, id]() mutable {
    self->begin(std::move(request), {std::move(done), stream}, id);
  });
  return {stream, [weak = weak_from_this(), id] {
            const auto self = weak.lock();
            if (!self) return;
            self->worker_->post([self, id] {
              const auto call = self->calls_.extract(*id);
              if (call.empty()) return;
              self->mux_->cancel(*id);
              self->flush_soon();
              if (call.mapped().stream) call.mapped().stream->close();
              call.mapped().done({Error{Errc::cancelled, "the call was withdrawn"}, true, false});
            });
          }};
}

void RpcSocket::post(RpcRequest request, std::function<void(Result<>)> done) {
  request.one_way = true;
  worker_->post(
      [self = shared_from_this(), request = std::move(request), done = std::move(done)]() mutable {
        if (self->phase_ != Phase::open)
          return done(Error{Errc::unavailable, "the connection is closed"});
        const auto number = self->next_post_++;
        if (auto posted = self->mux_->post(std::move(request), number); !posted)
          return done(posted.error());
        self->posts_.emplace(number, std::move(done));
        self->flush_soon();
      });
}

void RpcSocket::close(std::string reason) {
  worker_->post([self = shared_from_this(), reason = std::move(reason)] {
    self->end({Errc::unavailable, reason});
  });
}

void RpcSocket::begin(RpcRequest request, Call call, std::shared_ptr<RpcStreamId> id) {
  const auto refuse = [&](const Error& why) {
    if (call.stream) call.stream->close();
    call.done({why, false, false});
  };
  if (phase_ != Phase::open)
    return refuse({Errc::unavailable, "the connection with " + remote_ + " is closed"});
  const auto made = mux_->call(std::move(request), RpcClock::now());
  if (!made) return refuse(made.error());
  if (id) *id = *made;
  if (call.stream) call.stream->attach(shared_from_this(), *made);
  calls_.emplace(*made, std::move(call));
  flush_soon();
}

void RpcSocket::answer(RpcStreamId id, Result<Bytes> outcome) {
  if (const auto exchange = exchanges_.find(id); exchange != exchanges_.end()) {
    const auto stream = exchange->second->stream;
    if (stream && !stream->finish(outcome)) return;
    exchanges_.erase(id);
    if (stream) stream->close();
  }
  if (outcome)
    mux_->respond(id, std::move(*outcome));
  else
    mux_->fail(id, outcome.error());
  flush_soon();
}

// -- the way to `open`

void RpcSocket::start() {
  set_tcp_options(socket_.native_handle());
  set_low_water(socket_.native_handle());
  if (phase_ == Phase::connecting)
    arm_write();
  else
    secure();
}

Result<Descriptor> RpcSocket::begin_connect(std::deque<Address>& addresses) {
  Error last{Errc::unavailable, "no such host"};
  while (!addresses.empty()) {
    const auto address = addresses.front();
    addresses.pop_front();
    Descriptor socket{::socket(address.protocol().family(),
                               SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
    if (socket.fd >= 0
        && (::connect(socket.fd, address.data(), static_cast<socklen_t>(address.size())) == 0
            || errno == EINPROGRESS))
      return socket;
    last.what = "connect: " + go_text(errno);
  }
  return last;
}

/// What is left for dialing, divided among the addresses that are left.
RpcClock::time_point RpcSocket::share_of_dial() const {
  const auto now = RpcClock::now();
  const auto count = static_cast<RpcClock::rep>(1 + other_addresses_.size());
  return now + (deadline_ - now) / count;
}

/// Gives this address up for the next one. False: there is none.
bool RpcSocket::dial_next() {
  auto next = begin_connect(other_addresses_);
  if (!next) return false;
  boost::system::error_code ignored;  // the old descriptor is gone either way
  socket_.close(ignored);
  socket_.assign(next->release());
  ++address_number_;
  write_armed_ = false;
  address_deadline_ = share_of_dial();
  start();
  return true;
}

void RpcSocket::connected() {
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0 && dial_next()) return;
  if (failure != 0)
    return end({Errc::unavailable, "dial tcp " + remote_ + ": connect: " + go_text(failure)});
  deadline_ = RpcClock::now() + worker_->shared->options.handshake_timeout;
  secure();
}

void RpcSocket::secure() {
  phase_ = Phase::securing;
  const auto& context = worker_->shared->options.tls;
  if (!context) return greet();
  if (!tls_) {
    auto session = dial_ ? context->connect(socket_.native_handle(), "")
                         : context->accept(socket_.native_handle());
    if (!session) return end(session.error());
    tls_.emplace(std::move(*session));
  }
  const auto step = tls_->handshake();
  if (!step) return end(step.error());
  switch (step->state) {
    case TlsSession::State::want_read:
      return arm_read();
    case TlsSession::State::want_write:
      return arm_write();
    case TlsSession::State::closed:
      return end({Errc::unavailable, "the peer hung up in the TLS handshake"});
    case TlsSession::State::done:
      peer_.is_tls = true;
      peer_.certificate = tls_->peer();
      return greet();
  }
}

void RpcSocket::greet() {
  phase_ = Phase::greeting;
  flush_soon();
  readable();
}

void RpcSocket::on_event(RpcGreeted& event) {
  peer_.hello = std::move(event.hello);
  const auto& options = worker_->shared->options;
  auto allowed = check_claims(peer_, options.verify_role, options.hello.region);
  if (allowed && dial_ && peer_.hello.role != dial_->role)
    allowed = Error{Errc::permission_denied, "it is no server"};
  if (allowed && dial_ && !dial_->region.empty() && peer_.hello.region != dial_->region)
    allowed = Error{Errc::permission_denied,
                    "it is of region \"" + peer_.hello.region + "\", not \"" + dial_->region + '"'};
  if (!allowed) return end(allowed.error());
  phase_ = Phase::open;
  open_ = true;
  flush_soon();
  if (worker_->shared->callbacks.on_open) worker_->shared->callbacks.on_open(shared_from_this());
  if (auto done = std::exchange(dial_done_, {})) done(RpcConnectionRef{shared_from_this()});
}

void RpcSocket::check(RpcClock::time_point now) {
  if (phase_ == Phase::closed) return;
  if (phase_ != Phase::open) {
    if (phase_ == Phase::connecting && now >= address_deadline_ && dial_next()) return;
    if (now >= deadline_)
      end({Errc::timeout, phase_ == Phase::connecting ? "dial tcp " + remote_ + ": i/o timeout"
                                                      : "no complete handshake in time"});
    return;
  }
  RpcEvents events;
  const auto alive = mux_->expire(now, events);
  dispatch(events);
  if (!alive) return end(alive.error());
  if (mux_->has_output()) flush_soon();
  if (mux_->wants_input()) resume_input();
}

void RpcSocket::say_goodbye(std::string_view why) {
  if (phase_ != Phase::open) return;
  mux_->say_goodbye(why);
  flush();
}

void RpcSocket::end(const Error& reason) {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  const bool was_open = phase_ == Phase::open;
  const bool was_greeting = phase_ == Phase::greeting;
  const bool is_fault = reason.code != Errc::unavailable && reason.code != Errc::cancelled;
  phase_ = Phase::closed;
  open_ = false;
  if (is_fault)
    log::warn("rpc", "closing the connection with {}: {}", remote_, reason.what);
  else
    log::debug("rpc", "the connection with {} ended: {}", remote_, reason.what);
  if (was_greeting && is_fault && peer_.accepted && mux_->peer()) refuse_entry(reason.what);
  if (tls_ && was_open) tls_->shut_down();
  boost::system::error_code ignored;  // the descriptor is gone either way
  socket_.close(ignored);
  RpcEvents events;
  const Error lost{is_fault && reason.code != Errc::timeout ? reason.code : Errc::unavailable,
                   remote_ + ": " + reason.what};
  mux_->abort(lost, events);
  dispatch(events);
  out_.clear();
  queued_ = 0;
  if (auto done = std::exchange(dial_done_, {})) done(lost);
  if (was_open && worker_->shared->callbacks.on_closed)
    worker_->shared->callbacks.on_closed(self, reason);
  worker_->shared->leave(address_);
  worker_->forget(this);
}

/// A goodbye in place of our hello, if the socket takes it at once, so that the other side's log
/// says why.
void RpcSocket::refuse_entry(std::string_view why) {
  RpcFrameHeader header;
  header.kind = RpcFrameKind::goodbye;
  header.first = header.last = true;
  header.length = static_cast<std::uint32_t>(why.size());
  const auto head = encode(header);
  std::string frame{reinterpret_cast<const char*>(head.data()), head.size()};
  frame += why;
  if (!tls_) {
    if (::send(socket_.native_handle(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0)
      log::debug("rpc", "{} was not told why it is refused", remote_);
  } else if (!tls_->write(frame.data(), frame.size())) {
    log::debug("rpc", "{} was not told why it is refused", remote_);
  }
}

// -- input

void RpcSocket::arm_read() {
  if (read_armed_ || phase_ == Phase::closed) return;
  read_armed_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& failure) {
                       self->read_armed_ = false;
                       if (failure || self->phase_ == Phase::closed) return;
                       if (self->phase_ == Phase::securing)
                         self->secure();
                       else
                         self->readable();
                     });
}

void RpcSocket::readable() {
  const auto self = shared_from_this();
  for (int i = 0; i < reads_at_once; ++i) {
    if (phase_ == Phase::closed) return;
    input_paused_ = !mux_->wants_input();
    if (input_paused_) return;  // `check` or `flush` goes on
    auto& buffer = worker_->buffer;
    if (!tls_) {
      const auto got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return arm_read();
      if (got <= 0) return end({Errc::unavailable, got == 0 ? "the peer hung up" : go_text(errno)});
      if (!take_input(static_cast<std::size_t>(got))) return;
      if (static_cast<std::size_t>(got) < buffer.size()) return arm_read();
      continue;
    }
    const auto step = tls_->read(buffer.data(), buffer.size());
    if (!step) return end(step.error());
    switch (step->state) {
      case TlsSession::State::done:
        if (!take_input(step->count)) return;
        break;
      case TlsSession::State::want_read:
        return arm_read();
      case TlsSession::State::want_write:
        read_wants_write_ = true;
        return arm_write();
      case TlsSession::State::closed:
        return end({Errc::unavailable, "the peer hung up"});
    }
  }
  boost::asio::post(worker_->io, [self] { self->readable(); });
}

/// After a pause the socket may have nothing more to show for what TLS has read ahead.
void RpcSocket::resume_input() {
  if (!std::exchange(input_paused_, false)) return arm_read();
  boost::asio::post(worker_->io, [self = shared_from_this()] { self->readable(); });
}

bool RpcSocket::take_input(std::size_t count) {
  RpcEvents events;
  const auto bytes = std::as_bytes(std::span{worker_->buffer}.first(count));
  const auto taken = mux_->receive(bytes, RpcClock::now(), events);
  dispatch(events);
  if (phase_ == Phase::closed) return false;
  if (!taken) {
    end(taken.error());
    return false;
  }
  if (mux_->has_output() || out_sent_ < out_.size()) flush_soon();
  return true;
}

void RpcSocket::dispatch(RpcEvents& events) {
  for (auto& event : events)
    std::visit([this](auto& each) { on_event(each); }, event);
}

void RpcSocket::on_event(RpcRequested& event) {
  if (phase_ != Phase::open) return;
  const auto self = shared_from_this();
  auto exchange
      = std::make_shared<detail::RpcExchange>(self, event.stream, std::move(event.request));
  if (event.stream != 0) {
    if (exchange->request.byte_stream) {
      exchange->stream = std::make_shared<detail::StreamEnd>(
          worker_, worker_->shared->options.limits.window_bytes);
      exchange->stream->attach(self, event.stream);
    }
    exchanges_.emplace(event.stream, exchange);
  }
  worker_->shared->callbacks.on_request(RpcResponder{std::move(exchange)});
}

void RpcSocket::on_event(RpcAnswered& event) {
  auto call = calls_.extract(event.stream);
  if (call.empty()) return;
  if (call.mapped().stream) call.mapped().stream->close();
  call.mapped().done({std::move(event.outcome), event.was_sent, event.by_peer});
}

void RpcSocket::on_event(RpcPosted& event) {
  auto post = posts_.extract(event.number);
  if (!post.empty()) post.mapped()(event.outcome);
}

void RpcSocket::on_event(RpcCancelled& event) {
  const auto exchange = exchanges_.extract(event.stream);
  if (exchange.empty()) return;
  if (exchange.mapped()->stream) exchange.mapped()->stream->close();
  exchange.mapped()->cancel();
}

detail::StreamEnd* RpcSocket::stream_of(RpcStreamId id) {
  if (const auto call = calls_.find(id); call != calls_.end()) return call->second.stream.get();
  if (const auto asked = exchanges_.find(id); asked != exchanges_.end())
    return asked->second->stream.get();
  return nullptr;
}

void RpcSocket::on_event(RpcData& event) {
  if (auto* stream = stream_of(event.stream)) stream->deliver(std::move(event.bytes), event.last);
}

void RpcSocket::on_event(RpcWritable& event) {
  if (auto* stream = stream_of(event.stream)) stream->push();
}

void RpcSocket::on_event(RpcGoodbye& event) {
  if (phase_ != Phase::open)
    return end({Errc::permission_denied, "the peer refuses: " + event.why});
  log::debug("rpc", "{} says goodbye: {}", remote_, event.why);
  open_ = false;  // the pool makes another
}

// -- output

void RpcSocket::arm_write() {
  if (write_armed_ || phase_ == Phase::closed) return;
  write_armed_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this(),
                      number = address_number_](const boost::system::error_code& failure) {
                       if (number != self->address_number_) return;  // that address was given up
                       self->write_armed_ = false;
                       if (failure || self->phase_ == Phase::closed) return;
                       if (self->phase_ == Phase::connecting) return self->connected();
                       if (self->phase_ == Phase::securing) return self->secure();
                       if (std::exchange(self->read_wants_write_, false)) self->readable();
                       self->flush();
                     });
}

/// Flushes after what else waits for this thread, so that answers of one moment share a write.
void RpcSocket::flush_soon() {
  if (write_armed_ || phase_ == Phase::closed || std::exchange(flush_posted_, true)) return;
  boost::asio::post(worker_->io, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void RpcSocket::fill() {
  out_.erase(0, std::exchange(out_sent_, 0));
  RpcEvents events;
  while (out_.size() < batch_bytes / 2) {
    const auto piece = mux_->next_output(events);
    if (!piece) break;
    out_.append(reinterpret_cast<const char*>(piece->header.data()), piece->header.size());
    out_.append(piece->payload.text());
  }
  queued_ = mux_->queued_bytes() + out_.size();
  dispatch(events);
}

void RpcSocket::flush() {
  if (phase_ == Phase::closed || phase_ == Phase::connecting || phase_ == Phase::securing
      || write_armed_)
    return;
  if (phase_ == Phase::greeting && peer_.accepted) return;  // who dials speaks first
  if (out_sent_ == out_.size()) fill();
  if (out_.empty()) return;
  const auto* from = out_.data() + out_sent_;
  const auto size = out_.size() - out_sent_;
  if (!tls_) {
    const auto sent = ::send(socket_.native_handle(), from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      return end({Errc::unavailable, go_text(errno)});
    if (sent > 0) out_sent_ += static_cast<std::size_t>(sent);
  } else {
    const auto step = tls_->write(from, size);
    if (!step) return end(step.error());
    if (step->state == TlsSession::State::closed)
      return end({Errc::unavailable, "the peer hung up"});
    if (step->state == TlsSession::State::want_read) return arm_read();
    if (step->state == TlsSession::State::done) out_sent_ += step->count;
  }
  if (mux_->wants_input() && !read_wants_write_) resume_input();
  // The rest waits until the kernel asks for it: then the most urgent frame is chosen anew.
  if (out_sent_ < out_.size() || mux_->has_output()) return arm_write();
  out_.clear();
  out_sent_ = 0;
  queued_ = 0;
}

}  // namespace nomad::net
