// Threads, listeners and dialing.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <utility>

#include <sys/socket.h>

#include "runtime/base/log.hpp"
#include "runtime/net/rpc/rpc_connection.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t rpc_read_bytes = 128 * 1024;
constexpr std::chrono::milliseconds tick_interval{100};

}  // namespace

bool RpcShared::admit(const std::string& address) {
  const std::lock_guard lock{guard};
  if (connections >= options.connections) return false;
  auto& count = per_address[address];
  if (options.connections_per_address != 0 && count >= options.connections_per_address)
    return false;
  ++count;
  ++connections;
  return true;
}

void RpcShared::leave(const std::string& address) {
  const std::lock_guard lock{guard};
  --connections;
  if (address.empty()) return;
  const auto entry = per_address.find(address);
  if (entry != per_address.end() && --entry->second == 0) per_address.erase(entry);
}

// -- RpcWorker -----------------------------------------------------------------------------------

RpcWorker::RpcWorker(std::shared_ptr<RpcShared> all)
    : shared{std::move(all)}, buffer(rpc_read_bytes, '\0'), work_{io.get_executor()}, timer_{io} {}

void RpcWorker::start() {
  thread_ = std::thread{[this] {
    tick();
    io.run();
  }};
}

void RpcWorker::tick() {
  if (stopping_) return;  // this call was under way when the timer was cancelled
  const auto now = RpcClock::now();
  std::vector<std::shared_ptr<RpcSocket>> all;
  all.reserve(sockets_.size());
  for (const auto& [key, socket] : sockets_)
    all.push_back(socket);
  for (const auto& socket : all)
    socket->check(now);
  timer_.expires_after(tick_interval);
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) tick();
  });
}

void RpcWorker::add(const std::shared_ptr<RpcSocket>& socket) {
  if (stopping_) return socket->end({Errc::cancelled, "this process stops"});
  sockets_.emplace(socket.get(), socket);
  socket->start();
}

void RpcWorker::forget(RpcSocket* socket) {
  sockets_.erase(socket);
}

void RpcWorker::stop() {
  {
    const std::lock_guard lock{guard_};
    if (closed_) return;
    asio::post(io, [this] {
      stopping_ = true;
      timer_.cancel();
      while (!sockets_.empty()) {
        const auto socket = sockets_.begin()->second;
        socket->say_goodbye("this process stops");
        socket->end({Errc::cancelled, "this process stops"});
      }
      const std::lock_guard closing{guard_};
      closed_ = true;
      work_.reset();
    });
  }
  if (thread_.joinable()) thread_.join();
}

// -- RpcNetwork ----------------------------------------------------------------------------------

class RpcNetwork::Core {
public:
  Core(RpcOptions options, RpcCallbacks callbacks) {
    shared_ = std::make_shared<RpcShared>();
    shared_->options = std::move(options);
    shared_->callbacks = std::move(callbacks);
    for (unsigned i = 0; i < std::max(1U, shared_->options.threads); ++i) {
      workers_.push_back(std::make_shared<RpcWorker>(shared_));
      workers_.back()->start();
    }
  }

  ~Core() { stop(); }

  Result<std::string> listen(const std::string& address) {
    auto socket = listen_tcp(address);
    if (!socket) return socket.error();
    auto name = bound_address(*socket);
    auto listener = std::make_shared<Listener>(workers_[0]->io, socket->release());
    listeners_.push_back(listener);
    workers_[0]->post([this, listener] { arm(listener); });
    return name;
  }

  void dial(RpcDial where, DialDone done) {
    const auto parts = split_host_port(where.address);
    if (!parts) return done(Error{Errc::invalid_argument, "dial tcp: " + parts.error().what});
    const auto worker = next_worker(where.for_raft);
    if (const auto& resolve = shared_->options.resolve)
      return worker->post([worker, where = std::move(where),
                           addresses = endpoints(resolve(parts->first), parts->second),
                           done = std::move(done)]() mutable {
        connect(worker, std::move(where), std::move(addresses), std::move(done));
      });
    worker->post([worker, where = std::move(where), host = parts->first, port = parts->second,
                  done = std::move(done)]() mutable {
      auto resolver = std::make_shared<asio::ip::tcp::resolver>(worker->io);
      resolver->async_resolve(
          host, port, asio::ip::resolver_base::numeric_service,
          [worker, resolver, where = std::move(where), done = std::move(done)](
              const boost::system::error_code& failure, const auto& found) mutable {
            if (failure || found.empty())
              return done(
                  Error{Errc::unavailable, "dial tcp " + where.address + ": " + failure.message()});
            std::deque<RpcSocket::Address> addresses;
            for (const auto& each : found)
              addresses.push_back(each.endpoint());
            connect(worker, std::move(where), std::move(addresses), std::move(done));
          });
    });
  }

  std::size_t connection_count() const { return shared_->connections; }

  void stop() {
    if (workers_.empty()) return;
    workers_[0]->post([this] {
      for (const auto& listener : listeners_)
        listener->close();
    });
    for (const auto& worker : workers_)
      worker->stop();
    listeners_.clear();
    workers_.clear();
  }

private:
  struct Listener {
    Listener(asio::io_context& io, int fd) : socket{io, fd}, retry{io} {}

    asio::posix::stream_descriptor socket;
    asio::steady_timer retry;
    bool closed = false;

    void close() {
      closed = true;
      boost::system::error_code ignored;  // closing a listener can't fail in a way that matters
      socket.close(ignored);
      retry.cancel();
    }
  };

  /// Raft's connections have the first thread, others the rest.
  const std::shared_ptr<RpcWorker>& next_worker(bool for_raft) {
    if (for_raft || workers_.size() == 1) return workers_[0];
    return workers_[1 + next_++ % (workers_.size() - 1)];
  }

  /// Numeric ones; others are left out.
  static std::deque<RpcSocket::Address> endpoints(const std::vector<std::string>& addresses,
                                                  const std::string& port) {
    std::deque<RpcSocket::Address> found;
    for (const auto& each : addresses) {
      boost::system::error_code failure;
      const auto address = asio::ip::make_address(each, failure);
      if (!failure)
        found.emplace_back(address, static_cast<std::uint16_t>(std::atoi(port.c_str())));
    }
    return found;
  }

  static void connect(const std::shared_ptr<RpcWorker>& worker,
                      RpcDial where,
                      std::deque<RpcSocket::Address> addresses,
                      DialDone done) {
    auto socket = RpcSocket::begin_connect(addresses);
    if (!socket) return done(socket.error().within("dial tcp " + where.address));
    ++worker->shared->connections;
    const auto remote = where.address;
    worker->add(std::make_shared<RpcSocket>(worker, socket->release(), remote, "", std::move(where),
                                            std::move(done), std::move(addresses)));
  }

  void arm(const std::shared_ptr<Listener>& listener) {
    if (listener->closed) return;
    listener->socket.async_wait(asio::posix::stream_descriptor::wait_read,
                                [this, listener](const boost::system::error_code& failure) {
                                  if (!failure) accept(listener);
                                });
  }

  void accept(const std::shared_ptr<Listener>& listener) {
    for (int i = 0; i < accepted_at_once && !listener->closed; ++i) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      Descriptor socket{::accept4(listener->socket.native_handle(),
                                  reinterpret_cast<sockaddr*>(&peer), &size,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC)};
      if (socket.fd >= 0) {
        take(std::move(socket), peer, size);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        log::warn("rpc", "accept: {}; trying again", go_text(errno));
        listener->retry.expires_after(accept_pause);
        listener->retry.async_wait([this, listener](const boost::system::error_code& failure) {
          if (!failure) arm(listener);
        });
        return;
      }
    }
    arm(listener);
  }

  void take(Descriptor socket, const sockaddr_storage& peer, socklen_t size) {
    auto [host, port] = numeric(peer, size);
    auto remote = join_host_port(host, port);
    if (!shared_->admit(host)) {
      log::warn("rpc", "turning {} away: too many connections of that address, or in all", remote);
      return;
    }
    const auto worker = next_worker(false);
    auto owned = std::make_shared<Descriptor>(std::move(socket));
    worker->post([worker, owned, remote = std::move(remote), host = std::move(host)] {
      worker->add(std::make_shared<RpcSocket>(worker, owned->release(), remote, host, std::nullopt,
                                              DialDone{}));
    });
  }

  std::shared_ptr<RpcShared> shared_;
  std::vector<std::shared_ptr<RpcWorker>> workers_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::atomic<std::size_t> next_{0};
};

RpcNetwork::RpcNetwork(std::unique_ptr<Core> core) : core_{std::move(core)} {}

RpcNetwork::~RpcNetwork() = default;

Result<std::unique_ptr<RpcNetwork>> RpcNetwork::start(RpcOptions options, RpcCallbacks callbacks) {
  return std::unique_ptr<RpcNetwork>{
      new RpcNetwork{std::make_unique<Core>(std::move(options), std::move(callbacks))}};
}

Result<std::string> RpcNetwork::listen(const std::string& address) {
  return core_->listen(address);
}

void RpcNetwork::dial(RpcDial where, std::function<void(Result<RpcConnectionRef>)> done) {
  core_->dial(std::move(where), std::move(done));
}

std::size_t RpcNetwork::connection_count() const {
  return core_->connection_count();
}

void RpcNetwork::stop() {
  core_->stop();
}

}  // namespace nomad::net
