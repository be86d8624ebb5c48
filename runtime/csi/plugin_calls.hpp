// PluginCalls: how an agent asks the plugins of the Container Storage Interface on its machine: by
// the program nomadctl-csi, which it starts when there is something to ask, and ends when there has
// been nothing for a while. What a plugin sends comes apart there; an answer that comes here is
// checked and bounded.
//
// Each question is answered once, also when the program dies (`not_asked`) or hangs over it: it is
// killed some seconds after a question's time, and the next question starts another.
//
// Threads: any may ask. One of its own, begun with the first question, waits for the program.
//
// May depend on: runtime/base, object, host/process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/turns.hpp"
#include "runtime/csi/cause.hpp"
#include "runtime/csi/frames.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::csi {

/// What came of a question: an answer, unless it has failed.
struct Outcome {
  Answer answer{};
  Failure failure{};

  explicit operator bool() const { return !failure.is(); }
};

class PluginCalls {
public:
  struct Options {
    std::string program;           ///< Path of nomadctl-csi; empty: nothing can be asked.
    std::size_t most_open = 1024;  ///< Of more the next is refused, as `exhausted`.
    std::chrono::milliseconds grace = std::chrono::seconds{5};
    std::chrono::milliseconds idle = std::chrono::seconds{90};  ///< Probes come each 30 s.
  };

  using Then = std::function<void(const Outcome&)>;
  using Fill = std::function<void(schema::csi::Call::Builder)>;
  using Number = std::uint64_t;

  PluginCalls() = default;
  virtual ~PluginCalls() = default;
  PluginCalls(const PluginCalls&) = delete;
  PluginCalls& operator=(const PluginCalls&) = delete;

  /// Has the plugin behind `socket` asked; `fill` says what beyond method and time. `then` comes in
  /// one of `turns`.
  virtual Number ask(schema::csi::Method method,
                     const std::string& socket,
                     std::chrono::milliseconds patience,
                     const Fill& fill,
                     Turns turns,
                     Then then)
      = 0;

  /// The answer comes soon; nothing is said of what the plugin still does. One that is answered is
  /// passed over.
  virtual void cancel(Number number) = 0;
};

std::shared_ptr<PluginCalls> make_plugin_calls(PluginCalls::Options options);

}  // namespace nomad::csi
