// PluginCalls with the real nomadctl-csi and the sample plugin, also with one that misbehaves.
#include "runtime/csi/plugin_calls.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/process/spawn.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::csi;
using namespace std::chrono_literals;
using Method = schema::csi::Method;

namespace {

std::string program_of(const char* variable) {
  const char* path = std::getenv(variable);
  REQUIRE(path != nullptr);
  return path;
}

/// The sample plugin, and what it is asked by.
class SamplePlugin {
public:
  explicit SamplePlugin(PluginCalls::Options options = {})
      : calls_{make_plugin_calls([&] {
          options.program = program_of("NOMADCTL_CSI");
          return options;
        }())} {
    start();
  }

  ~SamplePlugin() { stop(); }

  SamplePlugin(const SamplePlugin&) = delete;
  SamplePlugin& operator=(const SamplePlugin&) = delete;

  void start() {
    auto said = host::make_pipe();
    REQUIRE(said.has_value());
    auto spawned = host::spawn(
        {.program = program_of("NOMADCTL_CSI_LOCAL"),
         .arguments = {"-endpoint=unix://" + socket(), "-data=" + dir.path() + "/data",
                       "-misbehave=" + dir.path() + "/manners"},
         .environment = {},
         .descriptors = {{said->writing.get(), 1}}});
    REQUIRE(spawned.has_value());
    pid_ = spawned->pid;
    said->writing.reset();
    char word = 0;
    REQUIRE(::read(said->reading.get(), &word, 1) == 1);  // it says that it serves
  }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  /// Of a plugin that ends by itself: until then somebody may still listen.
  void await_end() {
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  void misbehave(const std::string& how) const {
    std::ofstream{dir.path() + "/manners"} << how << '\n';
  }

  std::string socket() const { return dir.path() + "/csi.sock"; }

  Outcome ask(
      Method method,
      const PluginCalls::Fill& fill = [](schema::csi::Call::Builder) {},
      std::chrono::milliseconds patience = 10s) {
    return ask_at(socket(), method, fill, patience);
  }

  Outcome ask_at(
      const std::string& path,
      Method method,
      const PluginCalls::Fill& fill = [](schema::csi::Call::Builder) {},
      std::chrono::milliseconds patience = 10s) {
    begin(path, method, fill, patience);
    return wait();
  }

  Outcome ask_and_cancel(Method method) {
    calls_->cancel(begin(
        socket(), method, [](schema::csi::Call::Builder) {}, 60s));
    return wait();
  }

  test::TempDir dir;

private:
  PluginCalls::Number begin(const std::string& path,
                            Method method,
                            const PluginCalls::Fill& fill,
                            std::chrono::milliseconds patience) {
    return calls_->ask(method, path, patience, fill, Turns::here(), [this](const Outcome& outcome) {
      const std::lock_guard lock{guard_};
      outcome_ = outcome;
      told_.notify_all();
    });
  }

  Outcome wait() {
    std::unique_lock lock{guard_};
    REQUIRE(told_.wait_for(lock, 30s, [this] { return outcome_.has_value(); }));
    return *std::exchange(outcome_, std::nullopt);
  }

  std::mutex guard_;
  std::condition_variable told_;
  std::optional<Outcome> outcome_;
  pid_t pid_ = 0;
  std::shared_ptr<PluginCalls> calls_;
};

void name_volume(schema::csi::Call::Builder call) {
  call.setName("data");
  call.setRequiredBytes(5 << 20);
  call.initCapabilities(1)[0].setAccessMode(1);
}

}  // namespace

TEST_CASE("plugin_calls: a plugin says what it is, and makes a volume") {
  SamplePlugin plugin;

  CHECK(view(plugin.ask(Method::GET_PLUGIN_INFO).answer->getName()) == "local.csi.nomadctl.dev");
  CHECK(plugin.ask(Method::PROBE).answer->getReady());
  const auto made = plugin.ask(Method::CREATE_VOLUME, name_volume);
  REQUIRE(made);
  CHECK(made.answer->getVolumes()[0].getCapacityBytes() == 5 << 20);
  CHECK(plugin.ask(Method::LIST_VOLUMES).answer->getVolumes().size() == 1);
  CHECK(view(plugin.ask(Method::NODE_GET_INFO).answer->getNodeId()) == "node-1");
}

TEST_CASE("plugin_calls: codes of gRPC are causes, with the plugin's words") {
  SamplePlugin plugin;
  for (std::uint16_t code = 1; code <= 16; ++code) {
    if (code == 4) continue;  // whose words are ours
    plugin.misbehave("Probe fail " + std::to_string(code) + " some\twords");
    const auto failure = plugin.ask(Method::PROBE).failure;
    CHECK(name_of(failure.cause) == name_of(static_cast<Cause>(code)));
    CHECK(failure.what == "some words");
  }
}

TEST_CASE("plugin_calls: the program outlives each of many calls") {
  SamplePlugin plugin;
  int answered = 0;
  for (int i = 0; i < 200; ++i)
    answered += plugin.ask(Method::PROBE) ? 1 : 0;
  CHECK(answered == 200);
}

TEST_CASE("plugin_calls: a plugin that hangs is waited for no longer than its time") {
  SamplePlugin plugin;
  plugin.misbehave("Probe hang");

  const auto outcome = plugin.ask(
      Method::PROBE, [](schema::csi::Call::Builder) {}, 300ms);

  CHECK(outcome.failure == Failure{Cause::deadline, "it has not answered in time"});
}

TEST_CASE("plugin_calls: a question can be withdrawn") {
  SamplePlugin plugin;
  plugin.misbehave("Probe hang");

  CHECK(plugin.ask_and_cancel(Method::PROBE).failure.cause == Cause::cancelled);
}

TEST_CASE("plugin_calls: an answer of 64 MiB is none") {
  SamplePlugin plugin;
  plugin.misbehave("GetPluginInfo flood");

  CHECK(plugin.ask(Method::GET_PLUGIN_INFO).failure
        == Failure{Cause::nonsense, "it answers with more than 4194304 bytes"});
}

TEST_CASE("plugin_calls: a plugin that dies and comes back is asked again at once") {
  SamplePlugin plugin;
  plugin.misbehave("Probe die");
  CHECK(plugin.ask(Method::PROBE).failure.cause == Cause::unavailable);
  plugin.await_end();
  CHECK(plugin.ask(Method::PROBE).failure
        == Failure{Cause::no_socket, "nobody listens at its socket"});

  plugin.misbehave("");
  ::unlink(plugin.socket().c_str());
  plugin.start();

  CHECK(plugin.ask(Method::PROBE));
}

TEST_CASE("plugin_calls: what is no socket is not spoken to") {
  SamplePlugin plugin;
  const auto path = plugin.dir.path() + "/file";
  std::ofstream{path} << "x";
  const auto link = plugin.dir.path() + "/link";
  REQUIRE(::symlink(plugin.socket().c_str(), link.c_str()) == 0);

  CHECK(plugin.ask_at(path, Method::PROBE).failure
        == Failure{Cause::no_socket, path + " is no socket"});
  CHECK(plugin.ask_at(link, Method::PROBE).failure.cause == Cause::no_socket);
  CHECK(plugin.ask_at("/nowhere/csi.sock", Method::PROBE).failure.cause == Cause::no_socket);
  CHECK(plugin.ask_at("", Method::PROBE).failure.cause == Cause::no_socket);
}

TEST_CASE("plugin_calls: a method of another release is refused") {
  SamplePlugin plugin;
  CHECK(plugin.ask(static_cast<Method>(99)).failure
        == Failure{Cause::unimplemented, "there is no such method"});
}

TEST_CASE("plugin_calls: who has no program is told so, and more than may be open is refused") {
  const auto calls = make_plugin_calls({});
  std::optional<Outcome> told;
  calls->ask(
      Method::PROBE, "/x", 1s, [](schema::csi::Call::Builder) {}, Turns::here(),
      [&told](const Outcome& outcome) { told = outcome; });
  REQUIRE(told.has_value());
  CHECK(told->failure.cause == Cause::not_asked);

  SamplePlugin plugin{{.program = {}, .most_open = 0}};
  CHECK(plugin.ask(Method::PROBE).failure.cause == Cause::exhausted);
}
