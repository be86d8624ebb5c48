#include "runtime/net/http/http_server.hpp"

#include <array>
#include <unordered_map>
#include <utility>

#include <sys/socket.h>

#include "runtime/net/http/http_connection.hpp"

namespace nomad::net {

namespace {

constexpr std::size_t http_read_bytes = 64 * 1024;

/// Who sends more, and faster than it is read, does not hold up the thread.
constexpr int most_unread_reads = 16;

constexpr std::string_view too_many_of_address
    = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
      "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
constexpr std::string_view too_many
    = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
      "too many connections\n";

}  // namespace

void turn_away(int socket, std::string_view text) {
  ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
  std::array<char, 4096> unread;  // closing with unread bytes would reset what we said
  for (int i = 0; i<most_unread_reads&& ::recv(socket, unread.data(), unread.size(), 0)> 0; ++i)
    continue;
}

Worker::Worker(std::shared_ptr<ServerShared> shared)
    : SocketLoop{http_read_bytes, shared->options.tick}, server{std::move(shared)} {}

void Worker::adopt(Accepted accepted) {
  const auto connection = std::make_shared<Connection>(*this, std::move(accepted));
  if (add(connection)) connection->start();
}

void Worker::begin_stop() {
  stopping = true;
  for_each([](StreamSocket& socket) { static_cast<Connection&>(socket).close_if_idle(); });
}

std::string_view Worker::date_header() {
  const auto now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 64> text{};
    const auto size
        = std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    date_.assign(text.data(), size);
  }
  return date_;
}

/// The server's threads and its listening sockets.
class HttpServer::Core {
public:
  Result<> start(ServerOptions options, Handler handler) {
    shared_ = std::make_shared<ServerShared>();
    shared_->limits
        = {options.header_bytes, options.header_count, options.body_bytes, options.body_files};
    shared_->options = std::move(options);
    shared_->handler = std::move(handler);
    limits_ = std::make_shared<ConnectionLimits>(shared_->options.connections,
                                                 shared_->options.connections_per_address);
    const auto count = std::max(1U, shared_->options.threads);
    for (unsigned i = 0; i < count; ++i)
      workers_.push_back(std::make_shared<Worker>(shared_));
    for (const auto& address : shared_->options.listen)
      NOMAD_TRY(listen(address));
    for (const auto& worker : workers_)
      worker->start();
    for (const auto& listener : listeners_)
      workers_[0]->post([raw = listener.get()] { raw->start(); });
    return {};
  }

  ~Core() { stop(std::chrono::milliseconds{0}); }

  void stop(std::chrono::milliseconds patience) {
    if (workers_.empty()) return;
    for (const auto& listener : listeners_)
      workers_[0]->post([raw = listener.get()] { raw->close(); });
    workers_[0]->post([this] {
      for (const auto& [name, listener] : added_)
        listener->close();
    });
    for (const auto& worker : workers_)
      worker->post([raw = worker.get()] { raw->begin_stop(); });
    limits_->wait_for_count(0, Clock::now() + patience);
    for (const auto& worker : workers_)
      worker->stop([](StreamSocket& socket) { static_cast<Connection&>(socket).close(); });
    listeners_.clear();
    added_.clear();
    workers_.clear();
  }

  void add(Descriptor socket, const std::string& name) {
    workers_[0]->post([this, name, owned = std::make_shared<Descriptor>(std::move(socket))] {
      auto& listener = added_[name];
      listener
          = Listener::adopt(*workers_[0], std::move(*owned), name, "http", limits_, callbacks());
      listener->start();
    });
  }

  void remove(const std::string& name) {
    workers_[0]->post([this, name] {
      const auto found = added_.find(name);
      if (found == added_.end()) return;
      found->second->close();
      added_.erase(found);
      for (const auto& worker : workers_)
        worker->post([raw = worker.get(), remote = '@' + name] {
          raw->for_each([&remote](StreamSocket& socket) {
            auto& connection = static_cast<Connection&>(socket);
            if (connection.remote() == remote) connection.close();
          });
        });
    });
  }

  const std::vector<std::string>& addresses() const { return addresses_; }

  bool wait_for_connections(std::size_t count, std::chrono::milliseconds patience) {
    return limits_->wait_for_count(count, Clock::now() + patience);
  }

private:
  Result<> listen(const std::string& address) {
    auto listener = NOMAD_TRY(Listener::open(*workers_[0], address, "http", limits_, callbacks()));
    addresses_.push_back(listener->address());
    listeners_.push_back(std::move(listener));
    return {};
  }

  Listener::Callbacks callbacks() {
    return {.take = [this](Accepted accepted) { take(std::move(accepted)); },
            .refuse =
                [this](int socket, const std::string& remote, ConnectionLimits::Refusal why) {
                  const bool is_plain = remote.starts_with('@') || !shared_->options.tls;
                  turn_away(socket, !is_plain ? ""
                                    : why == ConnectionLimits::Refusal::too_many
                                        ? too_many
                                        : too_many_of_address);
                }};
  }

  void take(Accepted accepted) {
    if (const auto& kept = shared_->options.kept_users)
      accepted.limits = kept->limits_of(accepted.socket.fd);
    auto& worker = *workers_[next_++ % workers_.size()];
    if (worker.is_current()) return worker.adopt(std::move(accepted));
    worker.post([raw = &worker, owned = std::make_shared<Accepted>(std::move(accepted))] {
      raw->adopt(std::move(*owned));
    });
  }

  std::shared_ptr<ServerShared> shared_;
  std::shared_ptr<ConnectionLimits> limits_;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  /// By name. Of the first worker's thread, while it goes.
  std::unordered_map<std::string, std::unique_ptr<Listener>> added_;
  std::vector<std::string> addresses_;
  std::size_t next_ = 0;
};

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_{std::move(core)} {}

HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::start(ServerOptions options, HttpRouter router) {
  return start(std::move(options),
               [routes = std::make_shared<const HttpRouter>(std::move(router))](
                   Responder responder) { serve(*routes, std::move(responder)); });
}

Result<HttpServer> HttpServer::start(ServerOptions options, Handler handler) {
  auto core = std::make_unique<Core>();
  NOMAD_TRY(core->start(std::move(options), std::move(handler)));
  return HttpServer{std::move(core)};
}

void HttpServer::add(Descriptor socket, const std::string& name) {
  core_->add(std::move(socket), name);
}

void HttpServer::remove(const std::string& name) {
  core_->remove(name);
}

const std::vector<std::string>& HttpServer::addresses() const {
  return core_->addresses();
}

bool HttpServer::wait_for_connections(std::size_t count, std::chrono::milliseconds patience) {
  return core_->wait_for_connections(count, patience);
}

void HttpServer::stop(std::chrono::milliseconds patience) {
  core_->stop(patience);
}

}  // namespace nomad::net
