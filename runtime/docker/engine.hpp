// Engine: questions to a container engine, by HTTP. What asks takes this interface; behind it is a
// Unix socket, or an engine of a test.
//
// An engine may hang, send nonsense, or be gone: every question ends, by its answer, by an error,
// or because it was withdrawn. Bodies of answers are bounded; a stream is taken as it comes.
//
//     ask      a whole answer, within a time
//     follow   an answer that comes in pieces, perhaps for ever; ends by itself or by `cancel`
//
// May depend on: runtime/base, runtime/net.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/docker/engine_answers.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::docker {

struct EngineRequest {
  std::string method = "GET";
  std::string target{};  ///< Escaped, without the API's version: "/containers/web/json".
  std::string body{};    ///< JSON.
  net::Headers headers{};
};

/// As long as Nomad gives the engine for what is quick.
inline constexpr auto engine_patience = std::chrono::minutes{5};

class Engine {
public:
  using CallId = std::uint64_t;
  using Done = std::function<void(Result<EngineAnswer>)>;

  static constexpr std::size_t most_bytes = 32 * 1024 * 1024;  ///< Of a whole answer.

  /// Of a stream. Called on the engine's thread, one after the other; must be quick.
  struct Follower {
    /// A piece of the body; only of a success. An error ends the stream.
    std::function<Result<>(std::string_view)> piece;

    /// Once, at the end: the status, with the body of an answer that is no success; or why it broke
    /// off. Not after `cancel`.
    Done ended;

    /// About twice a second.
    std::function<void()> tick{};
  };

  struct Limits {
    std::chrono::milliseconds header{60'000};  ///< Until the answer begins; 0: for ever.
    std::chrono::milliseconds silence{0};      ///< Between two pieces; 0: for ever.
    std::chrono::milliseconds whole{0};        ///< 0: for ever.
  };

  virtual ~Engine() = default;  ///< Withdraws what was asked; nobody is told any more.

  /// The version of the API that is asked for from now on: "1.41". Any thread; so the following.
  virtual void set_api(const std::string& version) = 0;
  virtual std::string api() const = 0;

  /// `follower` is called on the engine's thread.
  virtual CallId follow(EngineRequest request, Limits limits, Follower follower) = 0;

  /// Nothing is told of that question any more once this returns to the engine's own thread; from
  /// others a call that is under way may still end.
  virtual void cancel(CallId call) = 0;

  CallId ask(EngineRequest request, std::chrono::milliseconds timeout, Done done) {
    return follow(std::move(request), {.header = timeout, .whole = timeout},
                  {.piece = {}, .ended = std::move(done)});
  }
};

/// By the Unix socket, as many questions at once as are asked: on one thread, which is called
/// `thread`. Reads share connections, streams and writes have one each. Nothing is connected, and
/// no thread begun, before the first.
std::unique_ptr<Engine> connect_engine(std::string socket, std::string thread);

}  // namespace nomad::docker
