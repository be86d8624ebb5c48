// plugin validate: whether a file is a plugin that this release takes; with -run, what it says of
// itself, and whether it keeps to the protocol.
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/declared.hpp"
#include "runtime/plugin/frames.hpp"
#include "runtime/plugin/plugin_file.hpp"
#include "runtime/plugin/said.hpp"
#include "runtime/plugin/sdk/config_check.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Frame = plugin::Frame;
using FrameBuilder = schema::plugin::Frame::Builder;

constexpr auto patience = 10s;

/// A plugin's process, asked one thing at a time. Its output is this command's.
class Trial {
public:
  Trial(int socket, pid_t pid) : socket_{socket}, pid_{pid} {}

  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  ~Trial() {
    ::close(socket_);
    for (int tries = 0; tries < 200; ++tries) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
      ::usleep(10'000);
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Result<Frame> next() { return next(Clock::now() + patience); }

  Result<Frame> next(Clock::time_point end) {
    while (frames_.empty()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      pollfd wait{socket_, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0)
        return Error{Errc::timeout, fmt::format("it said nothing for {} s", patience.count())};
      char part[64 * 1024];
      const auto got = ::recv(socket_, part, sizeof part, 0);
      if (got <= 0) return Error{Errc::unavailable, "it hung up"};
      NOMAD_TRY(splitter_.add({part, static_cast<std::size_t>(got)},
                              [this](Frame frame, std::size_t) { frames_.push_back(frame); }));
    }
    auto first = frames_.front();
    frames_.erase(frames_.begin());
    return first;
  }

  /// The answer; what it tells meanwhile is passed over, what it asks is refused.
  Result<Frame> ask(const std::function<void(FrameBuilder)>& fill) {
    const auto number = ++last_;
    NOMAD_TRY(send(number, fill));
    const auto end = Clock::now() + patience;
    for (;;) {
      if (Clock::now() > end)
        return Error{Errc::timeout,
                     fmt::format("it talks, but has not answered for {} s", patience.count())};
      const auto frame = NOMAD_TRY(next(end));
      if (frame->isRequest() || frame->isSubscribe() || frame->isAskAgent()) {
        NOMAD_TRY(send(frame->getNumber(), [](FrameBuilder to) {
          auto failure = to.initFailed();
          failure.setCode(static_cast<std::uint8_t>(Errc::unavailable));
          failure.setMessage("this is a trial without an agent");
        }));
      } else if (frame->getNumber() == number) {
        if (frame->isFailed())
          return Error{Errc::rejected, plugin::said(view(frame->getFailed().getMessage()))};
        return frame;
      }
    }
  }

private:
  Result<> send(std::uint64_t number, const std::function<void(FrameBuilder)>& fill) {
    Draft<schema::plugin::Frame> draft;
    draft->setNumber(number);
    fill(*draft);
    std::string bytes;
    NOMAD_TRY(plugin::append_frame(bytes, draft.freeze()));
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto more = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) return errno_error("speaking to it", errno);
      sent += static_cast<std::size_t>(more);
    }
    return {};
  }

  int socket_;
  pid_t pid_;
  std::uint64_t last_ = 0;
  plugin::FrameSplitter splitter_;
  std::vector<Frame> frames_;
};

/// `shows`: what it prints is shown.
Result<std::unique_ptr<Trial>> start_trial(const plugin::PluginFile& file, bool shows) {
  const auto program = NOMAD_TRY(find_program("nomadctl-plugin-host", "../runtime/plugin/process"));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("making a socket pair", errno);
  host::UniqueFd ours{ends[0]};
  const host::UniqueFd theirs{ends[1]};
  std::vector<std::string> words;
  if (!file.is_library) words.emplace_back("--program");
  if (plugin::is_nomad_plugin(file)) {
    words.push_back(NOMAD_TRY(find_program("nomadctl-go-plugin", "../runtime/plugin/bridge")));
    words.push_back(NOMAD_TRY(find_program("nomadctl-executor", "../runtime/host/executor")));
    words.push_back(file.name);
  }
  words.push_back(file.path);
  std::vector<std::pair<int, int>> descriptors{{theirs.get(), 3}};
  if (shows) descriptors.insert(descriptors.end(), {{0, 0}, {1, 1}, {2, 2}});
  const auto spawned = NOMAD_TRY(host::spawn({.program = program,
                                              .arguments = std::move(words),
                                              .environment = environment_without_secrets(),
                                              .descriptors = std::move(descriptors),
                                              .directory = "",
                                              .group = host::ProcessGroup::callers}));
  return std::make_unique<Trial>(ours.release(), spawned.pid);
}

template <class List, class Name>
std::string names_of(List list, const Name& name) {
  std::string all;
  for (const auto each : list)
    if (const std::string one = name(each); !one.empty()) all += (all.empty() ? "" : ",") + one;
  return all;
}

void print_declaration(schema::plugin::Declaration::Reader is) {
  const auto hooks = [&](bool of_allocation) {
    return names_of(is.getHooks(), [of_allocation](auto hook) {
      return hook.getOfAllocation() == of_allocation ? copy(hook.getName()) : std::string{};
    });
  };
  std::cout << pairs(
      {{"Name", copy(is.getName())},
       {"Version", copy(is.getVersion())},
       {"SDK", copy(is.getSdk())},
       {"Task Hooks", hooks(false)},
       {"Alloc Hooks", hooks(true)},
       {"Drivers", names_of(is.getDrivers(), [](auto each) { return copy(each); })},
       {"Fingerprinters",
        names_of(is.getFingerprinters(), [](auto each) { return copy(each.getName()); })},
       {"Actors", names_of(is.getActors(), [](auto each) { return copy(each); })},
       {"Schedulers", names_of(is.getSchedulers(), [](auto each) { return copy(each.getType()); })},
       {"Service Providers",
        names_of(is.getServiceProviders(), [](auto each) { return copy(each.getName()); })},
       {"Configuration", names_of(is.getConfig(), [](auto each) { return copy(each.getName()); })}})
            << "\n\n";
}

void passed(std::string_view what) {
  std::cout << "passed  " << what << '\n';
}

/// What the plugin gets as its own directory, for as long as it is tried.
class TrialDirectory {
public:
  TrialDirectory() {
    if (::mkdtemp(path_) == nullptr) path_[0] = 0;
  }

  TrialDirectory(const TrialDirectory&) = delete;
  TrialDirectory& operator=(const TrialDirectory&) = delete;

  ~TrialDirectory() {
    std::error_code ignored;  // what is left is in /tmp
    if (path_[0] != 0) std::filesystem::remove_all(path_, ignored);
  }

  std::string_view path() const { return path_; }

private:
  char path_[32] = "/tmp/nomadctl-plugin-XXXXXX";
};

void fill_trial_service(schema::plugin::RegisterServices::Builder order) {
  order.setAllocId("00000000-0000-0000-0000-000000000000");
  auto service = order.initServices(1)[0];
  service.setId("nomadctl-plugin-validate");
  service.setServiceName("trial");
  service.setNamespace("default");
  service.setJobId("trial");
  service.setAllocId(order.getAllocId());
  service.setAddress("127.0.0.1");
  service.setPort(1);
}

/// One service is registered, twice, and deregistered, twice: neither is a mistake.
Result<> try_provider(Trial& trial, capnp::Text::Reader provider) {
  const auto ask = [&](std::string_view what, const auto& fill) -> Result<> {
    for (int times = 0; times < 2; ++times) {
      const auto answer = NOMAD_TRY(trial.ask(fill).within(what));
      if (!answer->isDone())
        return Error{Errc::rejected,
                     fmt::format("{}: it answers something else than `done`", what)};
    }
    return {};
  };
  NOMAD_TRY(ask("registering a service", [&](FrameBuilder to) {
    auto order = to.initRegisterServices();
    order.setProvider(provider);
    fill_trial_service(order);
  }));
  return ask("deregistering it", [&](FrameBuilder to) {
    auto order = to.initDeregisterServices();
    order.setProvider(provider);
    order.initIds(1).set(0, "nomadctl-plugin-validate");
  });
}

/// With a declaration that agents take.
Result<Frame> ask_what_it_is(Trial& trial, const std::string& name) {
  const auto first = trial.next();
  if (!first)
    return Error{Errc::rejected, fmt::format("it is no plugin: it did not say what it is ({})",
                                             first.error().what)};
  if (!(*first)->isDeclaration())
    return Error{Errc::rejected, "it does not begin by saying what it is"};
  NOMAD_TRY(plugin::check_declaration((*first)->getDeclaration(), name));
  return *first;
}

/// The conversation that every plugin must be able to have.
Result<> try_out(Trial& trial, const std::string& name, const std::string& given) {
  const auto first = NOMAD_TRY(ask_what_it_is(trial, name));
  const auto is = first->getDeclaration();
  print_declaration(is);
  passed("it says what it is");
  NOMAD_TRY(trial.ask([](FrameBuilder to) { to.setPing(); }).within("a ping"));
  passed("it answers a ping");
  const auto config = NOMAD_TRY(plugin::apply_config(plugin::fields_of(is.getConfig()), given)
                                    .within("its configuration (-config)"));
  const TrialDirectory directory;
  if (directory.path().empty()) return errno_error("making a directory", errno);
  NOMAD_TRY(trial
                .ask([&](FrameBuilder to) {
                  auto order = to.initConfigure();
                  order.setConfig(text(config));
                  order.setDataDir(text(directory.path()));
                  order.setAgentVersion(NOMADCTL_VERSION);
                  order.setNode("trial");
                })
                .within("its configuration (-config)"));
  passed("it takes its configuration");
  for (const auto driver : is.getDrivers()) {
    const auto answer = NOMAD_TRY(trial
                                      .ask([&](FrameBuilder to) {
                                        auto order = to.initAskDriver();
                                        order.setDriver(driver);
                                        order.initRequest().setDescribe();
                                      })
                                      .within("a driver's description"));
    if (!answer->isDriverAnswer() || !answer->getDriverAnswer().isDescription())
      return Error{Errc::rejected, "a driver does not describe itself"};
    passed(fmt::format("driver {} describes itself", copy(driver)));
  }
  for (const auto each : is.getFingerprinters()) {
    const auto answer = NOMAD_TRY(
        trial.ask([&](FrameBuilder to) { to.setGatherFacts(each.getName()); }).within("facts"));
    if (!answer->isFacts()) return Error{Errc::rejected, "a fingerprinter gives no facts"};
    passed(fmt::format("fingerprinter {} gives facts", copy(each.getName())));
  }
  for (const auto each : is.getSchedulers()) {
    const auto answer = NOMAD_TRY(trial
                                      .ask([&](FrameBuilder to) {
                                        auto question = to.initDecide();
                                        question.setType(each.getType());
                                        question.initJob().setId("trial");
                                      })
                                      .within("a decision"));
    if (!answer->isDecision() || answer->getDecision().getPlacements().size() > 0)
      return Error{Errc::rejected, "a scheduler does not decide, or places where there is no node"};
    passed(fmt::format("scheduler {} decides", copy(each.getType())));
  }
  for (const auto each : is.getServiceProviders()) {
    NOMAD_TRY(try_provider(trial, each.getName()));
    passed(fmt::format("provider {} registers and deregisters a service", copy(each.getName())));
  }
  if (is.getActors().size() > 0) {
    NOMAD_TRY(trial.ask([](FrameBuilder to) { to.setStartActors(); }).within("its actors"));
    passed("its actors start");
  }
  NOMAD_TRY(trial.ask([](FrameBuilder to) { to.setShutdown(); }).within("the end"));
  passed("it ends when it is told to");
  return {};
}

}  // namespace

Result<int> run_plugin_validate(const std::vector<std::string>& arguments) {
  Arguments parser{
      "plugin validate [options] <file>",
      "Says whether a file is a plugin that agents of this release take. A library is looked "
      "at; a program is started and asked what it is, for nothing else tells."};
  auto& run = parser.flag("run", "Starts it, and tries what an agent would say to it.");
  auto& config = parser.option("config", "Its configuration, as JSON, for -run.", "{}");
  if (auto code = parser.parse(arguments, one_word("<file>"))) return *code;
  const auto path = parser.positional().front();
  const auto file = path.substr(path.rfind('/') + 1);
  const auto name = plugin::plugin_name(file);
  if (name.empty())
    return mistake(
        fmt::format("\"{}\" can't be the file of a plugin: name it by [a-z][a-z0-9_-]*, at most 64 "
                    "signs",
                    file));
  const bool is_library = file.ends_with(".so");
  if (::access(path.c_str(), F_OK) != 0) return errno_error(path, errno);
  if (is_library)
    NOMAD_TRY(plugin::check_library(path).within(path));
  else if (std::filesystem::is_directory(path) || ::access(path.c_str(), X_OK) != 0)
    return mistake(fmt::format("{} is neither a library (.so) nor a program", path));
  if (is_library && !run) {
    std::cout << fmt::format("{} can be a plugin of this release; -run tries it\n", path);
    return 0;
  }
  char* whole = ::realpath(path.c_str(), nullptr);
  if (whole == nullptr) return errno_error(path, errno);
  const std::string absolute = whole;
  ::free(whole);
  const auto trial = NOMAD_TRY(start_trial({name, absolute, is_library}, run));
  if (run) {
    NOMAD_TRY(try_out(*trial, name, config).within(path));
    return 0;
  }
  const auto says = NOMAD_TRY(ask_what_it_is(*trial, name).within(path));
  std::cout << fmt::format("{} is plugin {} {}; -run tries it\n", path, name,
                           plugin::said(view(says->getDeclaration().getVersion())));
  return 0;
}

}  // namespace nomad::cli
