#include "actors/plugin/body/socket_peer.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "runtime/plugin/allowance.hpp"

namespace nomad::plugin {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t most_line_bytes = 4096;

using EndsOfPair = std::pair<net::Descriptor, net::Descriptor>;

/// Ours and the plugin's.
Result<EndsOfPair> make_pair_of_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("making a socket pair", errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return EndsOfPair{net::Descriptor{ends[0]}, net::Descriptor{ends[1]}};
}

}  // namespace

// -- the sockets ----------------------------------------------------------------------------------

class SocketPeer::Core : public std::enable_shared_from_this<Core> {
public:
  Core(std::shared_ptr<PluginLoop> of, std::shared_ptr<PluginBody> given, ProcessEvents told)
      : loop{std::move(of)}, body{std::move(given)}, events{std::move(told)} {}

  void start();
  void end(const Error& why);

  std::shared_ptr<PluginLoop> loop;
  std::shared_ptr<PluginBody> body;
  ProcessEvents events;
  std::atomic<bool> forgotten{false};  ///< Nobody wants to hear of it any more.

  // On the loop's thread.
  class Exchange;
  class Lines;
  std::shared_ptr<Exchange> exchange;
  std::shared_ptr<Lines> lines;
  bool ended = false;
};

/// The frames.
class SocketPeer::Core::Exchange final : public net::StreamSocket {
public:
  Exchange(Core& core, net::Descriptor socket)
      : StreamSocket{*core.loop, std::move(socket)}, core_{core.weak_from_this()} {}

  void begin() { open(); }

  void send(const std::string& frame) {
    if (is_closed()) return;
    if (output().size() + frame.size() > most_output)
      return fail({Errc::overloaded,
                   fmt::format("it does not read: more than {} bytes wait for it", most_output)});
    output().text() += frame;
    flush_soon();
  }

  void handled(std::size_t bytes) {
    if (is_closed()) return;
    open_bytes_ -= std::min(bytes, open_bytes_);
    read_on();
  }

  void fail(const Error& why) {
    close();
    if (const auto core = core_.lock()) core->end(why);
  }

  void close() { close_socket(); }

  /// Somebody else may hold the socket's other end: a child that the plugin has forked.
  void check(Clock::time_point) override {
    const auto core = core_.lock();
    if (!core || !core->body->has_ended()) return;
    if (std::exchange(has_ended_, true)) fail({Errc::unavailable, "its process ended"});
  }

private:
  void on_open() override { read_on(); }

  bool wants_input() const override { return open_bytes_ < input_window; }

  void on_input(std::string_view bytes) override {
    const auto core = core_.lock();
    if (!core) return close();
    const auto outcome = splitter_.add(bytes, [&](Frame frame, std::size_t size) {
      open_bytes_ += size;
      if (!core->forgotten) core->events.frame(std::move(frame), size);
    });
    if (!outcome) fail(outcome.error());
  }

  void on_input_end() override { fail({Errc::unavailable, "it hung up"}); }

  void on_failure(const Error& why) override { fail(why); }

  std::weak_ptr<Core> core_;
  FrameSplitter splitter_;
  std::size_t open_bytes_ = 0;
  bool has_ended_ = false;  ///< The process, a tick ago: what it has said is read meanwhile.
};

/// What it writes to its standard output and error: so many lines, and no more bytes a tick than
/// that, for each is a message to an actor.
class SocketPeer::Core::Lines final : public net::StreamSocket {
public:
  Lines(Core& core, net::Descriptor socket)
      : StreamSocket{*core.loop, std::move(socket)}, core_{core.weak_from_this()} {}

  void begin() { open(); }

  void close() { close_socket(); }

  void check(Clock::time_point) override {
    const auto core = core_.lock();
    if (dropped_ > 0 && core && !core->forgotten) core->events.line({}, std::exchange(dropped_, 0));
    read_ = 0;
    read_on();
  }

private:
  static constexpr std::size_t most_bytes_a_tick = std::size_t{4} << 20;

  void on_open() override { read_on(); }

  bool wants_input() const override { return read_ < most_bytes_a_tick; }

  void on_input(std::string_view bytes) override {
    read_ += bytes.size();
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const auto part = bytes.substr(0, end);
      rest_.append(part.substr(0, most_line_bytes - std::min(rest_.size(), most_line_bytes)));
      if (end == std::string_view::npos) return;
      tell();
      bytes.remove_prefix(end + 1);
    }
  }

  void tell() {
    auto line = std::exchange(rest_, {});
    if (line.empty()) return;
    const auto core = core_.lock();
    if (!core || core->forgotten) return;
    if (allowance_.take(Clock::now().time_since_epoch()))
      core->events.line(std::move(line), std::exchange(dropped_, 0));
    else
      ++dropped_;
  }

  void on_input_end() override {
    tell();
    close();
  }

  void on_failure(const Error&) override { close(); }

  std::weak_ptr<Core> core_;
  std::string rest_;  ///< Of a line whose end has not come; what is too long of it is left out.
  std::size_t read_ = 0;
  std::uint64_t dropped_ = 0;
  Allowance allowance_{400, 200};
};

void SocketPeer::Core::start() {
  std::erase_if(loop->orphans, [](const auto& orphan) { return !orphan->reap(true).empty(); });
  if (forgotten) return;
  auto sockets = make_pair_of_sockets();
  auto texts = make_pair_of_sockets();
  if (!sockets || !texts) return end((sockets ? texts.error() : sockets.error()));
  if (const auto started = body->start(sockets->second.fd, texts->second.fd); !started)
    return end(started.error());
  events.started(body->pid());
  exchange = std::make_shared<Exchange>(*this, std::move(sockets->first));
  lines = std::make_shared<Lines>(*this, std::move(texts->first));
  if (loop->add(lines)) lines->begin();
  if (loop->add(exchange)) exchange->begin();
}

void SocketPeer::Core::end(const Error& why) {
  if (std::exchange(ended, true)) return;
  if (exchange) exchange->close();
  if (!forgotten) events.ended(why);
}

PluginLoop::PluginLoop() : net::SocketLoop{read_bytes, std::chrono::seconds{1}} {}

void PluginLoop::stop_all() {
  stop([](net::StreamSocket& socket) {
    if (auto* const exchange = dynamic_cast<SocketPeer::Core::Exchange*>(&socket))
      return exchange->close();
    if (auto* const lines = dynamic_cast<SocketPeer::Core::Lines*>(&socket)) lines->close();
  });
}

SocketPeer::SocketPeer(std::shared_ptr<PluginLoop> loop,
                       std::shared_ptr<PluginBody> body,
                       ProcessEvents events)
    : core_{std::make_shared<Core>(std::move(loop), std::move(body), std::move(events))} {
  core_->loop->post([core = core_] { core->start(); });
}

SocketPeer::~SocketPeer() {
  core_->forgotten = true;
  core_->loop->post([core = core_] {
    if (core->exchange) core->exchange->close();
    if (core->lines) core->lines->close();
    if (core->body->reap(true).empty()) core->loop->orphans.push_back(core->body);
  });
}

void SocketPeer::send(std::string frame) {
  core_->loop->post([core = core_, frame = std::move(frame)] {
    if (core->exchange && !core->ended) core->exchange->send(frame);
  });
}

void SocketPeer::handled(std::size_t bytes) {
  core_->loop->post([core = core_, bytes] {
    if (core->exchange && !core->ended) core->exchange->handled(bytes);
  });
}

void SocketPeer::kill() {
  core_->loop->post([core = core_] {
    core->body->kill();
    core->end({Errc::cancelled, "it was ended"});
  });
}

Result<> SocketPeer::has_drivers(bool has_some) {
  return core_->body->has_drivers(has_some);
}

std::string SocketPeer::reap(bool kill) {
  return core_->body->reap(kill);
}

}  // namespace nomad::plugin
