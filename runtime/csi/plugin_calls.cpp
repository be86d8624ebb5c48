#include "runtime/csi/plugin_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::csi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int caller_socket = 3;

class ProgramCalls final : public PluginCalls {
public:
  explicit ProgramCalls(Options options) : options_{std::move(options)} {
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  }

  ~ProgramCalls() override {
    {
      const std::lock_guard lock{guard_};
      ends_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
  }

  Number ask(schema::csi::Method method,
             const std::string& socket,
             std::chrono::milliseconds patience,
             const Fill& fill,
             Turns turns,
             Then then) override {
    Draft<schema::csi::Order> draft;
    auto call = draft->initCall();
    fill(call);
    call.setMethod(method);
    call.setSocket(text(socket));
    call.setTimeoutMs(static_cast<std::uint64_t>(patience.count()));
    const std::lock_guard lock{guard_};
    const auto number = ++last_;
    call.setNumber(number);
    Failure refusal;
    if (options_.program.empty())
      refusal = {Cause::not_asked, "this agent has no nomadctl-csi to ask plugins by"};
    else if (open_.size() >= options_.most_open)
      refusal = {Cause::exhausted, "too much is asked of plugins at once"};
    else if (!append_frame(output_, draft.freeze()))
      refusal = {Cause::invalid_argument, "more is asked than a plugin takes"};
    if (refusal.is()) {
      turns.post([then = std::move(then), refusal] { then({{}, refusal}); });
      return number;
    }
    open_.emplace(
        number, Open{std::move(turns), std::move(then), Clock::now() + patience + options_.grace});
    if (!thread_.joinable()) thread_ = std::thread{[this] { run(); }};
    wake();
    return number;
  }

  void cancel(Number number) override {
    const std::lock_guard lock{guard_};
    if (!open_.contains(number)) return;
    Draft<schema::csi::Order> draft;
    draft->setCancel(number);
    if (append_frame(output_, draft.freeze())) wake();
  }

private:
  struct Open {
    Turns turns;
    Then then;
    Clock::time_point ends;  ///< The program itself hangs, if there is no answer then.
  };

  /// On the thread of its own.
  struct Program {
    pid_t pid = 0;
    host::UniqueFd process;
    host::UniqueFd socket;
    FrameSplitter splitter{};
    std::string output{};  ///< That it has not taken yet.
  };

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
  }

  void run() {
    auto used = Clock::now();
    for (;;) {
      bool ends = false, is_idle = false;
      Clock::time_point due = Clock::time_point::max();
      {
        const std::lock_guard lock{guard_};
        ends = ends_;
        is_idle = open_.empty();
        if (!is_idle) used = Clock::now();
        for (const auto& [number, one] : open_)
          due = std::min(due, one.ends);
        if (!ends && !output_.empty()) {
          if (!program_) start();
          if (program_) program_->output += std::exchange(output_, {});
          output_.clear();
        }
      }
      if (ends) return end_program("the agent ends");
      if (due <= Clock::now()) {
        end_program("nomadctl-csi hung");
        continue;
      }
      if (is_idle) due = used + options_.idle;
      if (is_idle && program_ && due <= Clock::now()) end_program("");
      wait(program_ ? due : Clock::time_point::max());
    }
  }

  void start() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return refuse_all(errno_error("making a socket pair", errno));
    Program made;
    made.socket.reset(ends[0]);
    const host::UniqueFd theirs{ends[1]};
    ::fcntl(made.socket.get(), F_SETFL, O_NONBLOCK);
    auto spawned = host::spawn({.program = options_.program,
                                .name = "nomadctl-csi",
                                .environment = {},
                                .descriptors = {{theirs.get(), caller_socket}},
                                .dies_with_thread = true});
    if (!spawned) return refuse_all(spawned.error());
    made.pid = spawned->pid;
    made.process = std::move(spawned->process);
    program_.emplace(std::move(made));
  }

  /// The lock is held.
  void refuse_all(const Error& why) {
    log::error("client", "plugins can't be asked", {{"error", why}});
    fail_open(fmt::format("plugins can't be asked: {}", why.what));
  }

  /// The lock is held.
  void fail_open(const std::string& why) {
    for (auto& [number, one] : std::exchange(open_, {}))
      one.turns.post([then = std::move(one.then), why] { then({{}, {Cause::not_asked, why}}); });
  }

  void wait(Clock::time_point due) {
    int patience = -1;
    if (due != Clock::time_point::max())
      patience = static_cast<int>(std::max<std::int64_t>(
          0, std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count()));
    const short writes = program_ && !program_->output.empty() ? POLLOUT : 0;
    pollfd waits[]
        = {{wake_.get(), POLLIN, 0},
           {program_ ? program_->socket.get() : -1, static_cast<short>(POLLIN | writes), 0},
           {program_ ? program_->process.get() : -1, POLLIN, 0}};
    if (::poll(waits, 3, patience) < 0) return;
    if (waits[0].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(::read(wake_.get(), &count, sizeof count));
    }
    if ((waits[1].revents & POLLOUT) != 0) write_some();
    bool goes_on = true;
    if ((waits[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) goes_on = read_some();
    if (waits[2].revents != 0) goes_on = false;
    if (!goes_on) end_program("nomadctl-csi ended");
  }

  void write_some() {
    const auto written = ::send(program_->socket.get(), program_->output.data(),
                                program_->output.size(), MSG_NOSIGNAL);
    if (written > 0) program_->output.erase(0, static_cast<std::size_t>(written));
  }

  bool read_some() {
    char part[64 * 1024];
    const auto got = ::recv(program_->socket.get(), part, sizeof part, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const auto taken = program_->splitter.add(
        {part, static_cast<std::size_t>(got)}, [this](std::string_view bytes) -> Result<> {
          answered(NOMAD_TRY(object_in<schema::csi::Answer>(bytes)));
          return {};
        });
    if (!taken) log::error("client", "nomadctl-csi says nonsense", {{"error", taken.error()}});
    return taken.has_value();
  }

  void answered(Answer answer) {
    std::optional<Open> one;
    {
      const std::lock_guard lock{guard_};
      const auto found = open_.find(answer->getNumber());
      if (found == open_.end()) return;  // a second answer is none
      one.emplace(std::move(found->second));
      open_.erase(found);
    }
    Outcome outcome{std::move(answer), {}};
    if (const auto cause = outcome.answer->getCause(); cause != 0)
      outcome.failure = {cause_of(cause), copy(outcome.answer->getText())};
    one->turns.post([then = std::move(one->then), outcome = std::move(outcome)] { then(outcome); });
  }

  void end_program(const std::string& why) {
    if (auto program = std::exchange(program_, std::nullopt)) {
      ::syscall(SYS_pidfd_send_signal, program->process.get(), SIGKILL, nullptr, 0);
      while (::waitpid(program->pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (why.empty()) return;
    const std::lock_guard lock{guard_};
    output_.clear();
    if (!open_.empty()) log::warn("client", why, {{"count", open_.size()}});
    fail_open(why);
  }

  const Options options_;
  host::UniqueFd wake_;
  std::optional<Program> program_;  ///< The thread's.
  std::thread thread_;

  std::mutex guard_;
  bool ends_ = false;
  Number last_ = 0;
  std::map<Number, Open> open_;
  std::string output_;  ///< For the program.
};

}  // namespace

std::shared_ptr<PluginCalls> make_plugin_calls(PluginCalls::Options options) {
  return std::make_shared<ProgramCalls>(std::move(options));
}

}  // namespace nomad::csi
