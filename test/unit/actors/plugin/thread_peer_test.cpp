// A plugin on a thread of the agent: real threads and time.
#include "actors/plugin/body/thread_peer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/plugin/frames.hpp"
#include "runtime/plugin/sdk/serve.hpp"
#include "test/support/eventually.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

/// What the peer tells, and who waits for it.
class HeardOfThread {
public:
  plugin::ProcessEvents events() {
    return {.started = [](int) {},
            .frame =
                [this](plugin::Frame frame, std::size_t bytes) {
                  note([&] {
                    frames_.push_back(std::move(frame));
                    bytes_ += bytes;
                  });
                },
            .line = [](const std::string&, std::uint64_t) {},
            .ended = [this](const Error& why) { note([&] { ends_.push_back(why.what); }); }};
  }

  /// Whether so many frames, or the end, come within ten seconds.
  bool wait_for(std::size_t frames) {
    std::unique_lock lock{guard_};
    return news_.wait_for(lock, 10s, [&] { return frames_.size() >= frames; });
  }

  bool wait_for_end() {
    std::unique_lock lock{guard_};
    return news_.wait_for(lock, 10s, [&] { return !ends_.empty(); });
  }

  std::vector<plugin::Frame> frames() {
    const std::lock_guard lock{guard_};
    return frames_;
  }

  std::size_t count() {
    const std::lock_guard lock{guard_};
    return frames_.size();
  }

  std::size_t bytes() {
    const std::lock_guard lock{guard_};
    return bytes_;
  }

  std::vector<std::string> ends() {
    const std::lock_guard lock{guard_};
    return ends_;
  }

private:
  template <class Change>
  void note(const Change& change) {
    const std::lock_guard lock{guard_};
    change();
    news_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable news_;
  std::vector<plugin::Frame> frames_;
  std::vector<std::string> ends_;
  std::size_t bytes_ = 0;
};

std::string frame(const std::function<void(schema::plugin::Frame::Builder)>& fill) {
  Draft<schema::plugin::Frame> draft;
  fill(*draft);
  std::string bytes;
  REQUIRE(plugin::append_frame(bytes, draft.freeze()));
  return bytes;
}

plugin::ThreadPeer::Serve serving(std::function<void(plugin::Plugin&)> describe) {
  return [describe = std::move(describe)](const plugin::Channel& agent) {
    plugin::Plugin plugin;
    describe(plugin);
    const auto outcome = plugin::serve(plugin, agent);
    return outcome ? std::string{"its thread ended"} : outcome.error().what;
  };
}

std::string reaped(plugin::PluginPeer& peer) {
  std::string end;
  test::succeeds([&] { return !(end = peer.reap(false)).empty(); });
  return end;
}

}  // namespace

TEST_CASE("thread peer: a plugin says what it is, answers, keeps its timers, and ends when told") {
  HeardOfThread heard;
  plugin::ThreadPeer peer{"p", serving([](plugin::Plugin& plugin) {
                            plugin.is("p", "1").actor("a", [](plugin::Agent& agent) {
                              struct Ticks final : plugin::Actor {
                                explicit Ticks(plugin::Agent& on) : agent{on} {}

                                void start() override {
                                  agent.after(20ms,
                                              [this] { agent.log(plugin::Level::info, "tick"); });
                                }

                                plugin::Agent& agent;
                              };

                              return std::make_unique<Ticks>(agent);
                            });
                          }),
                          heard.events()};
  REQUIRE(heard.wait_for(1));
  CHECK(heard.frames()[0]->isDeclaration());
  peer.send(frame([](auto to) {
    to.setNumber(7);
    to.setPing();
  }));
  REQUIRE(heard.wait_for(2));
  CHECK(heard.frames()[1]->getNumber() == 7);
  peer.send(frame([](auto to) {
    to.setNumber(8);
    to.setStartActors();
  }));
  REQUIRE(heard.wait_for(4));
  CHECK(heard.frames()[3]->isLog());
  peer.handled(heard.bytes());
  CHECK(peer.reap(true).empty());

  peer.send(frame([](auto to) {
    to.setNumber(9);
    to.setShutdown();
  }));
  REQUIRE(heard.wait_for_end());
  CHECK(heard.ends() == std::vector<std::string>{"it hung up"});
  CHECK(reaped(peer) == "its thread ended");
}

TEST_CASE(
    "thread peer: one that floods waits for what it has said to be handled, and loses nothing") {
  constexpr std::size_t lines = 20'000;
  HeardOfThread heard;
  plugin::ThreadPeer peer{
      "p", serving([](plugin::Plugin& plugin) {
        plugin.is("p", "1").on_configure([](const plugin::Config&) -> Result<> { return {}; });
        plugin.fingerprinter(
            "f", 0s, [](plugin::Agent& agent) -> Result<std::map<std::string, std::string>> {
              for (std::size_t i = 0; i < lines; ++i)
                agent.log(plugin::Level::info, std::string(100, 'x'));
              return std::map<std::string, std::string>{};
            });
      }),
      heard.events()};
  peer.send(frame([](auto to) {
    to.setNumber(1);
    to.setGatherFacts("f");
  }));
  std::size_t handled = 0;
  std::size_t most_open = 0;
  // It waits for what was handled; so there is always one more, or it is stuck.
  while (heard.count() < lines + 2 && heard.wait_for(heard.count() + 1)) {
    const auto bytes = heard.bytes();
    most_open = std::max(most_open, bytes - handled);
    peer.handled(bytes - handled);
    handled = bytes;
  }
  CHECK(heard.frames().size() == lines + 2);
  CHECK(heard.frames().back()->isFacts());
  CHECK(most_open < (std::size_t{1} << 20) + 1000);
}

TEST_CASE("thread peer: one that is killed hears of nothing more, and one that throws says why") {
  HeardOfThread heard;
  plugin::ThreadPeer peer{"p", serving([](plugin::Plugin& plugin) { plugin.is("p", "1"); }),
                          heard.events()};
  REQUIRE(heard.wait_for(1));
  peer.kill();
  CHECK(heard.ends() == std::vector<std::string>{"it was ended"});
  CHECK(reaped(peer) == "its thread ended");

  HeardOfThread other;
  plugin::ThreadPeer thrown{
      "q", [](const plugin::Channel&) -> std::string { throw std::runtime_error{"no luck"}; },
      other.events()};
  REQUIRE(other.wait_for_end());
  CHECK(reaped(thrown) == "its thread threw: no luck");
}

TEST_CASE("thread peer: a thread that blocks outlives its peer and is not waited for") {
  std::promise<void> goes_on;
  const auto is_over = std::make_shared<std::promise<void>>();  // the thread may outlive this case
  HeardOfThread heard;
  {
    const plugin::ThreadPeer peer{"p",
                                  [&goes_on, is_over](const plugin::Channel& agent) {
                                    goes_on.get_future().wait();
                                    const char nothing[16]{};
                                    agent.tell(agent.agent, nothing, sizeof nothing);
                                    is_over->set_value();
                                    return std::string{"late"};
                                  },
                                  heard.events()};
  }
  goes_on.set_value();
  REQUIRE(is_over->get_future().wait_for(10s) == std::future_status::ready);
  CHECK(heard.count() == 0);
  CHECK(heard.ends().empty());
}
