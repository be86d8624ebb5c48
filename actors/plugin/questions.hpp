// Questions: what a PluginLink has asked its plugin and waits for. Part of that actor, called in
// its turns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "runtime/plugin/frames.hpp"

namespace nomad::plugin {

class Questions {
public:
  using Fill = std::function<void(schema::plugin::Frame::Builder)>;
  /// The answer is valid during the call.
  using Then = std::function<void(schema::plugin::Frame::Reader)>;
  using Failed = std::function<void(const Error&)>;

  /// The error of `send` says why nothing was sent.
  explicit Questions(std::function<Result<>(const Fill&)> send) : send_{std::move(send)} {}

  void send(const Fill& fill) const { static_cast<void>(send_(fill)); }

  /// One of the two is called; `failed` at once if nothing can be sent. Returns the question's
  /// number.
  std::uint64_t ask(const Fill& fill, Then then, Failed failed);

  /// Answers a question of the plugin's.
  void refuse(std::uint64_t number, const Error& why) const;

  /// Whether the frame is the answer to one that is open.
  bool awaits(schema::plugin::Frame::Reader frame) const;

  /// Whether the frame was the answer to one that is open, which is told.
  bool answer(schema::plugin::Frame::Reader frame);

  bool is_open(std::uint64_t number) const { return open_.contains(number); }

  std::size_t open() const { return open_.size(); }

  /// It fails, if it is open: nobody wants its answer any more.
  void fail(std::uint64_t number, const Error& why);

  /// All that are open fail.
  void end(const Error& why);

private:
  struct Open {
    Then then;
    Failed failed;
  };

  std::function<Result<>(const Fill&)> send_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Open> open_;
};

}  // namespace nomad::plugin
