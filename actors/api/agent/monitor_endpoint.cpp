// /v1/agent/monitor: this agent's log lines as they are written.
#include <mutex>

#include "actors/api/allocs/follower.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/log.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

constexpr std::chrono::milliseconds look_interval{100};
constexpr unsigned looks_per_heartbeat = 10;
constexpr std::size_t most_queued = 1024 * 1024;  ///< A slower reader loses lines.

/// "2026-…Z [INFO]  client: message" as an object, as `log_json` has it.
std::string line_as_json(const std::string& line) {
  const auto open = line.find('[');
  const auto close = line.find(']', open);
  std::string out;
  {
    JsonObject object{out};
    if (open == std::string::npos || close == std::string::npos) {
      object.text("@message", line);
    } else {
      std::string level = line.substr(open + 1, close - open - 1);
      for (char& c : level)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const auto begin = std::min(line.find_first_not_of(' ', close + 1), line.size());
      const auto colon = line.find(": ", begin);
      object.text("@level", level);
      if (colon == std::string::npos)
        object.text("@message", line.substr(begin));
      else
        object.text("@message", line.substr(colon + 2))
            .text("@module", line.substr(begin, colon - begin));
      object.text("@timestamp", line.substr(0, line.find(' ')));
    }
  }
  return out;
}

struct MonitorOptions {
  log::Level level = log::Level::info;
  bool plain = false;
  bool json = false;
};

/// The lines that a client has not been sent. The logger adds them, in the middle of whatever logs
/// and under its lock. To send is to log at times (that the client is gone), so it happens
/// elsewhere.
class Lines {
public:
  void add(std::string_view line) {
    const std::lock_guard lock{guard_};
    if (text_.size() > most_queued) {
      ++dropped_;
      return;
    }
    if (const auto dropped = std::exchange(dropped_, 0); dropped != 0)
      text_
          += "[WARN] Monitor dropped " + std::to_string(dropped) + " logs during monitor request\n";
    (text_ += line) += '\n';
  }

  std::string take() {
    const std::lock_guard lock{guard_};
    return std::exchange(text_, {});
  }

private:
  std::mutex guard_;
  std::string text_;
  std::uint64_t dropped_ = 0;
};

/// One client of the log, which is sent what there is by and by.
class Monitor : public std::enable_shared_from_this<Monitor> {
public:
  Monitor(std::shared_ptr<Context> context, net::BodyStream body, MonitorOptions options)
      : context_{std::move(context)}, body_{std::move(body)}, options_{options} {}

  /// Until `asking` is refused.
  void start(const access::Asking& asking) {
    body_.on_abandoned([self = shared_from_this()] { self->end(); });
    rights_ = context_->rights_watch.keep(
        asking.who,
        [needed = asking.needed](const access::Principal& who) -> Result<> {
          NOMAD_TRY(authorize(who, needed, {}));
          return {};
        },
        [weak = weak_from_this()](const Error&) {
          if (const auto self = weak.lock()) self->end();
        });
    const auto id = log::add_listener(
        options_.level, [lines = lines_, json = options_.json](log::Level, const auto& line) {
          lines->add(json ? line_as_json(line) : line);
        });
    {
      const std::lock_guard lock{guard_};
      listener_ = id;
      if (!is_done_) {
        look_later();
        return;
      }
    }
    log::remove_listener(id);
  }

private:
  void look_later() {
    context_->timers.call_after(look_interval, [self = shared_from_this()] { self->look(); });
  }

  void look() {
    {
      const std::lock_guard lock{guard_};
      if (is_done_) return;
      if (body_.queued() == 0) send(lines_->take());  // else he reads slowly, and may lose lines
    }
    look_later();
  }

  void send(std::string lines) {
    if (lines.empty()) {
      if (++quiet_looks_ % looks_per_heartbeat == 0 && !options_.plain) body_.write("{}");
      return;
    }
    if (options_.plain) {
      body_.write(lines);
      return;
    }
    host::StreamChunk chunk;
    chunk.data = std::move(lines);
    chunk.event = "log";
    body_.write(file_frame(chunk));
  }

  void end() {
    net::BodyStream ended;
    std::uint64_t listener = 0;
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(is_done_, true)) return;
      ended = std::move(body_);
      listener = listener_;
    }
    if (listener != 0) log::remove_listener(listener);
  }

  std::shared_ptr<Context> context_;
  std::mutex guard_;
  net::BodyStream body_;
  const MonitorOptions options_;
  RightsWatch::Watching rights_;
  const std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  std::uint64_t listener_ = 0;
  unsigned quiet_looks_ = 0;
  bool is_done_ = false;
};

Result<MonitorOptions> monitor_options(const net::Request& request) {
  MonitorOptions options;
  const auto bad = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (const auto level = request.parameter_or_empty("log_level"); !level.empty()) {
    const auto parsed = log::parse_level(level);
    if (!parsed || *parsed == log::Level::off)
      return bad("Unknown log level: " + std::string{level});
    options.level = *parsed;
  }
  const auto flag = [&](std::string_view name, std::string_view shown, bool& value) -> Result<> {
    const auto text = request.parameter_or_empty(name);
    if (text.empty()) return {};
    const auto parsed = parse_bool(text);
    if (!parsed)
      return bad("Unknown option for " + std::string{shown} + ": " + parsed.error().what);
    value = *parsed;
    return {};
  };
  bool location = false;
  NOMAD_TRY(flag("log_json", "log json", options.json));
  NOMAD_TRY(flag("plain", "plain", options.plain));
  NOMAD_TRY(flag("log_include_location", "log_include_location", location));
  return options;
}

Outcome monitor(Call& call) {
  const auto options = NOMAD_TRY(monitor_options(call.request()));
  auto body
      = call.responder.stream({.content_type = options.plain ? "text/plain" : "application/json"});
  std::make_shared<Monitor>(call.context, std::move(body), options)->start(call.asking);
  return later;
}

}  // namespace

void add_monitor_routes(Routes& routes) {
  routes.exact("/v1/agent/monitor",
               {{Methods::get, Capability::agent_read, monitor, Where::named}});
}

}  // namespace nomad::api
