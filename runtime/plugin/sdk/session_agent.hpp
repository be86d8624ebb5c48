// SessionAgent: the agent, as a session's objects see it: questions, subscriptions, timers.
// Internal to the SDK.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <poll.h>

#include "runtime/plugin/sdk/agent.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {

class SessionAgent final : public Agent {
public:
  explicit SessionAgent(Wire& wire) : wire_{wire} {}

  void set_surroundings(Surroundings around) { around_ = std::move(around); }

  const Surroundings& surroundings() const override { return around_; }

  void log(Level level, std::string_view line) override;
  void request(std::string method, std::string path, std::string body, ApiAnswered then) override;
  std::uint64_t subscribe(std::string path,
                          std::function<void(std::string_view line)> line,
                          std::function<void(const Error& why)> ended) override;
  void unsubscribe(std::uint64_t number) override;
  void count(std::string_view name, double more) override;
  void sample(std::string_view name, double value) override;
  void node_event(std::string_view message,
                  const std::map<std::string, std::string>& details) override;
  std::uint64_t after(Nanoseconds delay, std::function<void()> then) override;
  void cancel_timer(std::uint64_t number) override;
  void watch(int descriptor, short events, std::function<void(short)> ready) override;
  void unwatch(int descriptor) override;

  Nanoseconds now() const override { return now_; }

  void tell(schema::plugin::Notice::Reader notice) override;

  // -- for the session

  void set_now(Nanoseconds now) { now_ = std::max(now_, now); }

  std::optional<Nanoseconds> next_timer() const;
  void run_timers();
  std::vector<pollfd> watched() const;
  void run_ready(std::span<const pollfd> seen);
  void stream_part(schema::plugin::StreamPart::Reader part);

private:
  struct Subscription {
    std::function<void(std::string_view)> line;
    std::function<void(const Error&)> ended;
    std::string rest;  ///< Of a line whose end has not come.
  };

  struct Watch {
    short events = 0;
    std::shared_ptr<std::function<void(short)>> ready;
  };

  void metric(std::string_view name, double value, schema::plugin::Metric::Kind kind);
  void end_stream(std::uint64_t number, const Error& why);

  Wire& wire_;
  Surroundings around_;
  Nanoseconds now_{0};
  std::uint64_t last_timer_ = 0;
  std::map<std::pair<Nanoseconds, std::uint64_t>, std::function<void()>> timers_;
  std::map<std::uint64_t, std::shared_ptr<Subscription>> streams_;
  std::map<int, Watch> watches_;
};

}  // namespace nomad::plugin
