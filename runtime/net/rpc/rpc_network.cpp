// Threads, listeners and dialing.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "runtime/base/log.hpp"
#include "runtime/net/kept_users.hpp"
#include "runtime/net/rpc/rpc_connection.hpp"

namespace nomad::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t rpc_read_bytes = 128 * 1024;
constexpr std::chrono::milliseconds tick_interval{100};
constexpr auto stopping = "this process stops";

}  // namespace

RpcWorker::RpcWorker(std::shared_ptr<const RpcShared> all)
    : SocketLoop{rpc_read_bytes, tick_interval}, shared{std::move(all)} {}

// -- RpcNetwork ----------------------------------------------------------------------------------

class RpcNetwork::Core {
public:
  Core(RpcOptions options, RpcCallbacks callbacks) {
    shared_ = std::make_shared<RpcShared>(RpcShared{std::move(options), std::move(callbacks)});
    limits_ = std::make_shared<ConnectionLimits>(shared_->options.connections,
                                                 shared_->options.connections_per_address);
    for (unsigned i = 0; i < std::max(1U, shared_->options.threads); ++i) {
      workers_.push_back(std::make_shared<RpcWorker>(shared_));
      workers_.back()->start();
    }
  }

  ~Core() { stop(); }

  Result<std::string> listen(const std::string& address) {
    auto opened = NOMAD_TRY(Listener::open(
        *workers_[0], address, "rpc", limits_,
        {.take = [this](Accepted accepted) { take(std::move(accepted)); },
         .refuse =
             [](int, const std::string& remote, ConnectionLimits::Refusal) {
               log::warn("rpc",
                         "turned a connection away: too many connections of its address, or in all",
                         {{"peer", remote}});
             }}));
    listeners_.push_back(std::move(opened));
    workers_[0]->post([raw = listeners_.back().get()] { raw->start(); });
    return listeners_.back()->address();
  }

  void dial(RpcDial where, DialDone done) {
    const auto parts = split_host_port(where.address);
    if (!parts) return done(Error{Errc::invalid_argument, "dial tcp: " + parts.error().what});
    const auto worker = next_worker(where.for_raft);
    if (const auto& resolve = shared_->options.resolve)
      return worker->post([this, worker, where = std::move(where),
                           addresses = endpoints(resolve(parts->first), parts->second),
                           done = std::move(done)]() mutable {
        connect(worker, std::move(where), std::move(addresses), std::move(done));
      });
    worker->post([this, worker, where = std::move(where), host = parts->first, port = parts->second,
                  done = std::move(done)]() mutable {
      auto resolver = std::make_shared<asio::ip::tcp::resolver>(worker->io());
      resolver->async_resolve(
          host, port, asio::ip::resolver_base::numeric_service,
          [this, worker, resolver, where = std::move(where), done = std::move(done)](
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

  bool wait_for_connections(std::size_t count, std::chrono::milliseconds patience) {
    return limits_->wait_for_count(count, std::chrono::steady_clock::now() + patience);
  }

  void stop() {
    if (workers_.empty()) return;
    workers_[0]->post([this] {
      for (const auto& listener : listeners_)
        listener->close();
    });
    for (const auto& worker : workers_)
      worker->stop([](StreamSocket& socket) {
        auto& rpc = static_cast<RpcSocket&>(socket);
        rpc.say_goodbye(stopping);
        rpc.end({Errc::cancelled, stopping});
      });
    listeners_.clear();
    workers_.clear();
  }

private:
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

  void connect(const std::shared_ptr<RpcWorker>& worker,
               RpcDial where,
               std::deque<RpcSocket::Address> addresses,
               DialDone done) {
    auto socket = RpcSocket::connect_to_one(addresses);
    if (!socket) return done(socket.error().within("dial tcp " + where.address));
    auto remote = where.address;
    begin(worker, std::make_shared<RpcSocket>(
                      worker, std::move(*socket), std::move(remote), limits_->enter_dialed(),
                      RpcSocket::Dialed{std::move(where), std::move(done), std::move(addresses)}));
  }

  void take(Accepted accepted) {
    const auto& kept = shared_->options.kept_users;
    if (kept && !kept->limits_of(accepted.socket.fd).empty())
      return log::warn("rpc", "turned a connection away: it is a plugin's user, or closed already",
                       {{"peer", accepted.remote}});
    const auto worker = next_worker(false);
    worker->post([worker, owned = std::make_shared<Accepted>(std::move(accepted))] {
      begin(worker, std::make_shared<RpcSocket>(worker, std::move(owned->socket), owned->remote,
                                                std::move(owned->slot), std::nullopt));
    });
  }

  static void begin(const std::shared_ptr<RpcWorker>& worker,
                    const std::shared_ptr<RpcSocket>& socket) {
    if (worker->add(socket))
      socket->start();
    else
      socket->end({Errc::cancelled, stopping});
  }

  std::shared_ptr<const RpcShared> shared_;
  std::shared_ptr<ConnectionLimits> limits_;
  std::vector<std::shared_ptr<RpcWorker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
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

bool RpcNetwork::wait_for_connections(std::size_t count, std::chrono::milliseconds patience) {
  return core_->wait_for_connections(count, patience);
}

void RpcNetwork::stop() {
  core_->stop();
}

}  // namespace nomad::net
