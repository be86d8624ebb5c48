// A agent of a plugin with timers and descriptors of its own, which keeps what it is told. Its
// clock may run faster than the world's.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>

#include <fmt/format.h>

#include "runtime/plugin/sdk/agent.hpp"

namespace nomad::plugin::bridge {

class FewAgent final : public Agent {
public:
  explicit FewAgent(int speed = 1) : speed_{speed} {}

  const Surroundings& surroundings() const override { return surroundings_; }

  void stay_in(std::string directory) { surroundings_.data_dir = std::move(directory); }

  void log(Level, std::string_view line) override { lines_.emplace_back(line); }

  void request(std::string, std::string, std::string, ApiAnswered) override {}

  std::uint64_t subscribe(std::string,
                          std::function<void(std::string_view)>,
                          std::function<void(const Error&)>) override {
    return 0;
  }

  void unsubscribe(std::uint64_t) override {}

  void count(std::string_view, double) override {}

  void sample(std::string_view, double) override {}

  void node_event(std::string_view, const std::map<std::string, std::string>&) override {}

  std::uint64_t after(Nanoseconds delay, std::function<void()> then) override {
    timers_[++last_] = {now() + delay, std::move(then)};
    return last_;
  }

  void cancel_timer(std::uint64_t number) override { timers_.erase(number); }

  void watch(int descriptor, short events, std::function<void(short)> ready) override {
    watched_[descriptor] = {events, std::move(ready)};
  }

  void unwatch(int descriptor) override { watched_.erase(descriptor); }

  Nanoseconds now() const override {
    return std::chrono::steady_clock::now().time_since_epoch() * speed_;
  }

  /// "event …", "exited 3 …", "usage run1", "no usage …"; what a driver tells of its health is left
  /// out.
  void tell(schema::plugin::Notice::Reader notice) override {
    if (notice.isEvent())
      lines_.push_back(fmt::format("event {}", view(notice.getEvent().getMessage())));
    if (notice.isExited())
      lines_.push_back(fmt::format("exited {} {}", notice.getExited().getResult().getCode(),
                                   view(notice.getExited().getResult().getError())));
    if (notice.isUsage()) lines_.push_back(fmt::format("usage {}", view(notice.getRunId())));
    if (notice.isUsageFailed())
      lines_.push_back(fmt::format("no usage: {}", view(notice.getUsageFailed().getMessage())));
  }

  /// Until `done`, or for half a minute.
  bool serve(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::vector<pollfd> waits;
      for (const auto& [descriptor, watch] : watched_)
        waits.push_back({descriptor, watch.first, 0});
      ::poll(waits.data(), waits.size(), 5);
      for (const auto& wait : waits)
        if (const auto found = watched_.find(wait.fd);
            wait.revents != 0 && found != watched_.end()) {
          const auto ready = found->second.second;  // it may unwatch itself
          ready(wait.revents);
        }
      for (const auto& [number, timer] : std::map{timers_})
        if (timer.first <= now() && timers_.erase(number) > 0) timer.second();
    }
    return true;
  }

  /// Of what was logged and told.
  int heard(std::string_view text) const {
    int count = 0;
    for (const auto& line : lines_)
      count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }

  bool is_watching() const { return !watched_.empty(); }

private:
  const int speed_;
  Surroundings surroundings_;
  std::map<std::uint64_t, std::pair<Nanoseconds, std::function<void()>>> timers_;
  std::map<int, std::pair<short, std::function<void(short)>>> watched_;
  std::uint64_t last_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace nomad::plugin::bridge
