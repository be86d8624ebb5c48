// ExecStream: the user's end of `alloc exec`: standard streams and a terminal on one side, the
// websocket on the other, in one poll loop.
//
// Nothing waits for one thing alone: while the agent takes no input or stdout no output, the rest
// goes on, heartbeats included. What is kept is bounded: standard input is not read while
// `enough` bytes wait for the agent, the websocket not while as many wait for stdout or stderr.
#pragma once

#include <optional>
#include <string>

#include "cli/alloc/escape_filter.hpp"
#include "cli/alloc/terminal.hpp"
#include "runtime/net/http/http_client.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::cli {

struct ExecStreamOptions {
  bool reads_input = true;  ///< Otherwise the command's input ends at once.
  bool tty = false;         ///< Standard input and output are terminals.
  std::optional<char> escape = '~';
};

class ExecStream {
public:
  /// `connection` has answered the websocket's handshake.
  ExecStream(net::Upgraded connection, ExecStreamOptions options);

  /// Until the command has ended; its exit code. "context canceled": the user has ended it.
  Result<int> run();

private:
  /// Bytes on their way to a descriptor.
  struct Output {
    int fd;
    std::string bytes = {};
    std::size_t done = 0;

    bool empty() const { return done == bytes.size(); }
  };

  Result<> turn();  ///< One round of the loop.
  Result<> on_signals();
  Result<> read_input();
  void end_input();
  Result<> read_socket();
  Result<> take(std::string_view bytes);
  Result<> understand(const net::websocket::Message& message);
  Result<> obey(std::string_view frame);
  Result<> write_socket();
  Result<> write_out(Output& output);
  void send(std::string_view text);
  void queue_output();
  void send_size();
  void cancel(std::string_view why);

  net::Upgraded connection_;
  const ExecStreamOptions options_;
  EscapeFilter escape_;
  net::websocket::Codec codec_;
  std::optional<CaughtSignals> signals_;
  std::optional<RawTerminal> terminal_;

  std::string to_agent_;
  std::size_t sent_ = 0;  ///< Of it.
  Output out_;
  Output err_;
  bool input_open_ = true;
  bool is_over_ = false;  ///< The agent says no more.
  std::optional<int> exit_code_;
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point next_beat_;
};

}  // namespace nomad::cli
