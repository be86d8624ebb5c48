#include "actors/plugin/plugin_life.hpp"

#include <fmt/format.h>

#include "runtime/plugin/said.hpp"

namespace nomad::plugin {
namespace {

/// A process that has hung up ends by itself within so much time.
constexpr auto reap_patience = std::chrono::milliseconds{500};

}  // namespace

void PluginLife::begin(std::uint64_t number, Time now) {
  number_ = number;
  since_ = now;
  peer_.reset();
  end_.reset();
  fault_.clear();
  last_line_.clear();
}

void PluginLife::kill(const std::string& why) {
  if (fault_.empty()) fault_ = why;
  if (peer_) peer_->kill();
}

bool PluginLife::ended(const Error& why, Time now) {
  if (end_) return false;
  end_ = why;
  ended_at_ = now;
  return true;
}

std::optional<std::string> PluginLife::reap(Time now) {
  if (!end_ || !peer_) return std::nullopt;
  const auto end = peer_->reap(now - ended_at_ > reap_patience);
  if (end.empty()) return std::nullopt;
  peer_.reset();
  auto why = fmt::format("{} ({})", fault_.empty() ? end_->what : fault_, end);
  if (!last_line_.empty()) why += ": " + said(last_line_);
  return why;
}

}  // namespace nomad::plugin
