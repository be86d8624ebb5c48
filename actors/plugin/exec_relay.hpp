// ExecRelay: commands beside the tasks of a plugin's drivers (`alloc exec`): frames on one side, a
// session in somebody's hands on the other. Part of the PluginLink, called in its turns, in which
// sessions call back, too.
//
// Neither side is sent more than it has taken: of output `StreamPart.window` bytes, of input what a
// session may queue. A plugin that sends more breaks the protocol, which ends the command.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/plugin/questions.hpp"
#include "runtime/host/exec_session.hpp"

namespace nomad::plugin {

struct ExecChannel;

namespace plugin_link {

/// What whoever holds a command's session wants of it.
struct ExecOrder {
  using is_message = void;
  enum class Kind : std::uint8_t { start, input, input_end, size, taken, close };

  std::shared_ptr<ExecChannel> channel;
  Kind kind{};
  std::string bytes{};
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::size_t count = 0;
  std::shared_ptr<host::ExecEvents> events{};
};

}  // namespace plugin_link

class ExecRelay {
public:
  static constexpr std::size_t most_commands = 256;

  using Tell = std::function<void(plugin_link::ExecOrder)>;

  explicit ExecRelay(Questions& questions) : questions_{questions} {}

  ExecRelay(const ExecRelay&) = delete;
  ExecRelay& operator=(const ExecRelay&) = delete;

  ~ExecRelay() { end("the agent has lost the command"); }

  bool is_full() const { return open_.size() >= most_commands; }

  /// The command that the question `number` has begun. `tell` brings the orders of its session
  /// here.
  std::shared_ptr<host::ExecSession> open(std::uint64_t number, bool is_terminal, Tell tell);

  void order(const plugin_link::ExecOrder& order);

  /// execBytes, execTaken, execEnded.
  void take(schema::plugin::Frame::Reader frame);

  /// The process has ended, and all commands with it.
  void end(const std::string& why);

private:
  using Channels = std::map<std::uint64_t, std::shared_ptr<ExecChannel>>;

  void take_output(Channels::iterator at, schema::plugin::ExecBytes::Reader part);
  void finish(Channels::iterator at, host::ExecResult result);

  Questions& questions_;
  Channels open_;
};

}  // namespace nomad::plugin
