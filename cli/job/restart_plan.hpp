// What `job restart` is asked for, and which allocations it is about. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_view.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

/// -batch-size: a number of allocations, or a part of all of them.
struct BatchSize {
  std::size_t value = 1;
  bool is_percent = false;

  /// How many at once of so many; parts are rounded up.
  std::size_t of(std::size_t allocs) const;
};

/// "3", "25%". Errors are Nomad's: `Invalid -batch-size value "x": …`
Result<BatchSize> parse_batch_size(const std::string& text);

/// -batch-wait: a time, or "ask".
struct BatchWait {
  Nanoseconds time{0};
  bool asks = false;
};

/// `is_interactive`: somebody can be asked.
Result<BatchWait> parse_batch_wait(const std::string& text, bool is_interactive);

/// Whether the text is "ask" and not "fail"; anything else is an error.
Result<bool> parse_on_error(const std::string& text, bool is_interactive);

/// An answer of who was asked how to go on.
struct Proceed {
  bool goes_on = false;
  bool sets_wait = false;  ///< All batches from now on wait for `wait`.
  Nanoseconds wait{0};
};

/// `by_default`: what no answer means. A time is one only if `takes_wait`.
/// `Invalid answer "x"`.
Result<Proceed> parse_proceed(const std::string& answer, bool by_default, bool takes_wait);

/// What an allocation is restarted for, if the command says so; empty lists: all.
struct RestartScope {
  std::vector<std::string> groups;
  std::vector<std::string> tasks;
};

/// Whether the allocation, a row of the job's list, has that task. `versions` are the job's: a
/// client that has not said anything yet is known by the job's version.
bool has_task(const View& alloc, const View& versions, std::string_view task);

/// Why an allocation is left alone, as Nomad says it behind `Skipping allocation "x" because`;
/// "": it is not. `id` is how ids are shown.
std::string skip_reason(const View& alloc,
                        const View& versions,
                        const RestartScope& scope,
                        const std::function<std::string(const std::string&)>& id);

/// "1st", "2nd", "11th".
std::string ordinal(std::size_t number);

}  // namespace nomad::cli
