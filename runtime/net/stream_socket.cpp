#include "runtime/net/stream_socket.hpp"

#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace nomad::net {
namespace {

/// Reads in a row before others get their turn.
constexpr int reads_at_once = 8;

}  // namespace

// -- SocketLoop -----------------------------------------------------------------------------------

SocketLoop::SocketLoop(std::size_t read_bytes, std::chrono::milliseconds tick)
    : buffer(read_bytes, '\0'), tick_{tick} {}

SocketLoop::~SocketLoop() {
  EventLoop::stop();
}

void SocketLoop::start() {
  EventLoop::start();
  if (tick_.count() > 0) post([this] { tick(); });
}

void SocketLoop::tick() {
  const auto now = StreamSocket::Clock::now();
  wake_at(now + tick_, [this] { tick(); });
  for_each([now](StreamSocket& socket) { socket.safely([&] { socket.check(now); }); });
}

void SocketLoop::stop(const std::function<void(StreamSocket&)>& farewell) {
  EventLoop::stop([this, &farewell] {
    is_stopping_ = true;
    for_each([&farewell](StreamSocket& socket) {
      if (!guarded("net", [&] { farewell(socket); })) socket.close_socket();
    });
  });
}

bool SocketLoop::add(const std::shared_ptr<StreamSocket>& socket) {
  if (is_stopping_)
    socket->close_socket();
  else
    sockets_.emplace(socket.get(), socket);
  return !is_stopping_;
}

void SocketLoop::forget(StreamSocket* socket) {
  sockets_.erase(socket);
}

void SocketLoop::for_each(const std::function<void(StreamSocket&)>& action) {
  std::vector<std::shared_ptr<StreamSocket>> all;
  all.reserve(sockets_.size());
  for (const auto& [key, socket] : sockets_)
    all.push_back(socket);
  for (const auto& socket : all)
    if (!socket->is_closed()) action(*socket);
}

// -- the way to `open` ----------------------------------------------------------------------------

StreamSocket::StreamSocket(SocketLoop& loop, Descriptor socket)
    : loop_{loop}, socket_{loop.io(), socket.fd}, channel_{socket.fd} {
  socket.release();
}

StreamSocket::~StreamSocket() = default;

void StreamSocket::await_connection() {
  stage_ = Stage::connecting;
  arm_write();
}

void StreamSocket::replace(Descriptor socket) {
  boost::system::error_code ignored;  // the old descriptor is gone either way
  socket_.close(ignored);
  channel_.reset(socket.fd);
  socket_.assign(socket.release());
  ++number_;
  read_armed_ = write_armed_ = false;
}

void StreamSocket::open(Result<TlsSession> session) {
  if (!session) return on_failure(session.error());
  stage_ = Stage::securing;
  channel_.secure(std::move(*session));
  shake_hands();
}

void StreamSocket::open() {
  stage_ = Stage::open;
  on_open();
}

void StreamSocket::shake_hands() {
  const auto step = channel_.handshake();
  if (!step) return on_failure(step.error());
  switch (step->state) {
    case IoState::want_read:
      return arm_read();
    case IoState::want_write:
      return arm_write();
    case IoState::closed:
      return on_failure({Errc::unavailable, "the peer hung up in the TLS handshake"});
    case IoState::done:
      return open();
  }
}

void StreamSocket::close_socket() {
  if (is_closed()) return;
  stage_ = Stage::closed;
  boost::system::error_code ignored;  // the descriptor is gone either way
  socket_.close(ignored);
  output_.clear();
  loop_.forget(this);
}

// -- waiting --------------------------------------------------------------------------------------

void StreamSocket::arm_read() {
  if (is_closed() || std::exchange(read_armed_, true)) return;
  socket_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [self = shared_from_this(), number = number_](const boost::system::error_code& failure) {
        if (number != self->number_) return;  // that socket was given up
        self->read_armed_ = false;
        if (!failure && !self->is_closed()) self->safely([&] { self->readable(); });
      });
}

void StreamSocket::arm_write() {
  if (is_closed() || std::exchange(write_armed_, true)) return;
  socket_.async_wait(
      boost::asio::posix::stream_descriptor::wait_write,
      [self = shared_from_this(), number = number_](const boost::system::error_code& failure) {
        if (number != self->number_) return;
        self->write_armed_ = false;
        if (!failure && !self->is_closed()) self->safely([&] { self->writable(); });
      });
}

void StreamSocket::readable() {
  if (stage_ == Stage::securing) return shake_hands();
  if (std::exchange(write_wants_read_, false)) flush();
  read_some();
}

void StreamSocket::writable() {
  if (stage_ == Stage::connecting) return on_connected(connect_outcome(native_handle()));
  if (stage_ == Stage::securing) return shake_hands();
  if (std::exchange(read_wants_write_, false)) read_some();
  flush();
}

// -- input ----------------------------------------------------------------------------------------

void StreamSocket::read_some() {
  const auto self = shared_from_this();
  is_reading_ = true;
  const auto step = read_in_a_row();
  is_reading_ = false;
  if (!step) return on_failure(step.error());
  switch (step->state) {
    case IoState::want_read:
      return arm_read();
    case IoState::want_write:
      read_wants_write_ = true;
      return arm_write();
    case IoState::closed:
      return on_input_end();
    case IoState::done:
      return read_on();
  }
}

/// `done`: the protocol wants no more, or others have their turn.
Result<IoOutcome> StreamSocket::read_in_a_row() {
  auto& buffer = loop_.buffer;
  for (int i = 0; i < reads_at_once && !is_closed() && wants_input(); ++i) {
    auto step = channel_.read(buffer.data(), buffer.size());
    if (!step || step->state != IoState::done) return step;
    on_input({buffer.data(), step->count});
    if (!channel_.is_secure() && step->count < buffer.size()) break;  // there is no more now
  }
  return IoOutcome{};
}

void StreamSocket::read_on() {
  const bool goes_on = is_reading_ || read_armed_ || read_wants_write_;
  if (stage_ != Stage::open || goes_on || !wants_input()) return;
  if (!channel_.is_secure()) return arm_read();
  if (std::exchange(read_posted_, true)) return;
  boost::asio::post(socket_.get_executor(),
                    [self = shared_from_this()] {  // what TLS has read ahead no poll shows
                      self->read_posted_ = false;
                      if (!self->read_armed_ && !self->is_closed())
                        self->safely([&] { self->read_some(); });
                    });
}

// -- output ---------------------------------------------------------------------------------------

void StreamSocket::flush_soon() {
  if (write_armed_ || is_closed() || std::exchange(flush_posted_, true)) return;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->safely([&] { self->flush(); });
  });
}

void StreamSocket::flush_when_writable() {
  arm_write();
}

void StreamSocket::flush() {
  if (stage_ != Stage::open || write_armed_ || write_wants_read_ || is_flushing_) return;
  const auto self = shared_from_this();
  is_flushing_ = true;
  if (output_.empty()) fill();
  on_progress();
  bool is_blocked = false;
  while (!is_closed() && !output_.empty() && !is_blocked)
    is_blocked = !write_some();
  is_flushing_ = false;
  if (is_closed()) return;
  if (is_blocked)
    on_blocked();
  else
    on_sent();
}

/// False when the kernel takes no more, or the peer is gone.
bool StreamSocket::write_some() {
  const auto [first, second] = output_.parts();
  const auto offered = first.size() + second.size();
  const auto step = channel_.write(first, second);
  if (!step) {
    on_failure(step.error());
    return false;
  }
  switch (step->state) {
    case IoState::closed:
      on_failure({Errc::unavailable, "the peer hung up"});
      return false;
    case IoState::want_read:
      write_wants_read_ = true;
      arm_read();
      return false;
    case IoState::want_write:
      arm_write();
      return false;
    case IoState::done:
      break;
  }
  output_.take(step->count);
  on_progress();
  if (channel_.is_secure() || step->count == offered) return !is_closed();
  arm_write();  // a plain socket that takes less than it is given is full
  return false;
}

}  // namespace nomad::net
