#include "cli/dev/task_output.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"

namespace nomad::cli::dev {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view label_colors[] = {"blue", "green", "yellow", "red"};

/// Between looks whether a task has begun to write.
constexpr std::chrono::milliseconds first_pause = 2ms;
constexpr std::chrono::milliseconds longest_pause = 250ms;
/// After so long a reader looks whether it is to end.
constexpr std::chrono::milliseconds read_pause = 200ms;

}  // namespace

std::vector<std::string> LineSplitter::feed(std::string_view piece) {
  kept_ += piece;
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = kept_.find('\n'); end != std::string::npos; end = kept_.find('\n', begin)) {
    lines.push_back(kept_.substr(begin, end - begin));
    begin = end + 1;
  }
  kept_.erase(0, begin);
  while (kept_.size() > longest) {
    lines.push_back(kept_.substr(0, longest));
    kept_.erase(0, longest);
  }
  return lines;
}

std::string LineSplitter::rest() {
  return std::exchange(kept_, {});
}

void DevScreen::task(const std::string& label, std::size_t number, std::string_view line) {
  const std::lock_guard lock{guard_};
  widest_ = std::max(widest_, label.size());
  const auto name = fmt::format("{:<{}} |", label, widest_);
  const RawOutput raw;  // The task's own colours are for its author, who looks on.
  std::cout << colored(name, label_colors[number % std::size(label_colors)]) << ' ' << line << '\n'
            << std::flush;
}

void DevScreen::say(std::string_view text, bool is_wrong) {
  const std::lock_guard lock{guard_};
  const auto line = fmt::format("==> {}", text);
  std::cout << (is_wrong ? colored(line, "red") : title(line)) << '\n' << std::flush;
}

void DevScreen::print(const std::function<void()>& printing) {
  const std::lock_guard lock{guard_};
  printing();
  std::cout << std::flush;
}

void TaskOutputs::follow(const Follow& task) {
  std::erase_if(outputs_, [](const auto& output) {
    if (output->is_over) output->thread.join();
    return !output->thread.joinable();
  });
  if (outputs_.size() + 2 > most)
    return screen_.say(
        fmt::format("{}: its output is not shown, there are too many tasks", task.label), true);
  for (const char* type : {"stdout", "stderr"}) {
    auto& output = *outputs_.emplace_back(std::make_unique<Output>());
    output.thread = std::thread{[this, task, type, &over = output.is_over] {
      show(task, type);
      over = true;
    }};
  }
}

/// Until the output has come to its end.
void TaskOutputs::show(const Follow& task, const char* type) {
  auto api = Api::make(agent_);
  if (!api) return screen_.say(task.label + ": " + api.error().what, true);
  auto pause = first_pause;
  for (;;) {
    const auto done = show_once(*api, task, type);
    if (is_stopping_ || (done && *done)) return;
    if (!done && done.error().code != Errc::not_found)
      return screen_.say(fmt::format("{}: {}", task.label, done.error().what), true);
    std::this_thread::sleep_for(pause);  // The task has not begun to write.
    pause = std::min(pause * 2, longest_pause);
  }
}

/// False if there is nothing to be shown yet.
Result<bool> TaskOutputs::show_once(Api& api, const Follow& task, const char* type) {
  auto stream = api.stream("/v1/client/fs/logs/" + task.alloc, {{"task", task.task},
                                                                {"type", type},
                                                                {"origin", "start"},
                                                                {"plain", "true"},
                                                                {"follow", "true"}});
  if (!stream) return stream.error();
  LineSplitter lines;
  while (!is_stopping_) {
    auto piece = stream->read(read_pause);
    if (!piece && piece.error().code == Errc::timeout) continue;
    if (!piece) break;  // The agent has ended, which others tell.
    if (piece->empty()) break;
    for (const auto& line : lines.feed(*piece))
      screen_.task(task.label, task.number, line);
  }
  if (const auto rest = lines.rest(); !rest.empty()) screen_.task(task.label, task.number, rest);
  return true;
}

void TaskOutputs::stop(std::chrono::milliseconds grace) {
  const auto end = std::chrono::steady_clock::now() + grace;
  const auto all_over = [this] {
    return std::ranges::all_of(outputs_, [](const auto& output) { return output->is_over.load(); });
  };
  while (!all_over() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(first_pause);
  is_stopping_ = true;
  for (auto& output : outputs_)
    output->thread.join();
  outputs_.clear();
  is_stopping_ = false;
}

}  // namespace nomad::cli::dev
