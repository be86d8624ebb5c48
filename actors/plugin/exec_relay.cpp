#include "actors/plugin/exec_relay.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

using FrameBuilder = schema::plugin::Frame::Builder;
using plugin_link::ExecOrder;
using Output = host::ExecEvents::Output;

constexpr std::size_t output_window = schema::plugin::StreamPart::WINDOW;
static_assert(output_window >= host::ExecSession::output_window);

/// What the link and the session's holder share of a command.
struct ExecChannel {
  explicit ExecChannel(std::uint64_t of) : number{of} {}

  const std::uint64_t number;

  // On any thread.
  std::mutex guard;
  std::size_t input_waiting = 0;  ///< Bytes that the plugin has not taken.
  bool input_refused = false;
  bool is_over = false;

  // In the link's turns.
  std::shared_ptr<host::ExecEvents> events;  ///< Null until the session is started.
  std::vector<std::pair<Output, std::string>> early;
  std::array<bool, 2> has_ended{};  ///< Output and errors.
  std::size_t untaken = 0;
  std::optional<host::ExecResult> result;

  void tell(Output which, std::string_view bytes) {
    if (events)
      events->output(which, bytes);
    else
      early.emplace_back(which, bytes);
  }

  void end_stream(Output which) {
    if (!std::exchange(has_ended[which == Output::err ? 1 : 0], true)) tell(which, {});
  }

  void tell_end() {
    if (!events || !result) return;
    if (const auto last = std::exchange(events, nullptr); last->exited) last->exited(*result);
  }
};

namespace {

class CommandSession final : public host::ExecSession {
public:
  CommandSession(std::shared_ptr<ExecChannel> channel, ExecRelay::Tell tell)
      : channel_{std::move(channel)}, tell_{std::move(tell)} {}

  ~CommandSession() override { tell_({.channel = channel_, .kind = ExecOrder::Kind::close}); }

  CommandSession(const CommandSession&) = delete;
  CommandSession& operator=(const CommandSession&) = delete;

  void start(host::ExecEvents events) override {
    tell_({.channel = channel_,
           .kind = ExecOrder::Kind::start,
           .events = std::make_shared<host::ExecEvents>(std::move(events))});
  }

  bool write_input(std::string_view bytes) override {
    {
      const std::lock_guard lock{channel_->guard};
      if (channel_->is_over) return true;
      if (channel_->input_waiting > input_queue) {
        channel_->input_refused = true;
        return false;
      }
      channel_->input_waiting += bytes.size();
    }
    tell_({.channel = channel_, .kind = ExecOrder::Kind::input, .bytes = std::string{bytes}});
    return true;
  }

  void end_input() override { tell_({.channel = channel_, .kind = ExecOrder::Kind::input_end}); }

  void resize(std::uint16_t rows, std::uint16_t columns) override {
    tell_({.channel = channel_, .kind = ExecOrder::Kind::size, .rows = rows, .columns = columns});
  }

  void taken(std::size_t bytes) override {
    tell_({.channel = channel_, .kind = ExecOrder::Kind::taken, .count = bytes});
  }

private:
  std::shared_ptr<ExecChannel> channel_;
  ExecRelay::Tell tell_;
};

void fill_input(FrameBuilder frame, std::uint64_t number, std::string_view bytes, bool last) {
  auto to = frame.initExecBytes();
  to.setNumber(number);
  to.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
  to.setLast(last);
}

}  // namespace

std::shared_ptr<host::ExecSession> ExecRelay::open(std::uint64_t number,
                                                   bool is_terminal,
                                                   Tell tell) {
  auto channel = std::make_shared<ExecChannel>(number);
  channel->has_ended[1] = is_terminal;
  open_[number] = channel;
  return std::make_shared<CommandSession>(std::move(channel), std::move(tell));
}

void ExecRelay::order(const ExecOrder& order) {
  auto& channel = *order.channel;
  const auto number = channel.number;
  if (order.kind == ExecOrder::Kind::start) {
    if (channel.events) return;
    channel.events = order.events;
    for (const auto& [which, bytes] : std::exchange(channel.early, {}))
      channel.events->output(which, bytes);
    return channel.tell_end();
  }
  const auto at = open_.find(number);
  if (at == open_.end() || at->second != order.channel) return;
  switch (order.kind) {
    case ExecOrder::Kind::start:
      return;
    case ExecOrder::Kind::input:
    case ExecOrder::Kind::input_end:
      return questions_.send([&](FrameBuilder frame) {
        fill_input(frame, number, order.bytes, order.kind == ExecOrder::Kind::input_end);
      });
    case ExecOrder::Kind::size:
      return questions_.send([&](FrameBuilder frame) {
        auto to = frame.initExecSize();
        to.setNumber(number);
        to.setRows(order.rows);
        to.setColumns(order.columns);
      });
    case ExecOrder::Kind::taken:
      channel.untaken -= std::min(order.count, channel.untaken);
      return questions_.send([&](FrameBuilder frame) {
        auto to = frame.initExecTaken();
        to.setNumber(number);
        to.setBytes(static_cast<std::uint32_t>(order.count));
      });
    case ExecOrder::Kind::close:
      open_.erase(at);
      return questions_.send([number](FrameBuilder frame) { frame.setCloseExec(number); });
  }
}

void ExecRelay::take(schema::plugin::Frame::Reader frame) {
  const auto number = frame.isExecBytes()   ? frame.getExecBytes().getNumber()
                      : frame.isExecTaken() ? frame.getExecTaken().getNumber()
                                            : frame.getExecEnded().getNumber();
  const auto at = open_.find(number);
  if (at == open_.end()) return;
  const auto channel = at->second;
  if (frame.isExecBytes()) return take_output(at, frame.getExecBytes());
  if (frame.isExecEnded()) {
    const auto result = frame.getExecEnded().getResult();
    return finish(
        at, {.exit_code = result.getSignal() != 0 ? 128 + result.getSignal() : result.getCode(),
             .error = said(view(result.getError()))});
  }
  bool resumes = false;
  {
    const std::lock_guard lock{channel->guard};
    const std::size_t bytes = frame.getExecTaken().getBytes();
    channel->input_waiting -= std::min(bytes, channel->input_waiting);
    resumes = channel->input_waiting <= host::ExecSession::input_queue
              && std::exchange(channel->input_refused, false);
  }
  if (resumes && channel->events && channel->events->writable) channel->events->writable();
}

void ExecRelay::take_output(Channels::iterator at, schema::plugin::ExecBytes::Reader part) {
  const auto channel = at->second;
  const auto which = part.getStream() == 2 ? Output::err : Output::out;
  const auto bytes = part.getBytes();
  if (channel->has_ended[which == Output::err ? 1 : 0]) return;
  if (channel->untaken + bytes.size() > output_window) {
    questions_.send([number = channel->number](FrameBuilder frame) { frame.setCloseExec(number); });
    return finish(at, {.exit_code = -1, .error = "the plugin sent more than was taken"});
  }
  channel->untaken += bytes.size();
  if (bytes.size() > 0)
    channel->tell(which, {reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
  if (part.getLast()) channel->end_stream(which);
}

void ExecRelay::finish(Channels::iterator at, host::ExecResult result) {
  const auto channel = at->second;
  open_.erase(at);
  {
    const std::lock_guard lock{channel->guard};
    channel->is_over = true;
  }
  channel->end_stream(Output::out);
  channel->end_stream(Output::err);
  channel->result = std::move(result);
  channel->tell_end();
}

void ExecRelay::end(const std::string& why) {
  while (!open_.empty())
    finish(open_.begin(), {.exit_code = -1, .error = why});
}

}  // namespace nomad::plugin
