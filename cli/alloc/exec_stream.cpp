#include "cli/alloc/exec_stream.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using net::websocket::Kind;

constexpr std::size_t enough = 256 * 1024;
constexpr std::size_t at_once = 4096;  ///< As much as a pipe that is ready takes without waiting.
constexpr std::size_t largest_message = 16 * 1024 * 1024;
constexpr std::chrono::seconds beat{10};
constexpr auto now_or_never = [] { return net::Deadline{Clock::now()}; };

const boost::json::object* member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

/// The data of `{"stdout":{"data":"…"}}`; empty without.
Result<std::string> data_of(const boost::json::object* stream) {
  const auto* data = stream == nullptr ? nullptr : stream->if_contains("data");
  if (data == nullptr || !data->is_string()) return std::string{};
  auto bytes = decode_base64(data->get_string());
  if (!bytes) return Error{Errc::corrupt, "the output: " + bytes.error().what};
  return bytes;
}

Error end_without_exit(const net::websocket::Message& close) {
  if (!close.payload.empty()) return {Errc::rejected, close.payload};
  if (close.close_code == 1000)
    return {Errc::corrupt,
            "websocket closed before receiving exit code: websocket: close 1000 (normal)"};
  return {Errc::corrupt, fmt::format("websocket: close {}", close.close_code)};
}

}  // namespace

ExecStream::ExecStream(net::Upgraded connection, ExecStreamOptions options)
    : connection_{std::move(connection)},
      options_{options},
      escape_{options.tty ? options.escape : std::nullopt},
      codec_{net::websocket::Side::client, largest_message},
      out_{STDOUT_FILENO},
      err_{STDERR_FILENO} {}

Result<int> ExecStream::run() {
  auto signals = NOMAD_TRY(CaughtSignals::make());
  signals_.emplace(std::move(signals));
  if (options_.tty) {
    auto terminal = NOMAD_TRY(RawTerminal::make(STDIN_FILENO));
    terminal_.emplace(std::move(terminal));
    send_size();
  }
  if (!options_.reads_input) end_input();
  next_beat_ = Clock::now() + beat;
  auto done = take(std::exchange(connection_.early, {}));
  while (done && !failure_ && !(is_over_ && out_.empty() && err_.empty()))
    done = turn();
  terminal_.reset();  // before anything else is printed
  if (!done) return done.error();
  if (failure_) return *failure_;
  if (exit_code_) return *exit_code_;
  return Error{Errc::corrupt, "websocket: close 1006 (abnormal closure): unexpected EOF"};
}

Result<> ExecStream::turn() {
  if (Clock::now() >= next_beat_) {
    send("{}");
    next_beat_ = Clock::now() + beat;
  }
  const bool wants_input = input_open_ && !is_over_ && to_agent_.size() - sent_ < enough;
  const bool wants_output = !is_over_ && out_.bytes.size() - out_.done < enough
                            && err_.bytes.size() - err_.done < enough;
  const bool wants_send = !is_over_ && sent_ < to_agent_.size();
  const short of_socket
      = static_cast<short>((wants_output ? POLLIN : 0) | (wants_send ? POLLOUT : 0));
  const auto handle = connection_.stream->native_handle();
  std::array<pollfd, 5> entries{pollfd{signals_->descriptor(), POLLIN, 0},
                                pollfd{wants_input ? STDIN_FILENO : -1, POLLIN, 0},
                                pollfd{of_socket != 0 ? handle : -1, of_socket, 0},
                                pollfd{out_.empty() ? -1 : out_.fd, POLLOUT, 0},
                                pollfd{err_.empty() ? -1 : err_.fd, POLLOUT, 0}};
  const bool has_buffered = wants_output && connection_.stream->has_buffered();
  const auto left = has_buffered
                        ? 0ms
                        : std::chrono::ceil<std::chrono::milliseconds>(next_beat_ - Clock::now());
  const int ready = ::poll(entries.data(), entries.size(),
                           static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (ready < 0 && errno != EINTR) return errno_error("poll", errno);
  if (ready < 0) return {};
  if (entries[0].revents != 0) NOMAD_TRY(on_signals());
  if (entries[1].revents != 0) NOMAD_TRY(read_input());
  if (wants_send && entries[2].revents != 0) NOMAD_TRY(write_socket());
  if (wants_output && (has_buffered || entries[2].revents != 0)) NOMAD_TRY(read_socket());
  if (entries[3].revents != 0) NOMAD_TRY(write_out(out_));
  if (entries[4].revents != 0) NOMAD_TRY(write_out(err_));
  return {};
}

Result<> ExecStream::on_signals() {
  for (const int number : signals_->take()) {
    if (number == SIGWINCH || number == SIGCONT) {
      if (number == SIGCONT && terminal_) terminal_->make_raw();
      if (options_.tty) send_size();
    } else {
      cancel("context canceled");
    }
  }
  return {};
}

void ExecStream::send_size() {
  if (const auto size = terminal_size(STDOUT_FILENO))
    send(fmt::format(R"({{"tty_size":{{"height":{},"width":{}}}}})", size->rows, size->columns));
}

void ExecStream::send(std::string_view text) {
  codec_.send(Kind::text, text);
  queue_output();
}

void ExecStream::queue_output() {
  if (sent_ == to_agent_.size()) {
    to_agent_.clear();
    sent_ = 0;
  }
  to_agent_ += codec_.take_output();
}

void ExecStream::cancel(std::string_view why) {
  failure_ = Error{Errc::cancelled, std::string{why}};
}

// -- input ----------------------------------------------------------------------------------------

Result<> ExecStream::read_input() {
  std::array<char, at_once> buffer{};
  const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return {};
    return Error{Errc::io,
                 fmt::format("failed to send input: {}", errno_error("read", errno).what)};
  }
  if (count == 0) {
    end_input();
    return {};
  }
  const auto typed = escape_.feed({buffer.data(), static_cast<std::size_t>(count)});
  if (!typed.empty()) send(fmt::format(R"({{"stdin":{{"data":"{}"}}}})", encode_base64(typed)));
  if (escape_.is_closed()) {
    if (terminal_) terminal_->restore();
    constexpr std::string_view text = "\nConnection closed\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    cancel("context canceled");
  }
  return {};
}

void ExecStream::end_input() {
  input_open_ = false;
  if (const auto rest = escape_.rest(); !rest.empty())
    send(fmt::format(R"({{"stdin":{{"data":"{}"}}}})", encode_base64(rest)));
  send(R"({"stdin":{"close":true}})");
}

Result<> ExecStream::write_socket() {
  const auto went = connection_.stream->write_some(std::string_view{to_agent_}.substr(sent_));
  if (!went) {
    // The agent has ended it: why stands in what it sent before.
    sent_ = to_agent_.size();
    input_open_ = false;
    return {};
  }
  sent_ += *went;
  if (sent_ >= enough) {
    to_agent_.erase(0, sent_);
    sent_ = 0;
  }
  return {};
}

// -- output ---------------------------------------------------------------------------------------

Result<> ExecStream::read_socket() {
  std::array<char, 16 * 1024> buffer{};
  while (!is_over_ && !failure_) {
    const auto got = connection_.stream->read(buffer.data(), buffer.size(), now_or_never());
    if (!got && got.error().code == Errc::timeout) return {};
    if (!got) return got.error();
    if (*got == 0) {
      is_over_ = true;
      return {};
    }
    NOMAD_TRY(take({buffer.data(), *got}));
    const bool is_full
        = out_.bytes.size() - out_.done >= enough || err_.bytes.size() - err_.done >= enough;
    if (is_full) return {};
  }
  return {};
}

Result<> ExecStream::take(std::string_view bytes) {
  while (!is_over_ && !failure_) {
    const auto message = codec_.next(bytes);
    if (const auto fault = codec_.fault())
      return Error{Errc::corrupt, fmt::format("websocket: the agent breaks the protocol (close {})",
                                              static_cast<int>(*fault))};
    if (!message) return {};
    NOMAD_TRY(understand(*message));
  }
  return {};
}

Result<> ExecStream::understand(const net::websocket::Message& message) {
  switch (message.kind) {
    case Kind::ping:
      queue_output();  // the codec has answered
      return {};
    case Kind::pong:
      return {};
    case Kind::close:
      is_over_ = true;
      if (!exit_code_) failure_ = end_without_exit(message);
      return {};
    case Kind::text:
    case Kind::binary:
      return obey(message.payload);
  }
  return {};
}

Result<> ExecStream::obey(std::string_view frame) {
  boost::json::error_code failure;
  const auto parsed = boost::json::parse(frame, failure);
  if (failure || !parsed.is_object())
    return Error{Errc::corrupt, "the agent sent a frame that is not a JSON object"};
  const auto& object = parsed.get_object();
  auto out = data_of(member(object, "stdout"));
  auto err = data_of(member(object, "stderr"));
  if (!out) return out.error();
  if (!err) return err.error();
  out_.bytes += *out;
  err_.bytes += *err;
  const auto* exited = object.if_contains("exited");
  if (exited == nullptr || !exited->is_bool() || !exited->get_bool()) return {};
  const auto* result = member(object, "result");
  const auto* code = result == nullptr ? nullptr : result->if_contains("exit_code");
  exit_code_ = code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 0;
  is_over_ = true;
  return {};
}

Result<> ExecStream::write_out(Output& output) {
  const auto count = std::min(at_once, output.bytes.size() - output.done);
  const auto went = ::write(output.fd, output.bytes.data() + output.done, count);
  if (went < 0) {
    if (errno == EINTR || errno == EAGAIN) return {};
    if (errno == EPIPE && output.fd == STDOUT_FILENO) {  // as everybody else dies of it
      terminal_.reset();
      signals_.reset();
      ::raise(SIGPIPE);
    }
    return errno_error("write", errno);
  }
  output.done += static_cast<std::size_t>(went);
  if (output.done >= enough || output.empty()) {
    output.bytes.erase(0, output.done);
    output.done = 0;
  }
  return {};
}

}  // namespace nomad::cli
