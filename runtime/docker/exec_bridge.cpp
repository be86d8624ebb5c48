#include "runtime/docker/exec_bridge.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <pthread.h>
#include <termios.h>

#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/docker/engine_answers.hpp"
#include "runtime/docker/log_stream.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/net/byte_stream.hpp"
#include "runtime/net/http/http_parser.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
namespace {

using Clock = std::chrono::steady_clock;
using host::UniqueFd;
using net::ByteStream;

constexpr auto question_time = std::chrono::seconds{10};
constexpr auto most_wait_for_code = std::chrono::seconds{3};
constexpr int resize_interval_ms = 100;
constexpr std::size_t piece_bytes = 32 * 1024;
constexpr std::size_t most_waiting = 256 * 1024;

/// A connection whose answer's header has come, and what came behind it.
struct Asked {
  std::unique_ptr<ByteStream> stream;
  std::unique_ptr<net::ResponseParser> parser;
  std::string early;
};

/// Asks, and reads as far as the header, or to the end of the body where there is one.
Result<Asked> ask(const ExecRequest& request,
                  const std::string& method,
                  const std::string& path,
                  const std::string& body,
                  bool upgrades) {
  const net::Deadline deadline = Clock::now() + question_time;
  Asked asked;
  asked.stream = NOMAD_TRY(net::connect_plain(
      {.scheme = "unix", .host = request.socket, .port = {}, .base_path = {}}, deadline));
  asked.parser = std::make_unique<net::ResponseParser>(false, 4 * 1024 * 1024);
  NOMAD_TRY(asked.stream->write(
      fmt::format("{} /v{}{} HTTP/1.1\r\nHost: docker\r\n{}Content-Type: application/json\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  method, request.api, path,
                  upgrades ? "Connection: Upgrade\r\nUpgrade: tcp\r\n" : "Connection: close\r\n",
                  body.size(), body),
      deadline));
  std::array<char, piece_bytes> buffer;
  while (!asked.parser->complete()) {
    const auto got = NOMAD_TRY(asked.stream->read(buffer.data(), buffer.size(), deadline));
    if (got == 0) {
      NOMAD_TRY(asked.parser->feed_eof());
      break;
    }
    asked.early.append(buffer.data(), got);
    const auto used = NOMAD_TRY(asked.parser->feed(asked.early));
    asked.early.erase(0, used);
  }
  return asked;
}

Result<std::string> ask_whole(const ExecRequest& request,
                              const std::string& method,
                              const std::string& path,
                              const std::string& body = {}) {
  auto asked = NOMAD_TRY(ask(request, method, path, body, false));
  EngineAnswer answer{asked.parser->status(), std::move(asked.parser->body())};
  if (auto complaint = engine_complaint(answer); !complaint.empty())
    return Error{answer.status == 404 ? Errc::not_found : Errc::rejected, std::move(complaint)};
  return std::move(answer.body);
}

struct ExecState {
  bool running = false;
  int exit_code = -1;
  pid_t pid = 0;
};

Result<ExecState> look_at(const ExecRequest& request, const std::string& exec) {
  const auto body = NOMAD_TRY(ask_whole(request, "GET", "/exec/" + exec + "/json"));
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object())
    return Error{Errc::corrupt, "the engine does not say how the command is"};
  const Members members{parsed->get_object()};
  return ExecState{.running = members.flag("Running"),
                   .exit_code = static_cast<int>(members.number("ExitCode", -1)),
                   .pid = static_cast<pid_t>(members.number("Pid"))};
}

/// The engine has no way to end a command. It is ended if it is one of the container, of which its
/// control groups tell; the number can't get another meaning meanwhile.
void kill_command(const ExecRequest& request, const std::string& exec) {
  const auto state = look_at(request, exec);
  if (!state || !state->running || state->pid <= 1) return;
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, state->pid, 0))};
  if (!process) return;
  const auto groups = host::read_proc_file(fmt::format("/proc/{}/cgroup", state->pid));
  if (groups.find(request.container) == std::string::npos) return;
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

void set_nonblocking(const UniqueFd& descriptor) {
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

bool is_passing(int error_number) {
  return error_number == EAGAIN || error_number == EINTR;
}

/// Bytes on their way to a descriptor, which may want no more.
struct Waiting {
  UniqueFd to;
  std::string bytes{};
  bool ends = false;  ///< Nothing follows.

  void write() {
    while (to && !bytes.empty()) {
      const auto count = ::write(to.get(), bytes.data(), bytes.size());
      if (count < 0 && is_passing(errno)) return;
      if (count <= 0) {
        to.reset();  // nobody reads it any more
        break;
      }
      bytes.erase(0, static_cast<std::size_t>(count));
    }
    if (!to) bytes.clear();
    if (ends && bytes.empty()) to.reset();
  }
};

/// One command that runs, from its start to its end.
class Session {
public:
  Session(ExecRequest request, std::string exec, Asked asked, int stop)
      : request_{std::move(request)},
        exec_{std::move(exec)},
        stream_{std::move(asked.stream)},
        stop_{stop} {
    early_ = std::move(asked.early);
  }

  /// The agent's ends.
  Result<std::vector<UniqueFd>> make_ends() {
    std::vector<UniqueFd> theirs;
    auto control = NOMAD_TRY(make_pair_of(SOCK_STREAM));
    control_ = std::move(control.ours);
    theirs.push_back(std::move(control.theirs));
    if (request_.is_terminal) {
      auto terminal = NOMAD_TRY(make_terminal());
      input_ = UniqueFd{::dup(terminal.ours.get())};
      out_.to = std::move(terminal.ours);
      theirs.push_back(std::move(terminal.theirs));
    } else {
      auto input = NOMAD_TRY(make_pair_of(0));
      auto output = NOMAD_TRY(make_pair_of(0));
      auto errors = NOMAD_TRY(make_pair_of(0));
      input_ = std::move(input.ours);
      theirs.push_back(std::move(input.theirs));
      out_.to = std::move(output.theirs);
      theirs.push_back(std::move(output.ours));
      err_.to = std::move(errors.theirs);
      theirs.push_back(std::move(errors.ours));
      set_nonblocking(err_.to);
    }
    set_nonblocking(input_);
    set_nonblocking(out_.to);
    return theirs;
  }

  void run() {
    if (!early_.empty()) take_output(early_);
    while (!is_over())
      if (!turn()) return kill_command(request_, exec_);
    tell_end();
  }

private:
  bool is_over() const { return !stream_ && !out_.to && !err_.to; }

  /// Waits for something and carries it. False when nobody wants the command any more.
  bool turn() {
    const bool may_read = out_.bytes.size() + err_.bytes.size() < most_waiting;
    std::array<pollfd, 6> fds{};
    const auto put = [&fds](std::size_t at, int descriptor, short events) {
      fds[at] = {.fd = events == 0 ? -1 : descriptor, .events = events, .revents = 0};
    };
    const short of_stream
        = static_cast<short>((may_read ? POLLIN : 0) | (to_engine_.empty() ? 0 : POLLOUT));
    put(0, control_.get(), POLLIN);
    put(1, stop_, POLLIN);
    put(2, stream_ ? stream_->native_handle() : -1, stream_ ? of_stream : short{0});
    put(3, input_.get(), input_ && to_engine_.size() < most_waiting ? POLLIN : short{0});
    put(4, out_.to.get(), out_.bytes.empty() ? short{0} : POLLOUT);
    put(5, err_.to.get(), err_.bytes.empty() ? short{0} : POLLOUT);
    const int time = request_.is_terminal && stream_ ? resize_interval_ms : -1;
    if (::poll(fds.data(), fds.size(), time) < 0 && errno != EINTR) return false;
    if (fds[0].revents != 0 || fds[1].revents != 0) return false;
    if (request_.is_terminal) look_at_size();
    if (fds[3].revents != 0) read_input();
    if (stream_ && (fds[2].revents & POLLOUT) != 0) write_to_engine();
    if (stream_ && (fds[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from_engine();
    if (fds[4].revents != 0) out_.write();
    if (fds[5].revents != 0) err_.write();
    return true;
  }

  void look_at_size() {
    winsize size{};
    if (!out_.to || ::ioctl(out_.to.get(), TIOCGWINSZ, &size) != 0) return;
    if (size.ws_row == 0 || (size.ws_row == rows_ && size.ws_col == columns_)) return;
    rows_ = size.ws_row;
    columns_ = size.ws_col;
    const auto resized = ask_whole(
        request_, "POST", fmt::format("/exec/{}/resize?h={}&w={}", exec_, rows_, columns_));
    if (!resized) log::debug("client.exec", "resizing a terminal: {}", resized.error().what);
  }

  void read_input() {
    std::array<char, piece_bytes> buffer;
    const auto got = ::read(input_.get(), buffer.data(), buffer.size());
    if (got < 0 && is_passing(errno)) return;
    if (got > 0)
      to_engine_.append(buffer.data(), static_cast<std::size_t>(got));
    else
      input_.reset();
    write_to_engine();
  }

  void write_to_engine() {
    if (!stream_) return;
    const auto count = stream_->write_some(to_engine_);
    if (!count) return to_engine_.clear();  // its output tells how it ended
    to_engine_.erase(0, *count);
    if (!input_ && to_engine_.empty() && !std::exchange(said_end_, true))
      ::shutdown(stream_->native_handle(), SHUT_WR);
  }

  void read_from_engine() {
    std::array<char, piece_bytes> buffer;
    const auto got = stream_->read(buffer.data(), buffer.size(), Clock::now());
    if (!got && got.error().code == Errc::timeout) return;
    if (!got || *got == 0) return end_output();
    take_output({buffer.data(), *got});
  }

  void take_output(std::string_view bytes) {
    if (request_.is_terminal) {
      out_.bytes += bytes;
    } else {
      const auto taken = frames_.take(bytes, [this](Output output, std::string_view frame) {
        (output == Output::err ? err_ : out_).bytes += frame;
      });
      if (!taken) end_output();
    }
    out_.write();
    err_.write();
  }

  void end_output() {
    stream_.reset();
    input_.reset();
    out_.ends = err_.ends = true;
    out_.write();
    err_.write();
  }

  void tell_end() {
    const auto until = Clock::now() + most_wait_for_code;
    auto state = look_at(request_, exec_);
    while (state && state->running && Clock::now() < until) {
      pollfd stop{.fd = stop_, .events = POLLIN, .revents = 0};
      if (::poll(&stop, 1, 10) > 0) return;
      state = look_at(request_, exec_);
    }
    const int code = state && !state->running ? state->exit_code : -1;
    const auto message = host::executor::frame(
        0, [code](host::executor::Message::Builder to) { to.initExited().setCode(code); });
    ::send(control_.get(), message.data(), message.size(), MSG_NOSIGNAL);
  }

  const ExecRequest request_;
  const std::string exec_;
  std::unique_ptr<ByteStream> stream_;
  const int stop_;
  std::string early_;
  UniqueFd control_;
  UniqueFd input_;
  Waiting out_;
  Waiting err_;
  std::string to_engine_;
  bool said_end_ = false;
  FrameSplitter frames_;
  std::uint16_t rows_ = 0;
  std::uint16_t columns_ = 0;
};

Result<std::unique_ptr<Session>> start(const ExecRequest& request, int stop) {
  boost::json::array command;
  for (const auto& word : request.command)
    command.emplace_back(word);
  const boost::json::object made{{"AttachStdin", true},
                                 {"AttachStdout", true},
                                 {"AttachStderr", true},
                                 {"Tty", request.is_terminal},
                                 {"Cmd", std::move(command)}};
  const auto created = NOMAD_TRY(ask_whole(
      request, "POST", "/containers/" + request.container + "/exec", boost::json::serialize(made)));
  auto exec = NOMAD_TRY(read_created(created));
  const boost::json::object begun{{"Detach", false}, {"Tty", request.is_terminal}};
  auto asked = NOMAD_TRY(
      ask(request, "POST", "/exec/" + exec + "/start", boost::json::serialize(begun), true));
  if (asked.parser->status() != 101)
    return Error{Errc::rejected,
                 engine_complaint({asked.parser->status(), std::move(asked.parser->body())})};
  return std::make_unique<Session>(request, std::move(exec), std::move(asked), stop);
}

void serve(const ExecRequest& request, const ExecBridge::Begun& begun, int stop) {
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  ::pthread_setname_np(::pthread_self(), "docker-exec");
  auto session = start(request, stop);
  if (!session) return begun(session.error());
  auto ends = (*session)->make_ends();
  if (!ends) return begun(ends.error());
  begun(std::move(*ends));
  (*session)->run();
}

}  // namespace

struct ExecBridge::Command {
  std::shared_ptr<std::atomic<bool>> ended;
  std::thread thread;
};

ExecBridge::ExecBridge()
    : stop_{std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))} {}

ExecBridge::~ExecBridge() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_->get(), &one, sizeof one);
  for (auto& command : commands_)
    command.thread.join();
}

void ExecBridge::remove_ended() {
  for (auto each = commands_.begin(); each != commands_.end();) {
    if (!each->ended->load()) {
      ++each;
      continue;
    }
    each->thread.join();
    each = commands_.erase(each);
  }
}

void ExecBridge::begin(ExecRequest request, Begun begun) {
  remove_ended();
  if (commands_.size() >= most_commands)
    return begun(Error{Errc::overloaded, "too many commands run beside tasks of this driver"});
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::thread thread{[request = std::move(request), begun = std::move(begun), ended, stop = stop_] {
    guarded("client.exec", [&] { serve(request, begun, stop->get()); });
    ended->store(true);
  }};
  commands_.push_back({std::move(ended), std::move(thread)});
}

}  // namespace nomad::docker
