#include "runtime/docker/engine.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <pthread.h>

#include "runtime/net/http/http_parser.hpp"
#include "runtime/net/stream_socket.hpp"

namespace nomad::docker {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr auto tick_interval = std::chrono::milliseconds{500};

using Clock = std::chrono::steady_clock;
using Moment = std::optional<Clock::time_point>;

Moment after(Clock::time_point from, std::chrono::milliseconds time) {
  return time.count() > 0 ? Moment{from + time} : std::nullopt;
}

std::string render(const EngineRequest& request, const std::string& api) {
  auto text = fmt::format(
      "{} /v{}{} HTTP/1.1\r\nHost: docker\r\nUser-Agent: nomadctl\r\n"
      "Connection: close\r\n",
      request.method, api, request.target);
  for (const auto& header : request.headers)
    text += fmt::format("{}: {}\r\n", header.name, header.value);
  if (!request.body.empty()) text += "Content-Type: application/json\r\n";
  if (!request.body.empty() || request.method == "POST")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text + "\r\n" + request.body;
}

Result<net::Descriptor> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{Errc::invalid_argument, "the path of the engine's socket is too long: " + path};
  std::memcpy(address.sun_path, path.data(), path.size());
  auto socket = net::begin_connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (!socket)
    return Error{Errc::unavailable, fmt::format("cannot connect to the Docker daemon at {}: {}",
                                                path, socket.error().what)};
  return socket;
}

// -- one question ---------------------------------------------------------------------------------

class EngineCall final : public net::StreamSocket {
public:
  EngineCall(net::SocketLoop& loop,
             net::Descriptor socket,
             std::string request,
             const Engine::Limits& limits,
             Engine::Follower follower,
             std::function<void()> forget)
      : StreamSocket{loop, std::move(socket)},
        request_{std::move(request)},
        limits_{limits},
        follower_{std::move(follower)},
        forget_{std::move(forget)},
        begun_{Clock::now()},
        heard_{begun_},
        parser_{std::make_unique<net::ResponseParser>(false,
                                                      std::numeric_limits<std::uint64_t>::max())} {}

  void begin() { await_connection(); }

  /// Nothing is told any more.
  void withdraw() {
    follower_ = {};
    close();
  }

  void check(Clock::time_point now) override {
    const auto header = parser_->header_done() ? std::nullopt : after(begun_, limits_.header);
    const auto silence = parser_->header_done() ? after(heard_, limits_.silence) : std::nullopt;
    const auto whole = after(begun_, limits_.whole);
    if ((header && now >= *header) || (whole && now >= *whole))
      return end(Error{Errc::timeout, "timeout: the Docker daemon did not answer in time"});
    if (silence && now >= *silence)
      return end(Error{Errc::timeout, "timeout: nothing came from the Docker daemon for too long"});
    if (follower_.tick) follower_.tick();
  }

protected:
  void on_connected(int error_number) override {
    if (error_number != 0)
      return end(Error{Errc::unavailable, fmt::format("cannot connect to the Docker daemon: {}",
                                                      net::go_text(error_number))});
    open();
  }

  void on_open() override {
    output().text() = std::move(request_);
    flush();
    read_on();
  }

  bool wants_input() const override { return !is_closed(); }

  void on_input(std::string_view bytes) override {
    heard_ = Clock::now();
    // Half of a chunk's head is not taken, and comes again with what is behind it.
    const bool had_rest = !rest_.empty();
    if (had_rest) rest_ += bytes;
    const auto used = parser_->feed(had_rest ? std::string_view{rest_} : bytes);
    if (!used) return end(used.error());
    if (had_rest)
      rest_.erase(0, *used);
    else
      rest_ = bytes.substr(*used);
    take_body();
    if (!is_closed() && parser_->complete()) finish();
  }

  void on_input_end() override {
    if (const auto whole = parser_->feed_eof(); !whole)
      return end(Error{Errc::unavailable, "the Docker daemon hung up: " + whole.error().what});
    take_body();
    if (!is_closed()) finish();
  }

  void on_failure(const Error& why) override { end(why); }

private:
  void take_body() {
    if (!parser_->header_done() || parser_->body().empty()) return;
    auto& body = parser_->body();
    const bool is_success = parser_->status() >= 200 && parser_->status() < 300;
    if (follower_.piece && is_success) {
      const auto piece = std::exchange(body, {});
      const auto self = shared_from_this();  // it may be withdrawn meanwhile
      if (const auto taken = follower_.piece(piece); !taken) end(taken.error());
    } else if (body.size() > Engine::most_bytes) {
      end(Error{Errc::too_large, "the Docker daemon's answer is too long"});
    }
  }

  void finish() { end(EngineAnswer{parser_->status(), std::move(parser_->body())}); }

  void end(Result<EngineAnswer> outcome) {
    if (is_closed()) return;
    const auto self = shared_from_this();
    const auto told = std::exchange(follower_, {});
    close();
    if (told.ended) told.ended(std::move(outcome));
  }

  void close() {
    if (is_closed()) return;
    close_socket();
    if (const auto forget = std::exchange(forget_, {})) forget();
  }

  std::string request_;
  const Engine::Limits limits_;
  Engine::Follower follower_;
  std::function<void()> forget_;
  const Clock::time_point begun_;
  Clock::time_point heard_;
  std::unique_ptr<net::ResponseParser> parser_;
  std::string rest_;  ///< What the parser has not taken yet.
};

// -- all of them ----------------------------------------------------------------------------------

class SocketEngine final : public Engine {
public:
  SocketEngine(std::string socket, std::string thread)
      : socket_{std::move(socket)}, thread_{std::move(thread)}, loop_{read_bytes, tick_interval} {}

  ~SocketEngine() override {
    if (!is_started_) return;
    loop_.stop([](net::StreamSocket& socket) { static_cast<EngineCall&>(socket).withdraw(); });
  }

  CallId follow(EngineRequest request, Limits limits, Follower follower) override {
    const std::lock_guard guard{mutex_};
    const auto id = ++calls_;
    if (!is_started_) {
      is_started_ = true;
      loop_.start();
      loop_.post([name = thread_] { ::pthread_setname_np(::pthread_self(), name.c_str()); });
    }
    auto shared = std::make_shared<Follower>(std::move(follower));
    loop_.post([this, id, text = render(request, api_), limits, shared] {
      open(id, text, limits, std::move(*shared));
    });
    return id;
  }

  /// Posted behind the question that it is about.
  void cancel(CallId id) override {
    loop_.post([this, id] {
      const auto found = open_.find(id);
      if (found != open_.end()) found->second->withdraw();
    });
  }

  void set_api(const std::string& version) override {
    const std::lock_guard guard{mutex_};
    api_ = version;
  }

  std::string api() const override {
    const std::lock_guard guard{mutex_};
    return api_;
  }

private:
  void open(CallId id, const std::string& text, const Limits& limits, Follower follower) {
    auto socket = connect_to(socket_);
    if (!socket) {
      if (follower.ended) follower.ended(socket.error());
      return;
    }
    auto call = std::make_shared<EngineCall>(loop_, std::move(*socket), text, limits,
                                             std::move(follower), [this, id] { open_.erase(id); });
    open_.emplace(id, call);
    if (loop_.add(call)) call->begin();
  }

  const std::string socket_;
  const std::string thread_;
  mutable std::mutex mutex_;
  std::string api_ = "1.41";  ///< Guarded by mutex_, as the next two.
  bool is_started_ = false;
  CallId calls_ = 0;
  std::map<CallId, std::shared_ptr<EngineCall>> open_;  ///< Of the loop's thread.
  net::SocketLoop loop_;                                ///< Ends before the rest.
};

}  // namespace

std::unique_ptr<Engine> connect_engine(std::string socket, std::string thread) {
  return std::make_unique<SocketEngine>(std::move(socket), std::move(thread));
}

}  // namespace nomad::docker
