#include "runtime/docker/exec_bridge.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <termios.h>

#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/docker/engine_answers.hpp"
#include "runtime/docker/log_stream.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/net/event_loop.hpp"
#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
/// Named, for ExecBridge::Core has members of what is in it.
namespace exec_bridge {

using boost::asio::posix::stream_descriptor;
using Clock = std::chrono::steady_clock;
using host::UniqueFd;

constexpr auto question_time = std::chrono::seconds{10};
constexpr auto most_wait_for_code = std::chrono::seconds{3};
constexpr auto code_interval = std::chrono::milliseconds{10};
constexpr auto resize_interval = std::chrono::milliseconds{100};
constexpr std::size_t piece_bytes = 32 * 1024;
constexpr std::size_t most_waiting = 256 * 1024;

struct ExecState {
  bool running = false;
  int exit_code = -1;
  pid_t pid = 0;
};

/// Nothing when the engine says something else.
std::optional<ExecState> read_state(const std::string& body) {
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const Members members{parsed->get_object()};
  return ExecState{.running = members.flag("Running"),
                   .exit_code = static_cast<int>(members.number("ExitCode", -1)),
                   .pid = static_cast<pid_t>(members.number("Pid"))};
}

/// The engine has no way to end a command. It is ended if it is one of the container, of which its
/// control groups tell; the number can't get another meaning meanwhile.
void kill_command(const ExecState& state, const std::string& container) {
  if (!state.running || state.pid <= 1) return;
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, state.pid, 0))};
  if (!process) return;
  const auto groups = host::read_proc_file(fmt::format("/proc/{}/cgroup", state.pid));
  if (groups.find(container) == std::string::npos) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Pair> make_pair_of(int type) {
  int ends[2] = {-1, -1};
  const int failed = type == 0 ? ::pipe2(ends, O_CLOEXEC)
                               : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  if (failed != 0) return Error{Errc::io, "making a stream of a command: " + net::go_text(errno)};
  return Pair{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

Result<Pair> make_terminal() {
  const Error failure{Errc::io, "making a terminal of a command"};
  UniqueFd master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return failure;
  std::array<char, 64> name{};
  if (::ptsname_r(master.get(), name.data(), name.size()) != 0) return failure;
  UniqueFd slave{::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (!slave) return failure;
  // The terminal is the container's; this one only carries its bytes.
  termios mode{};
  if (::tcgetattr(slave.get(), &mode) != 0) return failure;
  ::cfmakeraw(&mode);
  if (::tcsetattr(slave.get(), TCSANOW, &mode) != 0) return failure;
  return Pair{std::move(slave), std::move(master)};
}

/// A descriptor of ours that is waited for.
class Watched {
public:
  explicit Watched(boost::asio::io_context& io) : descriptor_{io} {}

  explicit operator bool() const { return descriptor_.is_open(); }

  int get() { return descriptor_.native_handle(); }

  void watch(UniqueFd descriptor) {
    ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
    descriptor_.assign(descriptor.release());
  }

  /// Waits for one event, once at a time.
  void await(stream_descriptor::wait_type event, std::function<void()> ready) {
    if (!*this || std::exchange(is_waiting_, true)) return;
    descriptor_.async_wait(event,
                           [this, ready = std::move(ready)](const boost::system::error_code& bad) {
                             if (bad) return;  // it may be gone
                             is_waiting_ = false;
                             guarded("client.exec", ready);
                           });
  }

  void close() {
    boost::system::error_code ignored;  // the descriptor is gone either way
    descriptor_.close(ignored);
  }

private:
  stream_descriptor descriptor_;
  bool is_waiting_ = false;
};

bool is_passing(int error_number) {
  return error_number == EAGAIN || error_number == EINTR;
}

/// Bytes on their way to a descriptor, which may want no more.
struct Waiting {
  Watched to;
  std::string bytes{};
  bool ends = false;  ///< Nothing follows.

  void write() {
    while (to && !bytes.empty()) {
      const auto count = ::write(to.get(), bytes.data(), bytes.size());
      if (count < 0 && is_passing(errno)) return;
      if (count <= 0) {
        to.close();  // nobody reads it any more
        break;
      }
      bytes.erase(0, static_cast<std::size_t>(count));
    }
    if (!to) bytes.clear();
    if (ends && bytes.empty()) to.close();
  }
};

/// One command, from its start to its end. On the bridge's thread.
//
//     begin --> start --> opened --(the engine's stream ends)--> ask_code --> finish
//                            |                                                  ^
//                            '---(nobody wants it any more)--> kill ------------'
class Session : public std::enable_shared_from_this<Session> {
public:
  Session(net::AsyncHttpClient& client,
          ExecRequest request,
          ExecBridge::Begun begun,
          std::function<void()> over)
      : client_{client},
        request_{std::move(request)},
        begun_{std::move(begun)},
        over_{std::move(over)},
        timer_{client.loop().io()},
        control_{client.loop().io()},
        input_{client.loop().io()},
        out_{Watched{client.loop().io()}},
        err_{Watched{client.loop().io()}} {}

  void begin() {
    boost::json::array command;
    for (const auto& word : request_.command)
      command.emplace_back(word);
    const boost::json::object made{{"AttachStdin", true},
                                   {"AttachStdout", true},
                                   {"AttachStderr", true},
                                   {"Tty", request_.is_terminal},
                                   {"Cmd", std::move(command)}};
    ask("POST", "/containers/" + request_.container + "/exec", boost::json::serialize(made),
        [self = shared_from_this()](const Result<std::string>& created) {
          auto exec = created ? read_created(*created) : Result<std::string>{created.error()};
          if (!exec) return self->refuse(exec.error());
          self->exec_ = std::move(*exec);
          if (self->is_wanted_)
            self->start();
          else
            self->finish();
        });
  }

  /// Nobody wants it any more.
  void stop() {
    is_wanted_ = false;
    begun_ = {};
    if (stream_ != 0) return kill();
    if (control_) finish();  // it has ended
  }

  /// Lets go of all that is on the loop, and tells nobody.
  void abandon() {
    begun_ = {};
    over_ = {};
    tunnel_ = nullptr;
    client_.cancel(std::exchange(stream_, 0));
    close_ends();
  }

private:
  using Then = std::function<void(const Result<std::string>&)>;

  net::HttpRequest question(std::string method, const std::string& path, std::string body) const {
    net::HttpRequest made;
    made.to = {.scheme = "unix", .host = request_.socket, .port = {}, .base_path = {}};
    made.method = std::move(method);
    made.target = fmt::format("/v{}{}", request_.api, path);
    made.headers = {{"Host", "docker"}, {"Content-Type", "application/json"}};
    made.body = std::move(body);
    return made;
  }

  void ask(std::string method, const std::string& path, std::string body, Then then) {
    client_.send(question(std::move(method), path, std::move(body)),
                 {.whole = question_time, .body_bytes = 4 * 1024 * 1024},
                 {.ended = [then = std::move(then)](net::HttpOutcome outcome) {
                   if (outcome.failure) return then(outcome.failure->error());
                   EngineAnswer answer{outcome.answer.status, std::move(outcome.answer.body)};
                   if (auto complaint = engine_complaint(answer); !complaint.empty())
                     return then(Error{answer.status == 404 ? Errc::not_found : Errc::rejected,
                                       std::move(complaint)});
                   then(std::move(answer.body));
                 }});
  }

  void look(std::function<void(const std::optional<ExecState>&)> then) {
    ask("GET", "/exec/" + exec_ + "/json", {},
        [then = std::move(then)](const Result<std::string>& body) {
          then(body ? read_state(*body) : std::nullopt);
        });
  }

  void start() {
    const boost::json::object begun{{"Detach", false}, {"Tty", request_.is_terminal}};
    auto request = question("POST", "/exec/" + exec_ + "/start", boost::json::serialize(begun));
    request.upgrades = true;
    request.headers.push_back({"Connection", "Upgrade"});
    request.headers.push_back({"Upgrade", "tcp"});
    const auto self = shared_from_this();
    stream_ = client_.send(
        std::move(request), {.header = question_time},
        {.ended = [self](const net::HttpOutcome& outcome) { self->stream_ended(outcome); },
         .piece = [self](std::string_view bytes) { return self->take_output(bytes); },
         .opened = [self](net::HttpTunnel& tunnel) { self->opened(tunnel); },
         .drained = [self] { self->await_input(); }});
  }

  void opened(net::HttpTunnel& tunnel) {
    tunnel_ = &tunnel;
    auto ends = make_ends();
    if (!ends) {
      tell(ends.error());
      return kill();
    }
    tell(std::move(*ends));
    const auto self = shared_from_this();
    control_.await(stream_descriptor::wait_read, [self] { self->stop(); });
    await_input();
    if (request_.is_terminal) watch_size();
  }

  /// The agent's ends.
  Result<std::vector<UniqueFd>> make_ends() {
    std::vector<UniqueFd> theirs;
    auto control = NOMAD_TRY(make_pair_of(SOCK_STREAM));
    control_.watch(std::move(control.ours));
    theirs.push_back(std::move(control.theirs));
    if (request_.is_terminal) {
      auto terminal = NOMAD_TRY(make_terminal());
      input_.watch(UniqueFd{::dup(terminal.ours.get())});
      out_.to.watch(std::move(terminal.ours));
      theirs.push_back(std::move(terminal.theirs));
      return theirs;
    }
    auto input = NOMAD_TRY(make_pair_of(0));
    auto output = NOMAD_TRY(make_pair_of(0));
    auto errors = NOMAD_TRY(make_pair_of(0));
    input_.watch(std::move(input.ours));
    theirs.push_back(std::move(input.theirs));
    out_.to.watch(std::move(output.theirs));
    theirs.push_back(std::move(output.ours));
    err_.to.watch(std::move(errors.theirs));
    theirs.push_back(std::move(errors.ours));
    return theirs;
  }

  // -- to the engine

  void await_input() {
    if (tunnel_ == nullptr || tunnel_->queued() >= most_waiting) return;
    input_.await(stream_descriptor::wait_read, [self = shared_from_this()] { self->read_input(); });
  }

  void read_input() {
    if (tunnel_ == nullptr || !input_) return;
    std::array<char, piece_bytes> buffer;
    const auto got = ::read(input_.get(), buffer.data(), buffer.size());
    if (got > 0) {
      tunnel_->write({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || !is_passing(errno)) {
      input_.close();
      tunnel_->end_output();
    }
    await_input();
  }

  void watch_size() {
    timer_.expires_after(resize_interval);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& bad) {
      if (bad || self->tunnel_ == nullptr) return;
      guarded("client.exec", [&self] { self->look_at_size(); });
      self->watch_size();
    });
  }

  void look_at_size() {
    winsize size{};
    if (!out_.to || ::ioctl(out_.to.get(), TIOCGWINSZ, &size) != 0) return;
    if (size.ws_row == 0 || (size.ws_row == rows_ && size.ws_col == columns_)) return;
    rows_ = size.ws_row;
    columns_ = size.ws_col;
    ask("POST", fmt::format("/exec/{}/resize?h={}&w={}", exec_, rows_, columns_), {},
        [](const Result<std::string>& resized) {
          if (!resized)
            log::debug("client.exec", "resizing a terminal failed",
                       {{"driver", "docker"}, {"error", resized.error()}});
        });
  }

  // -- from the engine

  Result<> take_output(std::string_view bytes) {
    if (request_.is_terminal)
      out_.bytes += bytes;
    else
      NOMAD_TRY(frames_.take(bytes, [this](Output output, std::string_view frame) {
        (output == Output::err ? err_ : out_).bytes += frame;
      }));
    write_output();
    return {};
  }

  void write_output() {
    const auto self = shared_from_this();
    for (auto* side : {&out_, &err_}) {
      side->write();
      if (!side->bytes.empty())
        side->to.await(stream_descriptor::wait_write, [self] { self->write_output(); });
    }
    const bool is_full = out_.bytes.size() + err_.bytes.size() >= most_waiting;
    if (tunnel_ != nullptr && is_full != std::exchange(is_paused_, is_full))
      tunnel_->pause(is_full);
    if (has_ended_ && !out_.to && !err_.to && !std::exchange(asks_code_, true))
      ask_code(Clock::now() + most_wait_for_code);
  }

  void stream_ended(const net::HttpOutcome& outcome) {
    stream_ = 0;
    if (tunnel_ == nullptr) {  // it never stood
      if (outcome.failure) return refuse(outcome.failure->error());
      return refuse(
          {Errc::rejected, engine_complaint({outcome.answer.status, outcome.answer.body})});
    }
    tunnel_ = nullptr;
    has_ended_ = out_.ends = err_.ends = true;
    input_.close();
    write_output();
  }

  // -- the end

  void ask_code(Clock::time_point until) {
    look([self = shared_from_this(), until](const std::optional<ExecState>& state) {
      if (state && state->running && Clock::now() < until && self->is_wanted_) {
        self->timer_.expires_after(code_interval);
        self->timer_.async_wait([self, until](const boost::system::error_code& bad) {
          if (!bad) self->ask_code(until);
        });
        return;
      }
      self->tell_end(state && !state->running ? state->exit_code : -1);
    });
  }

  void tell_end(int code) {
    const auto message = host::executor::frame(
        0, [code](host::executor::Message::Builder to) { to.initExited().setCode(code); });
    if (control_) ::send(control_.get(), message.data(), message.size(), MSG_NOSIGNAL);
    finish();
  }

  void kill() {
    tunnel_ = nullptr;
    client_.cancel(std::exchange(stream_, 0));
    close_ends();
    look([self = shared_from_this()](const std::optional<ExecState>& state) {
      if (state) kill_command(*state, self->request_.container);
      self->finish();
    });
  }

  void refuse(const Error& why) {
    tell(why);
    finish();
  }

  void tell(Result<std::vector<UniqueFd>> begun) {
    if (const auto told = std::exchange(begun_, {})) told(std::move(begun));
  }

  void close_ends() {
    timer_.cancel();
    for (auto* each : {&control_, &input_, &out_.to, &err_.to})
      each->close();
  }

  void finish() {
    close_ends();
    if (const auto over = std::exchange(over_, {})) over();
  }

  net::AsyncHttpClient& client_;
  const ExecRequest request_;
  ExecBridge::Begun begun_;
  std::function<void()> over_;
  std::string exec_{};  ///< The engine's name of it.
  bool is_wanted_ = true;
  net::AsyncHttpClient::CallId stream_
      = 0;                             ///< 0: the engine's stream was not asked for, or ended.
  net::HttpTunnel* tunnel_ = nullptr;  ///< While it stands.
  boost::asio::steady_timer timer_;
  Watched control_;
  Watched input_;
  Waiting out_;
  Waiting err_;
  bool is_paused_ = false;
  bool has_ended_ = false;
  bool asks_code_ = false;
  FrameSplitter frames_{};
  std::uint16_t rows_ = 0;
  std::uint16_t columns_ = 0;
};

/// Of a reader that has gone, for all writes of this thread.
void hold_back_sigpipe() {
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

}  // namespace exec_bridge

class ExecBridge::Core {
public:
  ~Core() {
    if (!is_begun_) return;
    const auto gone = std::make_shared<std::promise<void>>();
    client_.post([this, gone] {
      is_over_ = [gone] { gone->set_value(); };
      const auto all = sessions_;
      for (const auto& [number, session] : all)
        session->stop();
      tell_if_over();
    });
    gone->get_future().wait_for(3 * exec_bridge::question_time);
    // Those that did not end stand on the client's loop, and go before it.
    const auto cleared = std::make_shared<std::promise<void>>();
    client_.post([this, cleared] {
      is_over_ = {};
      for (const auto& [number, session] : sessions_)
        session->abandon();
      sessions_.clear();
      cleared->set_value();
    });
    cleared->get_future().wait();
  }

  void begin(ExecRequest request, Begun begun) {
    if (!std::exchange(is_begun_, true)) client_.post(exec_bridge::hold_back_sigpipe);
    client_.post([this, request = std::move(request), begun = std::move(begun)]() mutable {
      if (sessions_.size() >= most_commands)
        return begun(Error{Errc::overloaded, "too many commands run beside tasks of this driver"});
      const auto number = ++sessions_begun_;
      const auto session = std::make_shared<exec_bridge::Session>(client_, std::move(request),
                                                                  std::move(begun), [this, number] {
                                                                    sessions_.erase(number);
                                                                    tell_if_over();
                                                                  });
      sessions_.emplace(number, session);
      session->begin();
    });
  }

private:
  void tell_if_over() {
    if (is_over_ && sessions_.empty()) std::exchange(is_over_, {})();
  }

  bool is_begun_ = false;  ///< On the caller's thread; the rest is on the client's.
  std::uint64_t sessions_begun_ = 0;
  std::map<std::uint64_t, std::shared_ptr<exec_bridge::Session>> sessions_;
  std::function<void()> is_over_;                           ///< The bridge waits for this.
  net::AsyncHttpClient client_{{.thread = "docker-exec"}};  ///< Ends before the rest.
};

ExecBridge::ExecBridge() : core_{std::make_unique<Core>()} {}

ExecBridge::~ExecBridge() = default;

void ExecBridge::begin(ExecRequest request, Begun begun) {
  core_->begin(std::move(request), std::move(begun));
}

}  // namespace nomad::docker
