#include "runtime/host/executor/executor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <malloc.h>

#include "runtime/host/executor/descriptors.hpp"
#include "runtime/host/executor/exit_status.hpp"

namespace nomad::host::executor {

namespace {

using namespace std::chrono_literals;

constexpr auto kill_patience = 5s;
constexpr auto drain_patience = 2s;
constexpr auto ending_tick = 20ms;
constexpr auto kill_again = 500ms;
constexpr auto place_interval = 5s;
constexpr std::size_t max_clients = 8;
std::array<char, 64 * 1024> buffer;  // shared by all reads; touched only as far as they go

// Goes to the file `log` of the directory, for people.
void complain(const std::string& what, int error_number) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(error_number));
}

void fill_process(schema::executor::Process::Builder process, const RunState& state) {
  process.setPid(state.process.pid);
  process.setStartTicks(state.process.start_ticks);
  process.setBootId(state.process.boot_id);
  process.setStartedAt(state.started_at);
}

}  // namespace

Executor::Executor(UniqueFd directory, UniqueFd listener)
    : directory_(std::move(directory)), listener_(std::move(listener)) {}

bool Executor::add(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

bool Executor::set_up() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &child, nullptr) != 0) return false;
  signals_.reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  return signals_ && epoll_ && add(signals_.get()) && add(listener_.get());
}

int Executor::run() {
  if (!set_up()) {
    complain("cannot set up", errno);
    return 1;
  }
  while (phase_ != Phase::finished) {
    std::array<epoll_event, 16> events;
    int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
    if (count < 0 && errno != EINTR) {
      complain("cannot wait", errno);
      return 1;
    }
    for (int i = 0; i < count; ++i)
      on_event(events[static_cast<std::size_t>(i)].data.fd);
    drop_closed_clients();
    on_time();
  }
  return 0;
}

int Executor::timeout_ms() const {
  auto wake = kill_at_ ? std::min(*kill_at_, next_look_) : next_look_;
  if (const auto leave = leaves()) wake = std::min(wake, *leave);
  if (phase_ == Phase::ending) wake = Clock::now() + ending_tick;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

std::optional<Executor::Clock::time_point> Executor::leaves() const {
  return clients_.empty() ? leaves_at(phase_, alone_since_) : std::nullopt;
}

void Executor::on_time() {
  auto now = Clock::now();
  if (const auto leave = leaves(); leave && now >= *leave) phase_ = Phase::finished;
  if (now >= next_look_) look_at_location(now);
  if (kill_at_ && now >= *kill_at_) {
    kill_at_ = now + kill_again;  // until the main process is gone
    containment_.kill_all();
  }
  if (phase_ == Phase::ending) go_on_ending();
}

void Executor::look_at_location(Clock::time_point now) {
  next_look_ = now + place_interval;

  struct stat status {};

  if (deserted_ || phase_ == Phase::finished
      || ::fstatat(directory_.get(), socket_file, &status, AT_SYMLINK_NOFOLLOW) == 0
      || errno != ENOENT)
    return;
  deserted_ = true;
  if (phase_ == Phase::running)
    kill_at_ = now;
  else if (phase_ != Phase::ending)
    phase_ = Phase::finished;
}

void Executor::on_event(int descriptor) {
  if (descriptor == listener_.get()) return accept_client();
  if (descriptor == signals_.get()) return reap();
  if (sessions_.on_event(descriptor)) return;
  for (Output& output : outputs_) {
    if (output.pipe.get() == descriptor) {
      read_output(output);
      return;
    }
  }
  for (auto& client : clients_) {
    if (client->socket.get() == descriptor) return read_client(*client);
  }
}

void Executor::accept_client() {
  UniqueFd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!socket) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  // The directory is 0700; this also holds where it is not.
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0
      || (peer.uid != 0 && peer.uid != ::geteuid()))
    return;
  if (clients_.size() >= max_clients) clients_.erase(clients_.begin());
  if (!add(socket.get())) return complain("cannot serve a connection", errno);
  clients_.push_back(std::make_unique<Client>());
  clients_.back()->socket = std::move(socket);
}

void Executor::drop_closed_clients() {
  std::size_t before = clients_.size();
  std::erase_if(clients_, [](const auto& client) { return !client->socket; });
  if (before != 0 && clients_.empty()) {
    alone_since_ = Clock::now();
    // Nobody is there to record the status, so it has to outlive a power failure here.
    if (phase_ == Phase::ended) record(true);
  }
}

void Executor::read_client(Client& client) {
  ssize_t got = ::read(client.socket.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return client.socket.reset();
  client.reader.append({buffer.data(), static_cast<std::size_t>(got)});
  auto outcome = FrameReader::Outcome::message;
  while (client.socket && outcome == FrameReader::Outcome::message)
    outcome = client.reader.next([&](Message::Reader message) { answer(client, message); });
  if (outcome != FrameReader::Outcome::malformed) return;
  client.socket.reset();
  if (phase_ == Phase::idle) state_ = {};  // a start may have failed half read
}

void Executor::send(Client& client,
                    const std::string& framed,
                    const std::vector<UniqueFd>& descriptors) {
  if (!client.socket) return;
  // Answers are small and few. A peer that lets its socket fill up is cut off; it may come again.
  ssize_t sent = send_with(client.socket.get(), framed, descriptors);
  if (sent != static_cast<ssize_t>(framed.size())) client.socket.reset();
}

void Executor::fail(Client& client, std::uint32_t id, const LaunchError& error) {
  send(client, frame(id, [&](Message::Builder message) {
         auto failure = message.initFailed();
         failure.setWhat(error.what);
         failure.setErrorNumber(error.error_number);
         failure.setMayPass(error.executing && error.error_number != EACCES);
       }));
}

void Executor::answer(Client& client, Message::Reader message) {
  switch (message.which()) {
    case Message::HELLO:
      return answer_hello(client, message);
    case Message::START:
      return answer_start(client, message);
    case Message::SIGNAL:
      return answer_signal(client, message);
    case Message::STOP:
      return answer_stop(client, message);
    case Message::ACKNOWLEDGE:
      return answer_acknowledge(client, message);
    case Message::EXEC:
      return answer_exec(client, message);
    case Message::WELCOME:
    case Message::STARTED:
    case Message::DONE:
    case Message::FAILED:
    case Message::EXITED:
    case Message::EXEC_STARTED:
      break;
  }
  fail(client, message.getId(), unknown_request);
}

void Executor::answer_hello(Client& client, Message::Reader request) {
  auto hello = request.getHello();
  const auto common = common_version(hello.getMinVersion(), hello.getMaxVersion());
  send(client, frame(request.getId(), [&](Message::Builder message) {
         auto welcome = message.initWelcome();
         welcome.setVersion(common);
         welcome.setExecutorPid(::getpid());
         welcome.setRunId(state_.run_id);
         if (state_.process.pid != 0) fill_process(welcome.initProcess(), state_);
         if (phase_ == Phase::ended) fill_exit(welcome.initExit(), *state_.exit);
       }));
  if (common == 0) client.socket.reset();
}

bool Executor::open_logs(schema::executor::Start::Reader start, LaunchError& error) {
  if (!start.hasLogs()) return true;
  auto logs = start.getLogs();
  std::string task{logs.getTask().cStr()};
  std::string names[2] = {task + ".stdout", task + ".stderr"};
  for (std::size_t i = 0; i < 2; ++i) {
    UniqueFd directory = open_log_directory(logs.getAllocRoot().cStr());
    int error_number = directory ? 0 : errno;
    if (directory) {
      outputs_[i].writer.emplace(
          std::move(directory),
          LogWriter::Options{names[i], logs.getMaxFiles(), logs.getMaxFileBytes()});
      error_number = outputs_[i].writer->open();
    }
    if (error_number != 0) {
      error = {"cannot open the log file " + names[i], error_number};
      return false;
    }
  }
  return true;
}

void Executor::answer_start(Client& client, Message::Reader request) {
  auto start = request.getStart();
  std::string run_id{start.getRunId().cStr()};
  if (phase_ != Phase::idle) return fail(client, request.getId(), "a task was already started");
  if (!is_run_id(run_id)) return fail(client, request.getId(), "the run id is not valid", EINVAL);

  sessions_.remember(start);  // first: it reads all of the message, which may be malformed
  std::vector<std::string> cgroups;
  for (auto directory : start.getCgroupDirectories())
    cgroups.emplace_back(directory.cStr());
  containment_ = Containment{std::move(cgroups), start.getCgroupUnified().cStr(),
                             start.getOomEvents().cStr()};
  LaunchError error;
  Launched launched;
  state_.run_id = run_id;
  if (open_logs(start, error)) {
    int recorded = write_state(directory_.get(), state_, false);
    if (recorded == 0) {
      launched = launch(start, error);
    } else {
      error = {"cannot write the executor's state", recorded};
    }
  }
  if (launched.pid == 0) {
    fail(client, request.getId(), error);
    // Nothing runs and nothing needs an acknowledgement.
    ::unlinkat(directory_.get(), state_file, 0);
    ::unlinkat(directory_.get(), socket_file, 0);
    phase_ = Phase::finished;
    return;
  }
  state_.process = identify(launched.pid);
  state_.started_at = unix_now();
  phase_ = Phase::running;
  record(false);
  outputs_[0].pipe = std::move(launched.stdout_pipe);
  outputs_[1].pipe = std::move(launched.stderr_pipe);
  for (Output& output : outputs_) {
    if (output.pipe && !add(output.pipe.get())) complain("cannot read the task's output", errno);
  }
  send(client, frame(request.getId(), [&](Message::Builder message) {
         fill_process(message.initStarted(), state_);
       }));
  ::malloc_trim(0);  // the start message is the largest thing there ever was
}

void Executor::answer_signal(Client& client, Message::Reader request) {
  if (phase_ != Phase::running) return fail(client, request.getId(), "the task is not running");
  if (::kill(state_.process.pid, request.getSignal()) != 0)
    return fail(client, request.getId(), "cannot send the signal", errno);
  send(client, frame(request.getId(), [](Message::Builder message) { message.setDone(); }));
}

void Executor::answer_stop(Client& client, Message::Reader request) {
  auto stop = request.getStop();
  if (phase_ == Phase::idle) return fail(client, request.getId(), "no task was started");
  if (phase_ == Phase::running) {
    constexpr std::uint64_t a_year_ms = 365ULL * 24 * 3600 * 1000;
    auto grace = std::chrono::milliseconds{std::min(stop.getGraceMs(), a_year_ms)};
    if (grace > 0ms && ::kill(state_.process.pid, stop.getSignal()) != 0 && errno != ESRCH)
      return fail(client, request.getId(), "cannot send the signal", errno);
    auto deadline = Clock::now() + grace;
    if (!kill_at_ || deadline < *kill_at_) kill_at_ = deadline;
  }
  send(client, frame(request.getId(), [](Message::Builder message) { message.setDone(); }));
}

void Executor::answer_acknowledge(Client& client, Message::Reader request) {
  if (phase_ != Phase::ended && phase_ != Phase::idle)
    return fail(client, request.getId(), "the task has not ended");
  ::unlinkat(directory_.get(), socket_file, 0);
  ::unlinkat(directory_.get(), state_file, 0);
  send(client, frame(request.getId(), [](Message::Builder message) { message.setDone(); }));
  phase_ = Phase::finished;
}

void Executor::answer_exec(Client& client, Message::Reader request) {
  if (phase_ != Phase::running) return fail(client, request.getId(), "the task is not running");
  LaunchError error;
  std::vector<UniqueFd> ends
      = sessions_.open(request.getExec(), state_.process.pid, epoll_.get(), error);
  if (ends.empty()) return fail(client, request.getId(), error.what, error.error_number);
  send(client, frame(request.getId(), [](Message::Builder message) { message.setExecStarted(); }),
       ends);
}

void Executor::record(bool durable) {
  if (int error = write_state(directory_.get(), state_, durable); error != 0)
    complain("cannot write the state", error);
}

void Executor::reap() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
  }
  for (;;) {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (sessions_.reaped(pid, status)) continue;
    if (pid == state_.process.pid && phase_ == Phase::running) begin_ending(status);
  }
}

void Executor::begin_ending(int status) {
  phase_ = Phase::ending;
  ending_since_ = Clock::now();
  kill_at_.reset();
  ExitStatus exit = exit_of(status);
  // A shell says by its own code that what it waited for was killed.
  exit.oom_killed = exit.code == 128 + SIGKILL && containment_.oom_killed();
  if (deserted_) exit.reason = "its executor's directory was deleted";
  state_.exit = exit;
}

bool Executor::read_output(Output& output) {
  ssize_t got = ::read(output.pipe.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    output.pipe.reset();
    return false;
  }
  int error = output.writer->write({buffer.data(), static_cast<std::size_t>(got)});
  if (error != 0 && error != output.reported_error) complain("lost output of the task", error);
  output.reported_error = error;
  return true;
}

void Executor::go_on_ending() {
  auto waited = Clock::now() - ending_since_;
  containment_.kill_all();
  reap();
  bool gone = containment_.empty() || waited > kill_patience;
  bool drained = true;
  for (Output& output : outputs_) {
    // Bounded, so that a process that cannot be killed and writes for ever is left behind.
    for (int i = 0; i < 1024 && output.pipe && read_output(output); ++i) {
    }
    drained = drained && !output.pipe;
  }
  if (gone
      && (drained || waited > kill_patience + drain_patience
          || (containment_.empty() && waited > drain_patience)))
    end();
}

void Executor::end() {
  for (Output& output : outputs_) {
    output.pipe.reset();
    output.writer.reset();
  }
  sessions_.close();
  alone_since_ = Clock::now();
  // Nobody can come for the status of one that has lost its place: who is connected hears it.
  phase_ = deserted_ ? Phase::finished : Phase::ended;
  if (!deserted_) record(clients_.empty());
  std::string exited = frame(
      0, [this](Message::Builder message) { fill_exit(message.initExited(), *state_.exit); });
  for (auto& client : clients_)
    send(*client, exited);
}

}  // namespace nomad::host::executor
