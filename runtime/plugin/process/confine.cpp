#include "runtime/plugin/process/confine.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/process/landlock.hpp"

namespace nomad::plugin {
namespace {

using host::Landlock;

constexpr std::size_t most_filter_bytes = 64 * 1024;

/// "65534:65534:65534,100"
Result<host::ProcessUser> read_user(std::string_view text) {
  std::vector<unsigned> numbers;
  while (!text.empty()) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
      return Error{Errc::invalid_argument, "--user: expected UID:GID:GROUP,…"};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  if (numbers.size() < 2) return Error{Errc::invalid_argument, "--user: expected UID:GID:GROUP,…"};
  return host::ProcessUser{
      .uid = numbers[0], .gid = numbers[1], .groups = {numbers.begin() + 2, numbers.end()}};
}

template <class Number>
Result<Number> read_number(std::string_view option, std::string_view text) {
  Number number{};
  if (!read_whole_number(text, number))
    return Error{Errc::invalid_argument, std::string{option} + ": expected a number"};
  return number;
}

/// Its working directory, its library, what `paths` names, and what programs need.
Result<> keep_to_files(const Orders& orders) {
  using enum Landlock::Access;
  if (Landlock::version() == 0)
    return Error{Errc::unavailable, "the kernel has no Landlock, so that it can't be confined"};
  const auto rules = NOMAD_TRY(Landlock::make());
  NOMAD_TRY(rules.allow(".", own));
  NOMAD_TRY(rules.allow(orders.words.front(), read_and_run));
  for (const auto& path : orders.paths)
    NOMAD_TRY(rules.allow(path, own));
  NOMAD_TRY(rules.allow_system());
  return rules.restrict_self();
}

/// That the agent gave.
Result<std::string> read_filter() {
  struct stat status {};

  if (::fstat(filter_descriptor, &status) != 0 || !S_ISREG(status.st_mode)
      || static_cast<std::size_t>(status.st_size) > most_filter_bytes || status.st_size == 0)
    return Error{Errc::invalid_argument, "the agent gave no filter of system calls"};
  std::string filter(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(filter_descriptor, filter.data(), filter.size(), 0) != status.st_size)
    return errno_error("reading the filter of system calls", errno);
  return filter;
}

}  // namespace

Result<Orders> read_orders(const std::vector<std::string>& arguments) {
  Orders orders;
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("--") && !orders.is_program; ++at) {
    const auto& word = arguments[at];
    if (word == "--program") {
      orders.is_program = true;
    } else if (word == "--confine") {
      orders.is_confined = true;
    } else if (word == "--user" && at + 1 < arguments.size()) {
      orders.user = NOMAD_TRY(read_user(arguments[++at]));
    } else if (word == "--memory" && at + 1 < arguments.size()) {
      orders.memory_bytes = NOMAD_TRY(read_number<std::uint64_t>(word, arguments[++at]));
    } else if (word == "--bound" && at + 1 < arguments.size()) {
      orders.bounds.emplace();
      orders.bounds->first = NOMAD_TRY(read_number<pid_t>(word, arguments[++at]));
    } else if (word == "--path" && at + 1 < arguments.size()) {
      orders.paths.push_back(arguments[++at]);
    } else {
      return Error{Errc::invalid_argument, "unknown option " + word};
    }
  }
  if (orders.bounds) {
    if (orders.bounds->first <= 0 || !orders.user || at < arguments.size())
      return Error{Errc::invalid_argument, "--bound: expected a process, --user and nothing else"};
    orders.bounds->second = {orders.memory_bytes, orders.memory_bytes > 0};
    return orders;
  }
  orders.words.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  if (orders.words.empty())
    return Error{Errc::invalid_argument,
                 "usage: nomadctl-plugin-host LIBRARY (started by an agent)"};
  return orders;
}

Result<> confine(const Orders& orders) {
  if (orders.memory_bytes > 0)
    if (const auto bound = host::bound_memory(0, {.bytes = orders.memory_bytes}); !bound)
      return bound.error().within("its memory can't be bounded");
  if (orders.is_confined || orders.user) NOMAD_TRY(host::forbid_new_privileges());
  if (orders.is_confined) NOMAD_TRY(keep_to_files(orders));
  if (orders.is_confined) host::drop_bounding_set();
  if (orders.user) NOMAD_TRY(host::become(*orders.user));
  // Behind the change of users, which unsets it. The agent may have died before.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return errno_error("following the agent's end", errno);
  if (!orders.is_confined) return {};
  const auto filter = NOMAD_TRY(read_filter());
  NOMAD_TRY(host::drop_capabilities());
  return host::filter_calls(filter);
}

Result<> bound_other(const Orders& orders) {
  NOMAD_TRY(host::forbid_new_privileges());
  NOMAD_TRY(host::become(*orders.user));
  return host::bound_memory(orders.bounds->first, orders.bounds->second);
}

}  // namespace nomad::plugin
