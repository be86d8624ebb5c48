#include "actors/plugin/api_calls.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "runtime/net/http/error_status.hpp"
#include "runtime/net/http/exchange.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::plugin {
namespace {

/// A subscriber that is so far behind is ended by whoever writes.
constexpr std::size_t most_queued = std::size_t{4} << 20;
constexpr std::size_t piece_bytes = 64 * 1024;

net::Response failed(const Error& why) {
  return {.status = net::http_status(why.code), .body = why.what};
}

std::uint64_t index_of_answer(const net::Response& response) {
  std::uint64_t index = 0;
  for (const auto& header : response.headers)
    if (net::same_header(header.name, "X-Nomad-Index"))
      std::from_chars(header.value.data(), header.value.data() + header.value.size(), index);
  return index;
}

void fill_answer(schema::plugin::ApiAnswer::Builder to, const net::Response& from) {
  const auto& body = from.shared_body ? *from.shared_body : from.body;
  to.setStatus(static_cast<std::uint16_t>(from.status));
  to.setIndex(index_of_answer(from));
  to.setBody({reinterpret_cast<const kj::byte*>(body.data()), body.size()});
}

}  // namespace

/// One request on its way. What is written is told on in pieces, no more than the plugin's window.
class PluginExchange final : public net::detail::Exchange,
                             public std::enable_shared_from_this<PluginExchange> {
public:
  PluginExchange(std::uint64_t number, bool streams, ApiCalls::Tell tell)
      : number_{number}, streams_{streams}, tell_{std::move(tell)} {}

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override {
    if (std::exchange(answered_, true)) return;
    tell_({.number = number_, .is_head = true, .last = true, .response = std::move(response)});
    forget();
  }

  void start_stream(net::Response head) override {
    if (streams_) {
      if (std::exchange(answered_, true)) return;
      return tell_({.number = number_, .is_head = true, .response = std::move(head)});
    }
    whole_ = std::move(head);
  }

  bool write(std::string_view chunk, std::function<void()> drained) override {
    if (!streams_) {
      if (abandoned() || whole_.body.size() + chunk.size() > ApiCalls::most_answer_bytes)
        return false;
      whole_.body += chunk;
      if (drained) drained();
      return true;
    }
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock{guard_};
      if (abandoned_ || written_ - taken_ > most_queued) return false;
      written_ += chunk.size();
      queue_ += chunk;
      if (drained) drained_.emplace_back(written_, std::move(drained));
      go_on(callbacks);
    }
    for (const auto& each : callbacks)
      each();
    return true;
  }

  void end(bool properly) override {
    if (!streams_) {
      if (properly) return send(std::exchange(whole_, {}));
      return send(failed({Errc::internal, "the answer broke off"}));
    }
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock{guard_};
      ended_ = true;
      go_on(callbacks);
    }
    for (const auto& each : callbacks)
      each();
    forget();
  }

  void drop() override { send(failed({Errc::internal, "the request was not answered"})); }

  bool abandoned() const override {
    const std::lock_guard lock{guard_};
    return abandoned_;
  }

  std::size_t queued() const override {
    const std::lock_guard lock{guard_};
    return written_ - taken_;
  }

  void on_abandoned(std::function<void()> callback) override {
    {
      const std::lock_guard lock{guard_};
      if (!abandoned_) {
        if (!over_) on_abandoned_.swap(callback);
        return;  // a replaced callback dies outside the lock
      }
    }
    callback();
  }

  void start_tunnel(net::Response) override { drop(); }

  void on_data(std::function<void(std::string_view, bool)>) override {}

  void taken(std::size_t count) override {
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock{guard_};
      taken_ += std::min<std::uint64_t>(count, told_ - taken_);
      go_on(callbacks);
    }
    for (const auto& each : callbacks)
      each();
  }

  void end_output() override {}

  void give_up() {
    std::function<void()> callback;
    decltype(drained_) void_now;  // what they hold may end this stream: outside the lock
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(abandoned_, true)) return;
      callback.swap(on_abandoned_);
      void_now.swap(drained_);
      queue_.clear();
    }
    if (callback) callback();
  }

private:
  /// Who answered is not to hear of the plugin's end any more; what he left here holds him.
  void forget() {
    std::function<void()> callback;
    const std::lock_guard lock{guard_};
    over_ = true;
    callback.swap(on_abandoned_);
  }

  /// Tells on what the window has room for; with the lock.
  void go_on(std::vector<std::function<void()>>& callbacks) {
    while (!queue_.empty() && !abandoned_) {
      const auto room
          = schema::plugin::StreamPart::WINDOW
            - std::min<std::uint64_t>(told_ - taken_, schema::plugin::StreamPart::WINDOW);
      const auto size = std::min({std::uint64_t{queue_.size()}, room, std::uint64_t{piece_bytes}});
      if (size == 0) break;
      tell_({.number = number_, .bytes = queue_.substr(0, size)});
      queue_.erase(0, size);
      told_ += size;
    }
    while (!drained_.empty() && drained_.front().first <= told_) {
      callbacks.push_back(std::move(drained_.front().second));
      drained_.pop_front();
    }
    if (ended_ && queue_.empty() && !std::exchange(told_end_, true) && !abandoned_)
      tell_({.number = number_, .last = true});
  }

  const std::uint64_t number_;
  const bool streams_;
  const ApiCalls::Tell tell_;
  bool answered_ = false;
  net::Response whole_;  ///< Of an answer that comes in pieces and is no subscription.

  mutable std::mutex guard_;
  std::string queue_;
  std::uint64_t written_ = 0, told_ = 0, taken_ = 0;
  std::deque<std::pair<std::uint64_t, std::function<void()>>> drained_;
  std::function<void()> on_abandoned_;
  bool ended_ = false, told_end_ = false, abandoned_ = false, over_ = false;
};

void ApiGate::serve(const std::shared_ptr<net::detail::Exchange>& exchange) {
  const std::shared_lock lock{guard_};
  if (routes_)
    net::serve(*routes_, net::Responder{exchange});
  else
    exchange->send(failed({Errc::unavailable, "the agent ends"}));
}

void ApiGate::close() {
  const std::unique_lock lock{guard_};
  routes_.reset();
}

void ApiCalls::open(std::shared_ptr<ApiGate> gate, const ApiUse& use) {
  gate_ = std::move(gate);
  // There is always a word, for none at all would keep it from nothing.
  limits_ = fmt::format("node:{} {}", gate_ ? gate_->node_id() : "", use.allowed);
  token_ = use.token;
}

void ApiCalls::refuse(std::uint64_t number, const Error& why) {
  send_([&](schema::plugin::Frame::Builder frame) {
    frame.setNumber(number);
    auto failure = frame.initFailed();
    failure.setCode(static_cast<std::uint8_t>(why.code));
    failure.setMessage(text(why.what));
  });
}

void ApiCalls::request(std::uint64_t number,
                       schema::plugin::ApiRequest::Reader wanted,
                       bool subscribes) {
  if (number == 0) return;
  if (!gate_) return refuse(number, {Errc::unavailable, "the agent does not answer yet"});
  auto& open = subscribes ? subscriptions_ : requests_;
  const auto most = subscribes ? most_subscriptions : most_requests;
  if (open.size() >= most)
    return refuse(number, {Errc::overloaded, fmt::format("{} are open already", most)});
  if (requests_.contains(number) || subscriptions_.contains(number))
    return refuse(number, {Errc::invalid_argument, "another question has this number"});
  const auto exchange = std::make_shared<PluginExchange>(number, subscribes, tell_);
  auto& request = exchange->request;
  request.method = copy(wanted.getMethod());
  request.target = copy(wanted.getPath());
  const auto body = wanted.getBody();
  request.body.assign(reinterpret_cast<const char*>(body.begin()), body.size());
  request.remote = "plugin " + who_;
  request.limits = limits_;
  request.received = std::chrono::steady_clock::now();
  request.add_header("Host", "127.0.0.1");
  if (!token_.empty()) request.add_header("X-Nomad-Token", token_.reveal());
  if (!request.target.starts_with("/v1/") || !net::split_target(request))
    return refuse(number, {Errc::invalid_argument, "the path does not begin with /v1/"});
  open.emplace(number, exchange);
  turns_.post([exchange, gate = gate_] { gate->serve(exchange); });
}

void ApiCalls::heard(const Heard& what) {
  if (const auto waiting = requests_.extract(what.number); !waiting.empty()) {
    const auto& body = what.response.shared_body ? *what.response.shared_body : what.response.body;
    if (body.size() > most_answer_bytes)
      return refuse(what.number, {Errc::too_large,
                                  fmt::format("the answer has {} bytes, at most {} are passed on",
                                              body.size(), most_answer_bytes)});
    return send_([&](schema::plugin::Frame::Builder frame) {
      frame.setNumber(what.number);
      fill_answer(frame.initApiAnswer(), what.response);
    });
  }
  if (!subscriptions_.contains(what.number)) return;
  if (what.is_head) {
    send_([&](schema::plugin::Frame::Builder frame) {
      frame.setNumber(what.number);
      fill_answer(frame.initApiAnswer(), what.response);
    });
  } else {
    send_([&](schema::plugin::Frame::Builder frame) {
      auto part = frame.initStreamPart();
      part.setNumber(what.number);
      part.setBytes({reinterpret_cast<const kj::byte*>(what.bytes.data()), what.bytes.size()});
      part.setLast(what.last);
    });
  }
  if (what.last) subscriptions_.erase(what.number);
}

void ApiCalls::taken(std::uint64_t number, std::size_t bytes) {
  const auto found = subscriptions_.find(number);
  if (found == subscriptions_.end()) return;
  turns_.post([exchange = found->second, bytes] { exchange->taken(bytes); });
}

void ApiCalls::unsubscribe(std::uint64_t number) {
  if (const auto found = subscriptions_.extract(number); !found.empty())
    turns_.post([exchange = found.mapped()] { exchange->give_up(); });
}

void ApiCalls::end_all() {
  for (auto* open : {&requests_, &subscriptions_})
    for (const auto& ended : std::exchange(*open, {}))
      turns_.post([exchange = ended.second] { exchange->give_up(); });
}

}  // namespace nomad::plugin
