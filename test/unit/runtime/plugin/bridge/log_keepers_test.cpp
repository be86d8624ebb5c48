// With the real nomadctl-executor.
#include "runtime/plugin/bridge/log_keepers.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <capnp/message.h>
#include <doctest/doctest.h>

#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::bridge::LogKeepers;

namespace {

/// Timers and descriptors; nothing else is asked of it.
class FewHost final : public plugin::Host {
public:
  const plugin::Surroundings& surroundings() const override { return surroundings_; }

  void log(plugin::Level, std::string_view) override {}

  void request(std::string, std::string, std::string, plugin::ApiAnswered) override {}

  std::uint64_t subscribe(std::string,
                          std::function<void(std::string_view)>,
                          std::function<void(const Error&)>) override {
    return 0;
  }

  void unsubscribe(std::uint64_t) override {}

  void count(std::string_view, double) override {}

  void sample(std::string_view, double) override {}

  void node_event(std::string_view, const std::map<std::string, std::string>&) override {}

  std::uint64_t after(plugin::Nanoseconds delay, std::function<void()> then) override {
    timers_[++last_] = {now() + delay, std::move(then)};
    return last_;
  }

  void cancel_timer(std::uint64_t number) override { timers_.erase(number); }

  void watch(int descriptor, short events, std::function<void(short)> ready) override {
    watched_[descriptor] = {events, std::move(ready)};
  }

  void unwatch(int descriptor) override { watched_.erase(descriptor); }

  plugin::Nanoseconds now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  void tell(schema::plugin::Notice::Reader) override {}

  /// Until `done`, or for half a minute.
  bool serve(const std::function<bool()>& done) {
    const auto end = now() + 30s;
    while (!done()) {
      if (now() > end) return false;
      std::vector<pollfd> waits;
      for (const auto& [descriptor, watch] : watched_)
        waits.push_back({descriptor, watch.first, 0});
      ::poll(waits.data(), waits.size(), 20);
      for (const auto& wait : waits)
        if (const auto found = watched_.find(wait.fd); wait.revents != 0 && found != watched_.end())
          found->second.second(wait.revents);
      for (const auto& [number, timer] : std::map{timers_})
        if (timer.first <= now() && timers_.erase(number) > 0) timer.second();
    }
    return true;
  }

  bool is_watching() const { return !watched_.empty(); }

private:
  plugin::Surroundings surroundings_;
  std::map<std::uint64_t, std::pair<plugin::Nanoseconds, std::function<void()>>> timers_;
  std::map<int, std::pair<short, std::function<void(short)>>> watched_;
  std::uint64_t last_ = 0;
};

struct KeepersFixture {
  host::TempDir place;
  FewHost loop;
  LogKeepers keepers{loop, std::getenv("NOMADCTL_EXECUTOR"), place / "fifos"};

  Result<LogKeepers::Kept> start(LogKeepers& with) {
    capnp::MallocMessageBuilder message;
    auto config = message.initRoot<schema::plugin::TaskConfig>();
    config.setAllocRoot((place / "alloc1").c_str());
    config.initId().setTask("web");
    config.initLogs().setMaxFiles(2);
    config.getLogs().setMaxFileBytes(1000);
    std::optional<Result<LogKeepers::Kept>> kept;
    with.start(config.asReader(), "run1",
               [&kept](Result<LogKeepers::Kept> made) { kept.emplace(std::move(made)); });
    REQUIRE(loop.serve([&] { return kept.has_value(); }));
    CHECK_FALSE(loop.is_watching());
    return std::move(*kept);
  }

  bool has_fifos() const { return !std::filesystem::is_empty(place / "fifos"); }
};

}  // namespace

TEST_CASE_FIXTURE(KeepersFixture, "log keepers: what is written is kept, until it is to end") {
  std::filesystem::create_directories(place / "alloc1/alloc/logs");
  auto kept = start(keepers);
  REQUIRE_MESSAGE(kept, kept.error().what);
  kept->held.clear();
  const host::UniqueFd writer{::open(kept->paths.out.c_str(), O_WRONLY | O_NONBLOCK)};
  REQUIRE(writer.get() >= 0);
  REQUIRE(::write(writer.get(), "hello\n", 6) == 6);
  const auto file = place / "alloc1/alloc/logs/web.stdout.0";
  CHECK(loop.serve([&] { return host::read_text(file) == "hello\n"; }));
  keepers.finish(kept->process);
  CHECK(loop.serve([&] { return !has_fifos(); }));
}

TEST_CASE_FIXTURE(KeepersFixture,
                  "log keepers: one that can't open the logs is an error with the file's name") {
  std::filesystem::create_directories(place / "alloc1/alloc");
  host::write_text(place / "alloc1/alloc/logs", "no directory");
  const auto kept = start(keepers);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what
        == "the task's logs can't be kept: opening " + (place / "alloc1/alloc/logs")
               + ": Not a directory");
  CHECK_FALSE(has_fifos());
}

TEST_CASE_FIXTURE(KeepersFixture, "log keepers: one that ends before it reads is an error") {
  LogKeepers others{loop, "/bin/true", place / "fifos"};
  const auto kept = start(others);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what == "the task's logs can't be kept: it has ended before it read anything");
  CHECK_FALSE(has_fifos());
}
