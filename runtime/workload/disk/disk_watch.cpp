#include "runtime/workload/disk/disk_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::workload {

namespace event = task_event;

DiskWatch::Verdict DiskWatch::look(const DiskLook& look,
                                   const DiskTerms& terms,
                                   std::span<const std::string> running,
                                   std::int64_t now) {
  constexpr std::uint64_t mebibyte = 1U << 20;
  Verdict verdict;
  const bool over
      = terms.size_mb > 0 && look.bytes > static_cast<std::uint64_t>(terms.size_mb) * mebibyte;
  const bool was_over = std::exchange(over_, over);
  verdict.kill = over && terms.enforce;
  if (over && (!was_over || verdict.kill)) {
    auto told = event::disk_exceeded(now, look.bytes / mebibyte, terms.size_mb);
    verdict.news.push_back(
        {.task = {}, .event = verdict.kill ? std::move(told).failing_task() : std::move(told)});
  }

  std::set<std::string> gone;
  for (const auto& folder : look.missing) {
    const std::string top = folder.substr(0, folder.find('/'));
    const bool is_shared = top == shared_folder;
    const bool is_needed
        = is_shared ? !running.empty() : std::ranges::find(running, top) != running.end();
    // Who hears that a folder is gone need not hear it of what was in it.
    const bool is_known
        = top != folder && std::ranges::find(look.missing, top) != look.missing.end();
    if (!is_needed || is_known) continue;
    gone.insert(folder);
    if (gone_.contains(folder)) continue;
    auto text = fmt::format(
        "the directory {} of the allocation was deleted: files, and output in "
        "logs, may be lost, and a restart may fail",
        quote(folder));
    verdict.news.push_back({.task = is_shared ? std::string{} : top,
                            .event = event::message(event::hook_message, now, std::move(text))});
  }
  gone_ = std::move(gone);
  return verdict;
}

}  // namespace nomad::workload
