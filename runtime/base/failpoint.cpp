#include "runtime/base/failpoint.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::failpoint {
namespace {

enum class Effect : std::uint8_t { error, kill, hold };

struct Order {
  Effect effect = Effect::error;
  std::uint64_t at = 0;  ///< The visit that counts; 0: every one.
  std::uint64_t visits = 0;
};

struct Orders {
  std::mutex mutex;
  std::map<std::string, Order, std::less<>> by_name;
};

Orders& orders() {
  static Orders all;
  return all;
}

Handler& handler_of_thread() {
  thread_local Handler handler;
  return handler;
}

/// "hold", or "kill", "error", each with "@<number>" or without.
bool parse(std::string_view text, Order& order) {
  const auto at = text.find('@');
  const auto what = text.substr(0, at);
  if (text == "hold")
    order.effect = Effect::hold;
  else if (what == "kill")
    order.effect = Effect::kill;
  else if (what != "error")
    return false;
  if (at == text.npos) return true;
  return read_whole_number(text.substr(at + 1), order.at) && order.at > 0;
}

void configure_or_log(std::string_view text) {
  if (auto configured = configure(text); !configured)
    log::error("failpoint", "NOMAD_FAILPOINTS can't be read", {{"error", configured.error()}});
}

/// The file of the environment's variable, read when it is another than before.
class OrderFile {
public:
  explicit OrderFile(std::string path) : path_(std::move(path)) {}

  void read_if_changed() {
    const std::scoped_lock lock{mutex_};

    struct stat now {};

    if (::stat(path_.c_str(), &now) != 0) return;
    const auto stamp = std::tuple{now.st_ino, now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
    if (std::exchange(stamp_, stamp) == stamp) return;
    if (const auto text = read_whole_file(path_)) configure_or_log(*text);
  }

private:
  const std::string path_;
  std::mutex mutex_;
  std::tuple<ino_t, std::int64_t, std::int64_t> stamp_;
};

/// Whether the environment gives orders; takes them, once or from a file.
bool takes_orders() {
  static const char* const text = std::getenv("NOMAD_FAILPOINTS");
  if (text == nullptr) return false;
  if (*text == '@') {
    static OrderFile file{text + 1};
    file.read_if_changed();
    return true;
  }
  [[maybe_unused]] static const bool configured = (configure_or_log(text), true);
  return true;
}

bool is_held(std::string_view name) {
  auto& all = orders();
  const std::scoped_lock lock{all.mutex};
  const auto found = all.by_name.find(name);
  return found != all.by_name.end() && found->second.effect == Effect::hold;
}

/// Returns when the orders of the file do not say "hold" any more.
void wait_while_held(std::string_view name) {
  if (!is_held(name)) return;
  log::info("failpoint", "held", {{"failpoint", name}});
  while (is_held(name)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    takes_orders();
  }
}

/// As `reach`, for the process alone.
Result<> visit(std::string_view name) {
  auto& all = orders();
  const std::scoped_lock lock{all.mutex};
  const auto found = all.by_name.find(name);
  if (found == all.by_name.end()) return {};
  auto& order = found->second;
  ++order.visits;
  if (order.at != 0 && order.visits != order.at) return {};
  if (order.effect == Effect::kill) std::raise(SIGKILL);
  return Error{Errc::io, fmt::format("failpoint {}", name)};
}

}  // namespace

void set_handler(Handler handler) {
  handler_of_thread() = std::move(handler);
}

Result<> configure(std::string_view text) {
  std::map<std::string, Order, std::less<>> read;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    const auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const auto equals = part.find('=');
    Order order;
    if (equals == part.npos || !parse(part.substr(equals + 1), order))
      return Error{Errc::invalid_argument,
                   fmt::format("\"{}\" is not <name>=hold or <name>=kill|error[@<visit>]", part)};
    read.insert_or_assign(std::string{part.substr(0, equals)}, order);
  }
  const std::scoped_lock lock{orders().mutex};
  orders().by_name = std::move(read);
  return {};
}

Result<> reach(std::string_view name) {
  if (const auto& handler = handler_of_thread()) return handler(name);
  takes_orders();
  wait_while_held(name);
  return visit(name);
}

void throw_in(std::string_view actor) {
  if (!takes_orders()) return;
  if (const auto reached = visit(fmt::format("throw_in:{}", actor)); !reached)
    throw std::runtime_error{reached.error().what};
}

}  // namespace nomad::failpoint
