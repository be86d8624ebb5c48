#include "runtime/net/listener.hpp"

#include <cerrno>
#include <tuple>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/base/log.hpp"

namespace nomad::net {
namespace {

/// How many connections are taken in before others get their turn.
constexpr int accepted_at_once = 64;

/// How long a listener rests when the process is out of descriptors.
constexpr std::chrono::milliseconds accept_pause{100};

constexpr std::string_view unix_scheme = "unix:";

}  // namespace

std::variant<ConnectionLimits::Slot, ConnectionLimits::Refusal> ConnectionLimits::enter(
    const std::string& address) {
  const std::lock_guard lock{guard_};
  if (count_ >= in_all_) return Refusal::too_many;
  if (!address.empty()) {
    auto& known = by_address_.try_emplace(address).first->second;
    if (per_address_ != 0 && known.connections >= per_address_) return Refusal::too_many_of_address;
    ++known.connections;
  }
  ++count_;
  changed_.notify_all();
  return Slot{shared_from_this(), address};
}

ConnectionLimits::Slot ConnectionLimits::enter_dialed() {
  const std::lock_guard lock{guard_};
  ++count_;
  changed_.notify_all();
  return Slot{shared_from_this(), ""};
}

void ConnectionLimits::Slot::leave() {
  const auto limits = std::exchange(limits_, nullptr);
  if (!limits) return;
  const std::lock_guard lock{limits->guard_};
  --limits->count_;
  limits->changed_.notify_all();
  if (address_.empty()) return;
  const auto entry = limits->by_address_.find(address_);
  entry->second.held -= std::exchange(held_, 0);
  if (--entry->second.connections == 0) limits->by_address_.erase(entry);
}

bool ConnectionLimits::Slot::hold(std::size_t bytes, std::size_t most) {
  if (!limits_ || address_.empty() || bytes == held_) return true;
  const std::lock_guard lock{limits_->guard_};
  auto& held = limits_->by_address_.at(address_).held;
  if (bytes > held_ && held - held_ + bytes > most) return false;
  held += bytes - held_;
  held_ = bytes;
  return true;
}

bool ConnectionLimits::wait_for_count(std::size_t count,
                                      std::chrono::steady_clock::time_point end) {
  std::unique_lock lock{guard_};
  return changed_.wait_until(lock, end, [&] { return count_ == count; });
}

class Listener::Core : public std::enable_shared_from_this<Core> {
public:
  /// What it takes in at: `address` of a TCP socket is empty, of a Unix socket it tells whose file
  /// is to be removed, "unix:/path", or its name, "@name".
  Core(EventLoop& loop,
       Descriptor socket,
       std::string address,
       std::string topic,
       std::shared_ptr<ConnectionLimits> limits,
       Callbacks callbacks)
      : is_unix_{!address.empty()},
        address_{is_unix_ ? std::move(address) : bound_address(socket)},
        topic_{std::move(topic)},
        limits_{std::move(limits)},
        callbacks_{std::move(callbacks)},
        socket_{loop.io(), socket.release()},
        retry_{loop.io()} {}

  ~Core() {
    if (address_.starts_with(unix_scheme)) ::unlink(address_.c_str() + unix_scheme.size());
  }

  const std::string& address() const { return address_; }

  void arm() {
    if (!socket_.is_open()) return;  // closed after this call was due
    socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& failure) {
                         if (!failure) self->accept();
                       });
  }

  void close() {
    boost::system::error_code ignored;  // closing a listener can't fail in a way that matters
    socket_.close(ignored);
    retry_.cancel();
  }

private:
  void accept() {
    for (int i = 0; i < accepted_at_once && socket_.is_open(); ++i) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      Descriptor socket{::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&peer),
                                  &size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
      if (socket.fd >= 0) {
        take(std::move(socket), peer, size);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        log::warn(topic_, "accepting a connection failed; trying again",
                  {{"error", go_text(errno)}});
        return rest();
      }
    }
    arm();
  }

  void rest() {
    retry_.expires_after(accept_pause);
    retry_.async_wait([self = shared_from_this()](const boost::system::error_code& failure) {
      if (!failure) self->arm();
    });
  }

  void take(Descriptor socket, const sockaddr_storage& peer, socklen_t size) {
    std::string host;
    std::string remote = "@";
    if (address_.starts_with(remote)) {
      remote = address_;
      host = address_;
    } else if (!is_unix_) {
      std::string port;
      std::tie(host, port) = numeric(peer, size);
      remote = join_host_port(host, port);
      set_tcp_options(socket.fd);
    }
    auto slot = limits_->enter(host);
    if (const auto* why = std::get_if<ConnectionLimits::Refusal>(&slot))
      return callbacks_.refuse(socket.fd, remote, *why);
    callbacks_.take({std::move(socket),
                     std::move(remote),
                     is_unix_,
                     {},
                     std::get<ConnectionLimits::Slot>(std::move(slot))});
  }

  const bool is_unix_;
  const std::string address_;
  const std::string topic_;
  const std::shared_ptr<ConnectionLimits> limits_;
  const Callbacks callbacks_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer retry_;
};

Listener::Listener(std::shared_ptr<Core> core) : core_{std::move(core)} {}

Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(EventLoop& loop,
                                                 const std::string& address,
                                                 std::string topic,
                                                 std::shared_ptr<ConnectionLimits> limits,
                                                 Callbacks callbacks) {
  std::string path = address.starts_with(unix_scheme) ? address.substr(unix_scheme.size()) : "";
  if (path.starts_with("//")) path.erase(0, 2);
  auto socket = NOMAD_TRY(path.empty() ? listen_tcp(address) : listen_unix(path));
  auto known = path.empty() ? "" : std::string{unix_scheme} + path;
  return std::unique_ptr<Listener>{new Listener{
      std::make_shared<Core>(loop, std::move(socket), std::move(known), std::move(topic),
                             std::move(limits), std::move(callbacks))}};
}

std::unique_ptr<Listener> Listener::adopt(EventLoop& loop,
                                          Descriptor socket,
                                          const std::string& name,
                                          std::string topic,
                                          std::shared_ptr<ConnectionLimits> limits,
                                          Callbacks callbacks) {
  return std::unique_ptr<Listener>{
      new Listener{std::make_shared<Core>(loop, std::move(socket), '@' + name, std::move(topic),
                                          std::move(limits), std::move(callbacks))}};
}

const std::string& Listener::address() const {
  return core_->address();
}

void Listener::start() {
  core_->arm();
}

void Listener::close() {
  core_->close();
}

}  // namespace nomad::net
