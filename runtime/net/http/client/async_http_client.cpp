#include "runtime/net/http/client/async_http_client.hpp"

#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "runtime/net/http/client/http_call.hpp"
#include "runtime/net/http/client/name_lookup.hpp"

namespace nomad::net {
namespace {

/// Who may be asked over the same connection.
std::string peer_key(const HttpRequest& request) {
  return fmt::format("{} {} {} {} {} {}", request.to.scheme, request.to.host, request.to.port,
                     static_cast<const void*>(request.tls.get()), request.tls_name,
                     request.tls_protocol);
}

}  // namespace

class AsyncHttpClient::Core final : public HttpCallOwner {
public:
  explicit Core(AsyncHttpClientOptions options)
      : options_{std::move(options)}, loop_{options_.read_bytes, std::chrono::milliseconds{0}} {}

  ~Core() {
    loop_.post([this] {
      is_over_ = true;
      while (!calls_.empty())
        calls_.begin()->second->withdraw();
    });
    loop_.stop([](StreamSocket& socket) { static_cast<HttpClientSocket&>(socket).abandon(); });
  }

  CallId begin(HttpRequest request, const HttpLimits& limits, HttpHandlers handlers, bool is_raw) {
    const std::lock_guard lock{guard_};
    const auto id = ++ids_;
    pending_.insert(id);
    post_locked([this, id, limits, is_raw, request = std::move(request),
                 handlers = std::move(handlers)]() mutable {
      if (is_over_ || !take_pending(id)) return;
      const auto call = std::make_shared<HttpCall>(*this, id, std::move(request), limits,
                                                   std::move(handlers), is_raw);
      calls_.emplace(id, call);
      call->begin();
    });
    return id;
  }

  void post(std::function<void()> action) {
    const std::lock_guard lock{guard_};
    post_locked(std::move(action));
  }

  EventLoop& event_loop() { return loop_; }

  void cancel(CallId id) {
    if (take_pending(id)) return;  // it does not begin
    const auto withdraw = [this, id] {
      if (const auto call = find(id)) call->withdraw();
    };
    if (loop_.is_current())
      withdraw();
    else
      post(withdraw);
  }

private:
  void post_locked(std::function<void()> action) {
    if (!std::exchange(is_started_, true)) {
      loop_.start();
      loop_.post([this] { ::pthread_setname_np(::pthread_self(), options_.thread.c_str()); });
    }
    loop_.post(std::move(action));
  }

  /// Whether it was one of those that are still to begin.
  bool take_pending(CallId id) {
    const std::lock_guard lock{guard_};
    return pending_.erase(id) != 0;
  }

  // -- on the loop's thread

  std::shared_ptr<HttpCall> find(CallId id) const {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second;
  }

  const AsyncHttpClientOptions& options() const override { return options_; }

  SocketLoop& loop() override { return loop_; }

  void forget(CallId id) override { calls_.erase(id); }

  void look_up(CallId id, const Endpoint& whom) override {
    if (!lookup_) lookup_ = std::make_unique<NameLookup>();
    lookup_->find(find(id), whom.host, whom.port, [this, id](Result<SocketAddresses> found) {
      loop_.post([this, id, found = std::move(found)]() mutable {
        if (const auto call = find(id)) call->found(std::move(found));
      });
    });
  }

  // -- connections that are kept

  struct Kept {
    std::shared_ptr<HttpClientSocket> socket;
    HttpCall::Clock::time_point until;
  };

  std::shared_ptr<HttpClientSocket> take_kept(const HttpRequest& request) override {
    const auto found = kept_.find(peer_key(request));
    if (found == kept_.end()) return nullptr;
    auto& sockets = found->second;
    std::shared_ptr<HttpClientSocket> taken;
    while (!sockets.empty() && !taken) {
      if (!sockets.back().socket->is_closed()) taken = std::move(sockets.back().socket);
      sockets.pop_back();
    }
    if (sockets.empty()) kept_.erase(found);
    return taken;
  }

  void keep(const HttpRequest& request, std::shared_ptr<HttpClientSocket> socket) override {
    const auto now = HttpCall::Clock::now();
    std::size_t count = drop_kept(now);
    auto key = peer_key(request);
    const auto same = kept_.find(key);
    const auto to_peer = same == kept_.end() ? 0 : same->second.size();
    if (is_over_ || count >= options_.most_kept || to_peer >= options_.most_kept_to_peer)
      return socket->abandon();
    socket->belong_to(nullptr);
    socket->read_on();
    kept_[std::move(key)].push_back({std::move(socket), now + options_.kept_for});
    if (count == 0) loop_.wake_at(now + options_.kept_for, [this] { sweep(); });
  }

  void sweep() {
    const auto now = HttpCall::Clock::now();
    if (drop_kept(now) > 0) loop_.wake_at(now + options_.kept_for, [this] { sweep(); });
  }

  /// Those whose time is over, and those that peers have closed; the number of the others.
  std::size_t drop_kept(HttpCall::Clock::time_point now) {
    std::size_t left = 0;
    for (auto peer = kept_.begin(); peer != kept_.end();) {
      auto& sockets = peer->second;
      std::erase_if(sockets, [now](const Kept& each) {
        if (now >= each.until) each.socket->abandon();
        return each.socket->is_closed();
      });
      left += sockets.size();
      peer = sockets.empty() ? kept_.erase(peer) : std::next(peer);
    }
    return left;
  }

  const AsyncHttpClientOptions options_;
  std::mutex guard_;
  CallId ids_ = 0;                      ///< Under `guard_`, as the next.
  std::unordered_set<CallId> pending_;  ///< That the loop has not begun yet.
  bool is_started_ = false;

  SocketLoop loop_;       ///< Outlives what stands on it.
  bool is_over_ = false;  ///< On the loop's thread, as the rest.
  std::unordered_map<CallId, std::shared_ptr<HttpCall>> calls_;
  std::map<std::string, std::vector<Kept>> kept_;
  std::unique_ptr<NameLookup> lookup_;
};

AsyncHttpClient::AsyncHttpClient(AsyncHttpClientOptions options)
    : core_{std::make_unique<Core>(std::move(options))} {}

AsyncHttpClient::~AsyncHttpClient() = default;

AsyncHttpClient::CallId AsyncHttpClient::send(HttpRequest request,
                                              const HttpLimits& limits,
                                              HttpHandlers handlers) {
  return core_->begin(std::move(request), limits, std::move(handlers), false);
}

AsyncHttpClient::CallId AsyncHttpClient::dial(HttpRequest request,
                                              const HttpLimits& limits,
                                              HttpHandlers handlers) {
  return core_->begin(std::move(request), limits, std::move(handlers), true);
}

void AsyncHttpClient::cancel(CallId call) {
  core_->cancel(call);
}

EventLoop& AsyncHttpClient::loop() {
  return core_->event_loop();
}

void AsyncHttpClient::post(std::function<void()> action) {
  core_->post(std::move(action));
}

}  // namespace nomad::net
