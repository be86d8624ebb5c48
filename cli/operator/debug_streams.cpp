#include "cli/operator/debug_streams.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "cli/interrupts.hpp"
#include "cli/operator/debug_events.hpp"

namespace nomad::cli {
namespace {

using Clock = DebugStreams::Clock;

/// How soon an interrupt is seen by who waits for a piece.
constexpr std::chrono::milliseconds stream_glance{200};

/// Reads to the stream's end, until `end` or until the capture is interrupted. `take` gets each
/// piece and says whether it wants more.
Result<> read_until(net::ResponseStream& from,
                    Clock::time_point end,
                    const std::function<Result<bool>(std::string)>& take) {
  for (auto now = Clock::now(); now < end && !NotedInterrupt::came(); now = Clock::now()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    auto piece = from.read(std::min(left, stream_glance));
    if (!piece && piece.error().code == Errc::timeout) continue;
    if (!piece) return piece.error();
    if (piece->empty() || !NOMAD_TRY(take(std::move(*piece)))) return {};
  }
  return {};
}

std::string too_long() {
  return fmt::format("left out what came behind {} bytes\n", DebugStreams::most_bytes);
}

/// Appends what has room. Whether there is room for more.
bool append(std::string& to, std::string_view piece) {
  if (to.size() + piece.size() > DebugStreams::most_bytes) return false;
  to += piece;
  return true;
}

void take_down_log(net::ResponseStream& from,
                   Clock::time_point end,
                   const std::string& file,
                   std::map<std::string, std::string>& files) {
  auto& text = files[file];
  const auto done = read_until(from, end, [&](const std::string& piece) -> Result<bool> {
    if (append(text, piece)) return true;
    files[file + ".error"] = too_long();
    return false;
  });
  if (!done) files[file + ".error"] = done.error().what + '\n';
}

void take_down_events(net::ResponseStream& from,
                      Clock::time_point end,
                      const std::string& file,
                      std::map<std::string, std::string>& files) {
  auto& text = files[file];
  std::string rest;  // of a line that has not come to its end
  const auto done = read_until(from, end, [&](const std::string& piece) -> Result<bool> {
    rest += piece;
    for (auto line_end = rest.find('\n'); line_end != std::string::npos;
         line_end = rest.find('\n')) {
      const auto lines = NOMAD_TRY(event_lines(rest.substr(0, line_end)));
      rest.erase(0, line_end + 1);
      if (append(text, lines)) continue;
      files[file + ".error"] = too_long();
      return false;
    }
    if (rest.size() <= DebugStreams::most_bytes) return true;
    files[file + ".error"] = too_long();
    return false;
  });
  if (!done) files[file + ".error"] = done.error().what + '\n';
}

/// A profile of one kind of an agent. False if the agent has refused, or there is no room for it.
bool take_profile(Api& api,
                  const std::string& kind,
                  const Query& query,
                  const std::string& file,
                  std::size_t& bytes,
                  std::map<std::string, std::string>& files) {
  const auto answer = api.send("GET", "/v1/agent/pprof/" + kind, query, "");
  if (!answer) {
    files[file + ".error"] = answer.error().what + '\n';
    return false;
  }
  if (answer->status / 100 != 2) {
    files[file + ".error"] = refusal(*answer).what + '\n';
    return false;
  }
  bytes += answer->body.size();
  if (bytes > DebugStreams::most_bytes) {
    files[file + ".error"] = too_long();
    return false;
  }
  files[file] = answer->body;
  return true;
}

/// The next profiles of an agent: of its processor time, then of its memory.
bool take_profiles(Api& api,
                   const DebugStreams::Agent& agent,
                   std::int64_t seconds,
                   unsigned number,
                   std::size_t& bytes,
                   std::map<std::string, std::string>& files) {
  const auto file = [&](const char* kind) {
    return fmt::format("{}/{}_{:04}.prof", agent.folder, kind, number);
  };
  return take_profile(api, "profile", {agent.name, {"seconds", std::to_string(seconds)}},
                      file("profile"), bytes, files)
         && take_profile(api, "heap", {agent.name}, file("heap"), bytes, files);
}

}  // namespace

DebugStreams::~DebugStreams() {
  finish();
}

DebugStreams::Stream& DebugStreams::add() {
  return *streams_.emplace_back(std::make_unique<Stream>());
}

void DebugStreams::refuse(const std::string& file, const Error& error) {
  failed_[file + ".error"] = error.what + '\n';
}

void DebugStreams::follow_log(Api& api, const Agent& agent, const std::string& level) {
  const auto file = agent.folder + ".log";
  auto from
      = api.stream("/v1/agent/monitor", {agent.name, {"log_level", level}, {"plain", "true"}});
  if (!from) return refuse(file, from.error());
  auto& stream = add();
  stream.thread
      = std::thread{[&files = stream.files, file, end = end_, from = std::move(*from)]() mutable {
          take_down_log(from, end, file, files);
        }};
}

void DebugStreams::follow_events(Api& api,
                                 const std::vector<std::string>& topics,
                                 std::uint64_t index) {
  const std::string file = "cluster/eventstream.json";
  Query query{{"index", std::to_string(index)}};
  if (!api.names_namespace()) query.emplace_back("namespace", "*");
  for (const auto& topic : topics)
    query.emplace_back("topic", topic);
  auto from = api.stream("/v1/event/stream", query);
  if (!from) return refuse(file, from.error());
  auto& stream = add();
  stream.thread
      = std::thread{[&files = stream.files, file, end = end_, from = std::move(*from)]() mutable {
          take_down_events(from, end, file, files);
        }};
}

void DebugStreams::follow_profiles(Api api,
                                   std::vector<Agent> agents,
                                   Nanoseconds duration,
                                   Nanoseconds interval) {
  const auto seconds = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  auto& stream = add();
  stream.thread = std::thread{[&files = stream.files, end = end_, duration, interval, seconds,
                               api = std::move(api), left = std::move(agents)]() mutable {
    std::size_t bytes = 0;
    for (unsigned number = 0; !left.empty(); ++number) {
      std::erase_if(left, [&](const Agent& agent) {
        if (NotedInterrupt::came() || (number > 0 && Clock::now() >= end)) return false;
        return !take_profiles(api, agent, seconds, number, bytes, files);
      });
      if (interval >= duration || Clock::now() + interval >= end) return;
      sleep_until_interrupt(Clock::now() + interval);
      if (NotedInterrupt::came()) return;
    }
  }};
}

std::map<std::string, std::string> DebugStreams::finish() {
  auto all = std::move(failed_);
  failed_.clear();
  for (auto& stream : streams_) {
    stream->thread.join();
    all.merge(stream->files);
  }
  streams_.clear();
  return all;
}

}  // namespace nomad::cli
