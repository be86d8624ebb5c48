#include "runtime/net/http/http_server.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/net/http/http_connection.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {

namespace {

constexpr std::size_t http_read_bytes = 64 * 1024;

constexpr std::string_view too_many_of_address
    = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
      "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
constexpr std::string_view too_many
    = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
      "too many connections\n";

Result<Descriptor> listen_unix(const std::string& path) {
  const auto fail = [&](int error_number) {
    return Error{Errc::io, "listen unix " + path + ": bind: " + go_text(error_number)};
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(ENAMETOOLONG);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return fail(errno);
  if (::bind(socket.fd, raw, sizeof address) != 0) {
    if (errno != EADDRINUSE) return fail(errno);
    // A socket file that nobody listens on is left over from a killed process.
    const Descriptor probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (::connect(probe.fd, raw, sizeof address) == 0 || errno != ECONNREFUSED)
      return fail(EADDRINUSE);
    if (::unlink(path.c_str()) != 0 || ::bind(socket.fd, raw, sizeof address) != 0)
      return fail(errno);
  }
  if (::listen(socket.fd, listen_backlog) != 0) return fail(errno);
  return socket;
}

/// Says `text` to a connection that is not taken, and closes it.
void turn_away(int fd, std::string_view text) {
  ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  std::array<char, 4096> unread;  // closing with unread bytes would reset what we said
  while (::recv(fd, unread.data(), unread.size(), 0) > 0) {
  }
  ::close(fd);
}

}  // namespace

bool ServerShared::admit(const std::string& address) {
  ++connections;
  if (address.empty()) return true;
  const std::lock_guard lock{guard};
  auto& count = per_address[address];
  if (options.connections_per_address != 0 && count >= options.connections_per_address) {
    --connections;
    return false;
  }
  ++count;
  return true;
}

void ServerShared::leave(const std::string& address) {
  --connections;
  if (address.empty()) return;
  const std::lock_guard lock{guard};
  if (const auto entry = per_address.find(address);
      entry != per_address.end() && --entry->second == 0)
    per_address.erase(entry);
}

Worker::Worker(std::shared_ptr<ServerShared> shared)
    : server{std::move(shared)},
      buffer(http_read_bytes, '\0'),
      work_{io.get_executor()},
      timer_{io} {}

void Worker::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Worker::run() {
  tick();
  io.run();
}

void Worker::tick() {
  if (ended_) return;  // this call was under way when the timer was cancelled
  const auto now = Clock::now();
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [key, connection] : connections_)
    all.push_back(connection);
  for (const auto& connection : all)
    connection->check(now);
  timer_.expires_after(server->options.tick);
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) tick();
  });
}

void Worker::adopt(int fd, std::string remote, std::string address) {
  auto connection = std::make_shared<Connection>(*this, fd, std::move(remote), std::move(address));
  connections_.emplace(connection.get(), connection);
  connection->start();
}

void Worker::forget(Connection* connection) {
  connections_.erase(connection);
}

void Worker::begin_stop() {
  stopping = true;
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_)
    all.push_back(connection);
  for (const auto& connection : all)
    connection->close_if_idle();
}

void Worker::stop() {
  {
    const std::lock_guard lock{guard_};
    if (closed_) return;
    closed_ = true;
    boost::asio::post(io, [this] {
      stopping = true;
      ended_ = true;
      timer_.cancel();
      while (!connections_.empty())
        connections_.begin()->second->close();
      work_.reset();
    });
  }
  if (thread_.joinable()) thread_.join();
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
  Result<> start(ServerOptions options, HttpRouter router) {
    shared_ = std::make_shared<ServerShared>();
    shared_->limits
        = {options.header_bytes, options.header_count, options.body_bytes, options.body_files};
    shared_->options = std::move(options);
    shared_->router = std::move(router);
    const auto count = std::max(1U, shared_->options.threads);
    for (unsigned i = 0; i < count; ++i)
      workers_.push_back(std::make_shared<Worker>(shared_));
    for (const auto& address : shared_->options.listen)
      NOMAD_TRY(listen(address));
    for (const auto& worker : workers_)
      worker->start();
    for (const auto& listener : listeners_)
      workers_[0]->post([this, listener = listener.get()] { arm(*listener); });
    return {};
  }

  ~Core() { stop(std::chrono::milliseconds{0}); }

  void stop(std::chrono::milliseconds patience) {
    if (workers_.empty()) return;
    if (!listeners_.empty()) {
      workers_[0]->post([this] {
        for (auto& listener : listeners_) {
          boost::system::error_code ignored;  // closing a listener can't fail in a way that matters
          listener->socket.close(ignored);
          listener->retry.cancel();
        }
      });
    }
    for (const auto& worker : workers_)
      worker->post([raw = worker.get()] { raw->begin_stop(); });
    const auto end = Clock::now() + patience;
    while (shared_->connections != 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    for (const auto& worker : workers_)
      worker->stop();
    for (const auto& listener : listeners_)
      if (!listener->path.empty()) ::unlink(listener->path.c_str());
    listeners_.clear();
    workers_.clear();
  }

  const std::vector<std::string>& addresses() const { return addresses_; }

  std::size_t connection_count() const { return shared_->connections; }

private:
  struct Listener {
    boost::asio::posix::stream_descriptor socket;
    boost::asio::steady_timer retry;
    std::string path;  ///< Of a Unix socket.
  };

  Result<> listen(const std::string& address) {
    const bool is_unix = address.starts_with("unix:");
    std::string path = is_unix ? address.substr(5) : "";
    if (path.starts_with("//")) path.erase(0, 2);
    auto socket = is_unix ? listen_unix(path) : listen_tcp(address);
    if (!socket) return socket.error();
    if (is_unix) {
      addresses_.push_back("unix:" + path);
    } else {
      addresses_.push_back(bound_address(*socket));
    }
    auto& io = workers_[0]->io;
    listeners_.push_back(std::make_unique<Listener>(
        Listener{boost::asio::posix::stream_descriptor{io, socket->release()},
                 boost::asio::steady_timer{io}, path}));
    return {};
  }

  void arm(Listener& listener) {
    listener.socket.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this, &listener](const boost::system::error_code& failure) {
                                 if (!failure) accept(listener);
                               });
  }

  void accept(Listener& listener) {
    if (!listener.socket.is_open()) return;  // closed after this call was due
    for (int i = 0; i < accepted_at_once; ++i) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      const int fd = ::accept4(listener.socket.native_handle(), reinterpret_cast<sockaddr*>(&peer),
                               &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        take(fd, peer, size, !listener.path.empty());
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        log::warn("http", "accept: {}; trying again", go_text(errno));
        listener.retry.expires_after(accept_pause);
        listener.retry.async_wait([this, &listener](const boost::system::error_code& failure) {
          if (!failure) arm(listener);
        });
        return;
      }
    }
    arm(listener);
  }

  void take(int fd, const sockaddr_storage& peer, socklen_t size, bool is_unix) {
    std::string address;
    std::string remote = "@";
    if (!is_unix) {
      auto [host, port] = numeric(peer, size);
      remote = join_host_port(host, port);
      address = std::move(host);
      set_tcp_options(fd);
    }
    const bool is_plain = is_unix || !shared_->options.tls;
    if (shared_->connections >= shared_->options.connections) {
      turn_away(fd, is_plain ? too_many : "");
      return;
    }
    if (!shared_->admit(address)) {
      turn_away(fd, is_plain ? too_many_of_address : "");
      return;
    }
    auto& worker = *workers_[next_++ % workers_.size()];
    if (worker.is_current()) {
      worker.adopt(fd, std::move(remote), std::move(address));
      return;
    }
    worker.post([raw = &worker, owned = std::make_shared<Descriptor>(fd),
                 remote = std::move(remote),
                 address = std::move(address)] { raw->adopt(owned->release(), remote, address); });
  }

  std::shared_ptr<ServerShared> shared_;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::string> addresses_;
  std::size_t next_ = 0;
};

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_{std::move(core)} {}

HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::start(ServerOptions options, HttpRouter router) {
  auto core = std::make_unique<Core>();
  NOMAD_TRY(core->start(std::move(options), std::move(router)));
  return HttpServer{std::move(core)};
}

const std::vector<std::string>& HttpServer::addresses() const {
  return core_->addresses();
}

std::size_t HttpServer::connection_count() const {
  return core_->connection_count();
}

void HttpServer::stop(std::chrono::milliseconds patience) {
  core_->stop(patience);
}

}  // namespace nomad::net
